"""Read recordings that others published.

A published set is a group of files that ``cmlib fetch`` downloads. For example, ``cloudsuite``. :func:`counts_of`
reads the counts of one file. :func:`cloudsuite` reads the set of that name into matrices for models. Files that are
not on this machine are skipped.
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib import rank
from cmlib.experiments.requested import resolve_names
from cmlib.io import events, perf, public
from cmlib.io.archive.metadata import unknown_machine
from cmlib.io.provenance import OTHERS_HARDWARE, Provenance, note_read
from cmlib.rank.boosting import Boosting
from cmlib.rank.leaks import is_named_leak
from cmlib.shell import command_code
from cmlib.topdown.run_levels import interval_lengths

__all__ = ["QUICK", "cloudsuite", "counts_of", "files_like", "how_to_get", "shorten_event"]

_BLOCKS, _FOLDS = 12, 4
_MOST_ROWS = 500  # of a matrix
_UOPS = ("UOPS_RETIRED_ALL", "RETIRED_UOPS")  # nearly equal to instructions, so that they contain IPC
# Faster settings of a model, for many programs.
QUICK = Boosting(trees=60, learning_rate=0.15, rows_per_leaf=3)
# Parts of events' names, and their replacements in the labels of figures.
_SHORT_NAMES = {
    r"FP_COMP_OPS_EXE_(SSE_FP_|SSE_(?!FP$))?": "FP ",
    r"SIMD_FP_256_": "AVX ",
    r"SSEX_UOPS_RETIRED_": "SSE ",
    r"RETIRED_MMX_FP_INSTRUCTIONS_": "retired ",
    r"L2_RQSTS_": "L2 ",
    r"CODE_RD": "code read",
    r"L1-([di])cache": r"L1\1",
    r"[-_]": " ",
}
_ACRONYMS = {"avx", "fp", "fpu", "l1d", "l1i", "l2", "llc", "mmx", "sse", "sse2", "x87"}


@dataclass(frozen=True)
class PublishedMatrix:
    """Event rates and IPC of a program on one processor.

    A row is an interval, or several neighboring intervals.

    Attributes
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Events per instruction. Events that contain IPC are excluded, for example cycles.
    ipc : Series, shape (n_rows,)
        Instructions per cycle.
    counts : DataFrame
        Counts of all events, and the column ``seconds`` [s].
    runs : int
        Number of runs.
    """

    X: pd.DataFrame
    ipc: pd.Series
    counts: pd.DataFrame
    runs: int

    @property
    def y(self) -> pd.Series:
        """Logarithm of IPC, so that errors of a model are relative."""
        return np.log(self.ipc)

    @property
    def fold(self) -> np.ndarray:
        """Number of the fold (0-3) of each row. Neighboring rows are in the same fold."""
        return rank.blocks(self.X.index, _BLOCKS) % _FOLDS


def counts_of(name: str) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Read the counts in a published file.

    Parameters
    ----------
    name : str
        Name of the file, from :func:`files_like`.

    Returns
    -------
    list of (DataFrame, DataFrame)
        Counts and running shares (the fraction of the time in which an event was counted, 0-1) of each run. One row
        per interval, one column per event. Empty if the file is not on this machine.

    Raises
    ------
    PublicError
        If the file does not belong to a published set.
    """
    content = public.read(name)
    if content is None:
        return []
    runs = []
    for counts, running in perf.read_runs(content.decode("latin-1")):
        cmlib_names = _translate_events(tuple(counts))
        runs.append((counts.rename(columns=cmlib_names), running.rename(columns=cmlib_names)))
    return runs


def files_like(set_name: str, pattern: str) -> pd.DataFrame:
    """List the files of a published set that match a pattern.

    Files that are not on this machine are listed, too.

    Parameters
    ----------
    set_name : str
        Name of the set.
    pattern : str
        Regular expression for the complete file name without its folder.

    Returns
    -------
    DataFrame
        One row per file. Columns: ``file`` (name with its folder), and one column for each named group of the pattern.
        Empty if no file matches.

    Raises
    ------
    PublicError
        If the set is unknown.
    """
    rows = []
    for name in public.files(set_name)["file"]:
        match = re.fullmatch(pattern, name.rpartition("/")[2])
        if match:
            rows.append({"file": name, **match.groupdict()})
    return pd.DataFrame(rows)


def how_to_get(set_name: str) -> str:
    """Return a note on how to download a published set.

    Parameters
    ----------
    set_name : str
        Name of the set.

    Returns
    -------
    str
        Text in Markdown. It begins with "Not shown", for a notebook without the set.
    """
    return (
        f"Not shown: the recordings `{set_name}` are not here. {command_code('cmlib', 'fetch', set_name)} has them, or "
        "CMLIB_PUBLIC names a folder with them; then run this notebook again."
    )


def _join_runs(runs):
    """Join the counts of several runs of a program into a PublishedMatrix.

    Rows with a missing count, and rows without instructions or cycles, are removed.
    """
    timed = [counts.assign(seconds=interval_lengths(counts)) for counts in runs]
    counts = pd.concat(timed).reset_index(drop=True).dropna()
    intervals_per_row = math.ceil(len(counts) / _MOST_ROWS)
    counts = counts.groupby(np.arange(len(counts)) // intervals_per_row).sum()
    counts = counts[(counts["instructions"] > 0) & (counts["cycles"] > 0)].reset_index(drop=True)
    excluded = {"instructions", "cycles", "seconds", *_UOPS}
    explaining = [event for event in counts if event not in excluded and not is_named_leak(event)]
    X = counts[explaining].div(counts["instructions"], axis=0)
    ipc = (counts["instructions"] / counts["cycles"]).rename("ipc")
    return PublishedMatrix(X, ipc, counts, len(runs))


def cloudsuite(program: str = "all") -> dict[tuple[str, str], PublishedMatrix]:
    """Read the published recordings of the benchmark suite CloudSuite.

    Parameters
    ----------
    program : str, default "all"
        Names of programs, separated by commas, or ``"all"``.

    Returns
    -------
    dict of (str, str) to PublishedMatrix
        Event rates and IPC (instructions per cycle) for each pair of program and processor. Empty if no file is on
        this machine.

    Raises
    ------
    NothingRecordedError
        If a program is unknown.
    ValueError
        If `program` contains no name.
    """
    files = files_like("cloudsuite", r"(?P<processor>.+)\.(?P<program>\w+)\.csv")
    todo = "The notebooks on CloudSuite are about recordings that others have published."
    names = resolve_names(program, sorted(set(files["program"])), about="CloudSuite's programs", todo=todo)
    matrices = {}
    for file in files[files["program"].isin(names)].sort_values(["program", "processor"]).itertuples():
        runs = [counts for counts, _ in counts_of(file.file) if len(counts) > 1]
        if runs:
            matrices[file.program, file.processor] = _join_runs(runs)
            events_counted = tuple(event for counts in runs for event in counts)
            note_read(Provenance(OTHERS_HARDWARE, (file.program,), events_counted, "cloudsuite"))
    return matrices


def shorten_event(event: str) -> str:
    """Return a short label for an event of CloudSuite's recordings.

    Parameters
    ----------
    event : str
        For example, ``"L1-dcache-load-misses"``.

    Returns
    -------
    str
        For example, ``"L1D load misses"``.
    """
    for pattern, short in _SHORT_NAMES.items():
        event = re.sub(pattern, short, event)
    words = event.lower().split()
    return " ".join(word.upper() if word in _ACRONYMS else word for word in words)


@functools.cache
def _translate_events(names):
    """Return cmlib's name for each event name of a file (dict)."""
    return events.translate(names, unknown_machine())
