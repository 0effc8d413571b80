"""Prepare accounts of the pipeline's slots of recorded programs: the formulas that fit, and runs cut into steps.

A slot is a place for one operation that the processor can begin in a cycle; the account says what became of them, by
the formulas of a top-down table. A program is named by the URL of its store (a database) and its name. What was not
counted is left out.
"""

from cmlib import merge, topdown
from cmlib.errors import NothingRecordedError
from cmlib.experiments.data import cleaned_runs, interval_runs, timed_runs
from cmlib.experiments.event_tables import table_name
from cmlib.io import store


def topdown_tables(url, programs, processor=""):
    """The top-down tables that fit what was counted of programs in the store at `url`: a dict by program, of those that
    have one.

    `processor` (str, such as "amd_zen5") names the programs' processor where their recordings do not.
    NothingRecordedError if no table fits any.
    """
    tables = {name: _fitting(url, name, processor) for name in programs}
    if not any(tables.values()):
        raise NothingRecordedError(
            "this takes cycles and a processor's events for slots, and they were not counted of "
            f"{', '.join(programs)}. What is known of its slots begins the report's first page."
        )
    return {name: table for name, table in tables.items() if table}


def _fitting(url, program, processor):
    """The top-down table that fits what was counted of a program, as on the first page; None if none does."""
    runs = [store.load(url, run_id).whole() for run_id in interval_runs(url, [program])["run_id"]]
    rates = topdown.totals(runs)["rate"]
    return topdown.choose_table(rates.index, table_name(url, program, processor), rates)


def cleaned_steps(url, program, wanted, *, method="shrinkage", workers=None):
    """All runs of a program in the store at `url`, cleaned, in steps of equal instructions: a list of DataFrames.

    A frame has the counts of one run, a row a step (as many in each), a column each of the `wanted` events (set of
    names, instructions and cycles among them) that it counted; what remains uncounted is interpolated. `method` and
    `workers` are those of :func:`cmlib.experiments.data.cleaned_runs`.
    """
    sets = sorted(set(timed_runs(url, [program])["set"]))
    cleaned = cleaned_runs(url, program, sets, method=method, workers=workers)["counts"]
    needed = [run[run.columns[run.columns.isin(wanted)]].dropna(axis=1, how="all") for run in cleaned]
    return merge.step_runs([run.interpolate(limit_direction="both") for run in needed])
