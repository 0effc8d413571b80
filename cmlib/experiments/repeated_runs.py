"""Compare the totals of repeated runs of two builds, which were recorded by some other tool.

Each row of such a recording is one whole run of a program. :func:`compare_repeated_runs` takes the recorded programs
of both files, and returns for each program whether its time and its counts changed. Two recordings
of one build may also differ from each other, which one recording of it does not show; use `cmlib compare OLD NEW` if
the programs can be run.
"""

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError
from cmlib.experiments.ratio_tables import DIFFERS, INCONCLUSIVE, NO_CHANGE, NOT_COMPARABLE, compare_ratios
from cmlib.topdown.run_levels import interval_lengths

SCHEMA = 1
SLOWER, FASTER, COUNTS_DIFFER = "slower", "faster", "counts differ"
FEWEST_RUNS = 3  # of each build, so that their variation can be estimated
_SECONDS, _IPC = "seconds", "instructions a cycle"
# The verdict on several programs is the first of these that one of them has.
_BY_IMPORTANCE = (SLOWER, COUNTS_DIFFER, FASTER, INCONCLUSIVE, NO_CHANGE)


def compare_repeated_runs(old, new, *, smallest=0.25):
    """Compare the elapsed time and the counts of repeated runs, program by program.

    Parameters
    ----------
    old, new : dict of str to sequence of (DataFrame, DataFrame)
        Recordings by program: pairs of counts and running shares, one row per run, one column per event.
    smallest : float, default 0.25
        Smallest relevant change: a ratio of 1 + `smallest`, or its inverse. The two files were recorded at
        different times, between which machines drift.

    Returns
    -------
    dict
        ``schema``, ``verdict``, ``programs`` and ``unmatched`` (names of programs that only one file has). Each
        program is a dict of ``name``, ``runs`` (numbers of old and new runs), ``verdict`` and ``totals`` (rows as in
        :func:`cmlib.experiments.ratio_tables.compare_ratios`, elapsed time first). The verdict is ``slower`` or
        ``faster`` by elapsed time; ``counts differ`` if only counts changed; ``no change``; ``inconclusive`` if an
        interval contains both no change and a relevant one; or ``not comparable`` for fewer than three runs. The
        verdict on all programs is the most important one of their verdicts.

    Raises
    ------
    CmlibError
        If the files have no program in common.
    """
    names = [name for name in old if name in new]
    if not names:
        raise CmlibError(
            f"the files have no program in common: {', '.join(old)} in the old one, {', '.join(new)} in the new one. "
            "Repeated runs are compared by the names of their programs."
        )
    programs = [_compare_program(name, old[name], new[name], smallest) for name in names]
    verdicts = {program["verdict"] for program in programs}
    verdict = next((verdict for verdict in _BY_IMPORTANCE if verdict in verdicts), NOT_COMPARABLE)
    unmatched = sorted(old.keys() ^ new.keys())
    return {"schema": SCHEMA, "verdict": verdict, "programs": programs, "unmatched": unmatched}


def _compare_program(name, old, new, smallest):
    """Compare the runs of one program, and return its entry (dict) in the result."""
    tables = [_tabulate_runs(recording) for recording in (old, new)]
    runs = {"old": len(tables[0]), "new": len(tables[1])}
    if min(runs.values()) < FEWEST_RUNS:
        return {"name": name, "runs": runs, "verdict": NOT_COMPARABLE, "totals": []}
    rows = compare_ratios(*tables, smallest)
    return {"name": name, "runs": runs, "verdict": _judge(rows), "totals": rows}


def _tabulate_runs(recording):
    """Return a table of seconds, instructions per cycle, and counts, one row per run."""
    tables = []
    for counts, _ in recording:
        table = counts.drop(columns="duration_time", errors="ignore").reset_index(drop=True)
        if "duration_time" in counts:
            table.insert(0, _SECONDS, interval_lengths(counts))
        if {"instructions", "cycles"} <= {*counts}:
            table[_IPC] = table["instructions"] / table["cycles"]
        tables.append(table)
    return pd.concat(tables, ignore_index=True).replace([np.inf, -np.inf], np.nan)


def _judge(rows):
    """Return the verdict on one program from the rows of its table."""
    verdicts = {row["name"]: row["verdict"] for row in rows}
    ratios = {row["name"]: row["ratio"] for row in rows}
    if verdicts.get(_SECONDS) == DIFFERS:
        return SLOWER if ratios[_SECONDS] > 1 else FASTER
    if DIFFERS in verdicts.values():
        return COUNTS_DIFFER
    decisive = [verdicts[_SECONDS]] if _SECONDS in verdicts else list(verdicts.values())
    if not decisive or INCONCLUSIVE in decisive:
        return INCONCLUSIVE
    return NO_CHANGE
