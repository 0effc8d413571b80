"""Read counts from recordings that others published: from the package, a folder or the cache, without the store.

A set is a group of such files under one name, as ``cmlib fetch`` downloads it, such as "cloudsuite".
:func:`counts_of` reads the counts and running shares of a file's runs, :func:`cloudsuite` reads the whole set, and
:func:`shorten_event` abbreviates an event for the labels of a figure. Files that are not here are left out.
NothingRecordedError for a program that is not listed.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib import rank
from cmlib.experiments.requested import resolve_names
from cmlib.io import events, perf, public
from cmlib.io.archive.runs import unknown_machine
from cmlib.io.provenance import OTHERS_HARDWARE, Provenance, note_read
from cmlib.rank.boosting import Boosting
from cmlib.rank.leaks import is_named_leak
from cmlib.shell import command_code
from cmlib.topdown.run_levels import interval_lengths

__all__ = ["QUICK", "cloudsuite", "counts_of", "files_like", "how_to_get", "shorten_event"]

_BLOCKS, _FOLDS = 12, 4
_MOST_ROWS = 500
_UOPS = ("UOPS_RETIRED_ALL", "RETIRED_UOPS")  # not used to explain IPC: they nearly count instructions
# Settings with fewer trees than the default, as there are many programs.
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
    """All runs of a program on a processor in one matrix, one row for one or several neighboring intervals.

    Attributes
    ----------
    X : DataFrame
        Events per instruction, without events that count instructions or cycles by their names, because these contain
        IPC.
    ipc : Series
        Instructions per cycle.
    counts : DataFrame
        Counts of all events, and the column seconds [s].
    runs : int
        Number of runs.
    """

    X: pd.DataFrame
    ipc: pd.Series
    counts: pd.DataFrame
    runs: int

    @property
    def y(self):
        """Logarithm of IPC (Series), the target of models, so that errors are relative as in CounterMiner's Eq. 14."""
        return np.log(self.ipc)

    @property
    def fold(self):
        """Number (0-3) of each row's fold, an array: twelve blocks of neighboring rows in four folds."""
        return rank.blocks(self.X.index, _BLOCKS) % _FOLDS


def counts_of(name: str) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Read the counts and running shares of the runs in a published file.

    Parameters
    ----------
    name : str
        Name of the file with its folder, as :func:`files_like` lists it.

    Returns
    -------
    list of (DataFrame, DataFrame)
        Counts and running shares (0-1) of each run, one row per interval, one column per event, with cmlib's names of
        events. Empty if the file is not here.

    Raises
    ------
    PublicError
        If the name is not listed.
    """
    content = public.read(name)
    if content is None:
        return []
    runs = []
    for counts, running in perf.read_runs(content.decode("latin-1")):
        columns = _translate_events(tuple(counts))
        runs.append((counts.rename(columns=columns), running.rename(columns=columns)))
    return runs


def files_like(set_name: str, pattern: str) -> pd.DataFrame:
    """List the files of a published set with names that match a pattern, whether or not they are here.

    Parameters
    ----------
    set_name : str
        Name of the set.
    pattern : str
        Regular expression, which must match the whole name without its folder.

    Returns
    -------
    DataFrame
        One row per file: file (name with its folder), and a column for each named group of the pattern. Empty and
        without columns if no name matches.

    Raises
    ------
    PublicError
        If the set is unknown.
    """
    listed = public.files(set_name)["file"]
    matches = {name: re.fullmatch(pattern, name.rpartition("/")[2]) for name in listed}
    return pd.DataFrame([{"file": name, **match.groupdict()} for name, match in matches.items() if match])


def how_to_get(set_name: str) -> str:
    """Write how to get a published set that is not here.

    Parameters
    ----------
    set_name : str
        Name of the set.

    Returns
    -------
    str
        Sentences in Markdown.
    """
    return (
        f"Not shown: the recordings `{set_name}` are not here. {command_code('cmlib', 'fetch', set_name)} has them, or "
        "CMLIB_PUBLIC names a folder with them; then run this notebook again."
    )


def pooled(runs):
    """Join the counts of several runs of a program in one matrix.

    Rows in which instructions or cycles are 0, or any count is NaN, are left out. If there are more than 500 rows,
    neighboring ones are added up.

    Parameters
    ----------
    runs : list of DataFrame
        Counts, one row per interval [index: its end, s], one column per event, instructions and cycles among them.

    Returns
    -------
    PublishedMatrix
    """
    timed = [counts.assign(seconds=interval_lengths(counts)) for counts in runs]
    counts = pd.concat(timed).reset_index(drop=True).dropna()
    counts = counts.groupby(np.arange(len(counts)) // -(-len(counts) // _MOST_ROWS)).sum()
    counts = counts[(counts["instructions"] > 0) & (counts["cycles"] > 0)].reset_index(drop=True)
    hidden = {"instructions", "cycles", "seconds", *_UOPS}
    explaining = [event for event in counts if event not in hidden and not is_named_leak(event)]
    ipc = (counts["instructions"] / counts["cycles"]).rename("ipc")
    return PublishedMatrix(counts[explaining].div(counts["instructions"], axis=0), ipc, counts, len(runs))


def cloudsuite(program: str = "all") -> dict[tuple[str, str], PublishedMatrix]:
    """Read CloudSuite's published recordings.

    Parameters
    ----------
    program : str, default "all"
        Names of programs separated by commas, or ``"all"``.

    Returns
    -------
    dict of (str, str) to PublishedMatrix
        By program and processor. Runs of one interval are left out; empty if none of the files is here.

    Raises
    ------
    NothingRecordedError
        If a name is not one of CloudSuite's programs.
    ValueError
        If there is no name.
    """
    files = files_like("cloudsuite", r"(?P<processor>.+)\.(?P<program>\w+)\.csv")
    todo = "The notebooks on CloudSuite are about recordings that others have published."
    names = resolve_names(program, sorted(set(files["program"])), about="CloudSuite's programs", todo=todo)
    matrices = {}
    for file in files[files["program"].isin(names)].sort_values(["program", "processor"]).itertuples():
        runs = [counts for counts, _ in counts_of(file.file) if len(counts) > 1]
        if runs:
            matrices[file.program, file.processor] = pooled(runs)
            events_counted = tuple(event for counts in runs for event in counts)
            note_read(Provenance(OTHERS_HARDWARE, (file.program,), events_counted, "cloudsuite"))
    return matrices


def shorten_event(event: str) -> str:
    """Abbreviate an event of CloudSuite's recordings.

    Parameters
    ----------
    event : str
        Such as ``"L1-dcache-load-misses"``.

    Returns
    -------
    str
        Such as ``"L1D load misses"``.
    """
    for pattern, short in _SHORT_NAMES.items():
        event = re.sub(pattern, short, event)
    words = event.lower().split()
    return " ".join(word.upper() if word in _ACRONYMS else word for word in words)


@functools.cache
def _translate_events(names):
    """Translate the names of events in a file (tuple) to cmlib's names: a dict."""
    return events.translate(names, unknown_machine())
