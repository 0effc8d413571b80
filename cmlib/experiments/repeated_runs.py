"""Compare repeated runs of two builds of a program.

:func:`compare_repeated_runs` compares recordings of other tools, in which each row contains the total counts of one
run. It decides for each program whether the run time and the counts changed.

Two recordings of the same build can also differ, because the machine changed between them. If the builds can be
executed here, use ``cmlib compare OLD NEW``, which runs them in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cmlib.errors import CmlibError
from cmlib.experiments.ratio_tables import DIFFERS, INCONCLUSIVE, NO_CHANGE, NOT_COMPARABLE, compare_ratios
from cmlib.topdown.run_levels import interval_lengths

SCHEMA = 1
SLOWER, FASTER, _COUNTS_DIFFER = "slower", "faster", "counts differ"
_FEWEST_RUNS = 3  # of each build, to estimate the variation
_SECONDS, _IPC = "seconds", "instructions a cycle"
# The verdict on all programs is the first of these verdicts that a program has.
_BY_IMPORTANCE = (SLOWER, _COUNTS_DIFFER, FASTER, INCONCLUSIVE, NO_CHANGE)


def compare_repeated_runs(
    old: dict[str, Sequence[tuple[pd.DataFrame, pd.DataFrame]]],
    new: dict[str, Sequence[tuple[pd.DataFrame, pd.DataFrame]]],
    *,
    smallest: float = 0.25,
) -> dict[str, Any]:
    """Compare the run time and the counts of each program in two files.

    Parameters
    ----------
    old, new : dict of str to sequence of (DataFrame, DataFrame)
        For each program, counts and running shares (the fraction of the time in which an event was counted, 0-1). One
        row per run, one column per event.
    smallest : float, default 0.25
        Smallest relevant change. For example, with 0.25 a ratio of 1.25 or more, or of 0.8 or less, is relevant.

    Returns
    -------
    dict
        Contains these keys:

        - ``schema``: version of the format.
        - ``verdict``: most important verdict of all programs.
        - ``programs``: list of dicts with the keys name, runs, verdict and totals. ``totals`` is the result of
          :func:`cmlib.experiments.ratio_tables.compare_ratios`.
        - ``unmatched``: names of the programs that are in one file only.

    Raises
    ------
    CmlibError
        If no program is in both files.

    Notes
    -----
    The verdict on a program is one of these:

    - ``slower`` or ``faster``: the run time changed.
    - ``counts differ``: a count changed, and the run time did not.
    - ``no change``: no relevant change.
    - ``inconclusive``: the variation is too large for a decision.
    - ``not comparable``: one of the files has fewer than three runs.
    """
    names = [name for name in old if name in new]
    if not names:
        raise CmlibError(
            f"the files have no program in common: {', '.join(old)} in the old one, {', '.join(new)} in the new one. "
            "Repeated runs are compared by the names of their programs."
        )
    programs = [_compare_program(name, old[name], new[name], smallest) for name in names]
    program_verdicts = {program["verdict"] for program in programs}
    verdict = NOT_COMPARABLE
    for candidate in _BY_IMPORTANCE:
        if candidate in program_verdicts:
            verdict = candidate
            break
    unmatched = sorted(old.keys() ^ new.keys())
    return {"schema": SCHEMA, "verdict": verdict, "programs": programs, "unmatched": unmatched}


def _compare_program(name, old, new, smallest):
    """Return the entry of one program in the result."""
    old_table = _tabulate_recording(old)
    new_table = _tabulate_recording(new)
    runs = {"old": len(old_table), "new": len(new_table)}
    if min(runs.values()) < _FEWEST_RUNS:
        return {"name": name, "runs": runs, "verdict": NOT_COMPARABLE, "totals": []}
    rows = compare_ratios(old_table, new_table, smallest)
    return {"name": name, "runs": runs, "verdict": _judge(rows), "totals": rows}


def _tabulate_recording(recording):
    """Return the run time, IPC and counts of each run, one row per run."""
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
    """Return the verdict on one program from its compared quantities."""
    verdicts = {row["name"]: row["verdict"] for row in rows}
    ratios = {row["name"]: row["ratio"] for row in rows}
    if verdicts.get(_SECONDS) == DIFFERS:
        return SLOWER if ratios[_SECONDS] > 1 else FASTER
    if DIFFERS in verdicts.values():
        return _COUNTS_DIFFER
    if _SECONDS in verdicts:
        decisive = [verdicts[_SECONDS]]
    else:
        decisive = list(verdicts.values())
    if not decisive or INCONCLUSIVE in decisive:
        return INCONCLUSIVE
    return NO_CHANGE
