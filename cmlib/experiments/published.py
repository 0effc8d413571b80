"""Read counts from recordings that others published: from the package, a folder or the cache, without the store.

A set is a group of such files under one name, as ``cmlib fetch`` downloads it, such as "cloudsuite".
:func:`counts_of` gives the counts and running shares of a file's runs (DataFrames, a row per interval),
:func:`cloudsuite` a dict of :class:`PublishedMatrix`, :func:`shorten_event` a name for the labels of a figure. A file
that is not here is left out; a NothingRecordedError for a program that is not listed.
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
    """All runs of a program on a processor in one matrix, a row for one or several neighbouring intervals.

    `X` has events per instruction, without those that count instructions or cycles by their names, which contain
    IPC; `ipc` is a Series; `counts` has the counts of all events and the column seconds [s]; `runs` is the number
    of runs.
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
        """Number (0-3) of each row's fold, an array: twelve blocks of neighbouring rows in four folds."""
        return rank.blocks(self.X.index, _BLOCKS) % _FOLDS


def counts_of(name: str) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """List of (counts, running) of the runs in a published file, with cmlib's names of events; empty if it is not here.

    `name` is the file's, with its folder, as :func:`files_like` lists it. Both are DataFrames, a row per interval, a
    column per event; running shares are 0 to 1. A PublicError for a name that is not listed.
    """
    if (content := public.read(name)) is None:
        return []
    runs = perf.read_runs(content.decode("latin-1"))
    return [tuple(table.rename(columns=_names(tuple(table))) for table in run) for run in runs]


def files_like(set_name: str, pattern: str) -> pd.DataFrame:
    """Files of the published set `set_name` whose names match `pattern`, a regular expression, as a whole: a DataFrame.

    It has a row per file: file (name with its folder), and a column for each named group of the pattern; empty and
    without columns if none matches. A file may be listed that is not here. A PublicError for an unknown set.
    """
    listed = public.files(set_name)["file"]
    matches = {name: re.fullmatch(pattern, name.rpartition("/")[2]) for name in listed}
    return pd.DataFrame([{"file": name, **match.groupdict()} for name, match in matches.items() if match])


def how_to_get(set_name: str) -> str:
    """A sentence (Markdown) on how to get a published set (`set_name`) that is not here."""
    return (
        f"Not shown: the recordings `{set_name}` are not here. {command_code('cmlib', 'fetch', set_name)} has them, or "
        "CMLIB_PUBLIC names a folder with them; then run this notebook again."
    )


def pooled(runs):
    """Join the counts of several runs of a program to a PublishedMatrix.

    `runs` are DataFrames of counts, a row per interval [index: its end, s], a column per event, instructions and
    cycles among them. Rows in which either is 0 or any count is NaN are left out. Of more than 500 rows,
    neighbouring ones are added up.
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
    """Read CloudSuite's published recordings: a dict from (program, processor) to a PublishedMatrix.

    `program` is "all" or names separated by commas; a NothingRecordedError for a name that is none of CloudSuite's
    programs, a ValueError if there is no name. Runs of one interval are left out; empty if none of the files is
    here.
    """
    files = files_like("cloudsuite", r"(?P<processor>.+)\.(?P<program>\w+)\.csv")
    todo = "The notebooks on CloudSuite are about recordings that others have published."
    wanted = resolve_names(program, sorted(set(files["program"])), about="CloudSuite's programs", todo=todo)
    rows = {}
    for row in files[files["program"].isin(wanted)].sort_values(["program", "processor"]).itertuples():
        if runs := [counts for counts, _ in counts_of(row.file) if len(counts) > 1]:
            rows[row.program, row.processor] = pooled(runs)
            counted = tuple(event for counts in runs for event in counts)
            note_read(Provenance(OTHERS_HARDWARE, (row.program,), counted, "cloudsuite"))
    return rows


def shorten_event(event: str) -> str:
    """Abbreviate an event of CloudSuite's recordings: "L1-dcache-load-misses" becomes "L1D load misses"."""
    for pattern, short in _SHORT_NAMES.items():
        event = re.sub(pattern, short, event)
    words = event.lower().split()
    return " ".join(word.upper() if word in _ACRONYMS else word for word in words)


@functools.cache
def _names(written):
    """Dict from the names in a file to cmlib's."""
    return events.translate(written, unknown_machine())
