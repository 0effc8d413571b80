"""Compare counters of several runs of a new version with those of the version before, by rank tests.

:func:`compare_versions` takes two lists of runs (DataFrames, a row per sample: function, location, and a column per
counter), and gives a :class:`VersionComparison`: whether they differ, the p-value, and DataFrames of the functions
and counters that do, or why runs can't be compared. A ValueError for values that are not finite, or a run without
samples. Times are compared in :mod:`cmlib.compare.times`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from cmlib.anomaly.detector import AutoPerf
from cmlib.anomaly.samples import DISTANCES
from cmlib.locations import LOCATION_COLUMNS

__all__ = ["compare_versions"]

FEWEST_GOOD = 5


@dataclass(frozen=True)
class VersionComparison:
    """Whether the counters of two versions differ, and in which functions.

    Attributes
    ----------
    anomalous : bool or None
        None if the comparison was refused.
    p_value : float
        p-value (0-1) of the hypothesis that both are of the same version, Bonferroni-corrected; NaN if refused.
    functions : DataFrame
        The functions compared, the most suspicious first: function, p_value (corrected), significant, relevant,
        anomalous (both), new_exceeding and good_exceeding (share of samples above the threshold).
    counters : DataFrame
        Causes in the anomalous functions, as `AutoPerf.causes` lists them; empty if none is.
    refused : tuple of str
        Why no comparison was made, and what to do; empty otherwise.
    """

    anomalous: bool | None
    p_value: float
    functions: pd.DataFrame
    counters: pd.DataFrame
    refused: tuple[str, ...] = ()


def compare_versions(
    good_runs: Sequence[pd.DataFrame],
    new_runs: Sequence[pd.DataFrame],
    *,
    alpha: float = 0.01,
    detector: AutoPerf | None = None,
) -> VersionComparison:
    """Compare the runs of a new version with those of the version before, by their counters.

    Parameters
    ----------
    good_runs, new_runs : sequence of DataFrame
        A run each, a row per sample: function, location, and the counters [events per instruction, or per unit of
        work].
    alpha : float, default 0.01
        False-alarm probability that is accepted.
    detector : cmlib.anomaly.detector.AutoPerf, optional
        Detector with the settings to use, which is fitted to the good runs. Default: one with default settings.

    Returns
    -------
    VersionComparison
        `anomalous`, `p_value`, and the functions and counters that differ; or why no comparison was made
        (`refused`): fewer than five good runs, other events or functions, or too few new runs for `alpha`.

    Raises
    ------
    ValueError
        If a value isn't finite, or a run has no samples.
    """
    if refused := check_comparable(good_runs, new_runs, alpha=alpha):
        return VersionComparison(None, math.nan, pd.DataFrame(), pd.DataFrame(), refused)
    return compare_runs((detector or AutoPerf(random_state=0)).fit(good_runs), new_runs, alpha=alpha)


def compare_runs(detector, new_runs, *, alpha=0.01):
    """Compare new runs with the good runs of a fitted detector.

    Of each function and new run, the median and the 90 % quantile of the samples' distances are compared with those of
    the held-out good runs (Mann-Whitney, one-sided; Bonferroni over the two and over functions). A function is
    anomalous if the difference is significant (p-value at most `alpha`) and relevant (the median new run is farther
    off than any good run, as recordings of one version differ by more than run-to-run noise, because machines drift).

    Parameters
    ----------
    detector : cmlib.anomaly.detector.AutoPerf
        Fitted to the good runs.
    new_runs : sequence of DataFrame
        Normalized samples: function, location, and the counters.
    alpha : float
        False-alarm probability that is accepted.

    Returns
    -------
    VersionComparison
        `anomalous`, `p_value`, and the functions and counters that differ; never refused.

    Raises
    ------
    ValueError
        If a run has other counters or functions than the good ones, or values that are not finite.
    """
    new, good = detector.summarize(new_runs), detector.held_out_
    n_tests, rows = 2 * new["function"].nunique(), []
    for function, of_new in new.groupby("function", sort=False):
        of_good = good[good["function"] == function]
        p_values = {
            part: stats.mannwhitneyu(of_new[part], of_good[part], alternative="greater").pvalue
            for part in DISTANCES
        }
        part = min(p_values, key=p_values.get)
        p_value = min(1.0, float(p_values[part]) * n_tests)
        relevant = bool(of_new[part].median() > of_good[part].max())
        exceeding = (runs["exceeding"].sum() / runs["samples"].sum() for runs in (of_new, of_good))
        shares = dict(zip(("new_exceeding", "good_exceeding"), exceeding, strict=True))
        verdict = {"significant": p_value <= alpha, "relevant": relevant}
        judged = {"function": function, "p_value": p_value} | verdict | {"anomalous": all(verdict.values())}
        rows.append(judged | shares)
    functions = pd.DataFrame(rows).sort_values("p_value", kind="stable", ignore_index=True)
    bad = functions.loc[functions["anomalous"], "function"]
    causes = _causes(detector, new_runs, new, bad) if len(bad) else pd.DataFrame()
    return VersionComparison(bool(len(bad)), float(functions["p_value"].min()), functions, causes)


def check_comparable(good_runs, new_runs, *, alpha=0.01, good_machine=None, new_machine=None):
    """Reasons why two versions can't be compared, a tuple of sentences; empty if they can.

    `good_runs` and `new_runs` are lists of runs (DataFrames, a row per sample: function, location, and the counters),
    `alpha` is the false-alarm probability; `good_machine` and `new_machine` are metadata (dict) of the machines
    that recorded them, which are not compared if None.
    """
    reasons = []
    good, new = good_machine or {}, new_machine or {}
    if differing := sorted(key for key in {*good} & {*new} - {"load_1min"} if good[key] != new[key]):
        named = (f"{key} {good.get(key)} and {new.get(key)}" for key in differing)
        reasons.append(f"recorded on different machines ({', '.join(named)}): record both versions on one")
    if len(good_runs) < FEWEST_GOOD or not len(new_runs):
        reasons.append(
            f"{len(good_runs)} good and {len(new_runs)} new runs: at least {FEWEST_GOOD} good ones and 1 new are needed"
        )
        return tuple(reasons)
    events = [{column for column in run if column not in LOCATION_COLUMNS} for run in (*good_runs, *new_runs)]
    if lacking := sorted(set.union(*events) - set.intersection(*events)):
        reasons.append(f"not all runs counted {', '.join(lacking)}: record both with the same events")
    known = set(np.concatenate([run["function"].unique() for run in good_runs]))
    asked = set(np.concatenate([run["function"].unique() for run in new_runs]))
    if unknown := ", ".join(sorted(asked - known)):
        reasons.append(f"{unknown} not in the good runs: put the regions around their callers")
    needed = count_needed_runs(len(good_runs), len(asked), alpha)
    if len(new_runs) < needed:
        reasons.append(
            f"{len(new_runs)} new runs against {len(good_runs)} good ones can't differ significantly at {alpha:g} "
            f"with {len(asked)} functions: record at least {needed} new runs, or more good ones"
        )
    return tuple(reasons)


def count_needed_runs(n_good, n_functions, alpha):
    """Smallest number of new runs (int) with which a difference can be significant.

    `n_good` is the number of good runs with which they are compared, `n_functions` that of the functions tested,
    `alpha` the false-alarm probability.
    """
    return next(n for n in itertools.count(1) if 2 * n_functions / math.comb(n_good + n, n) <= alpha)


def _causes(detector, runs, summary, functions):
    """Causes (as of `AutoPerf.causes`) in some functions, by anomalous samples, or the farthest tenth if these are
    few."""
    samples = pd.concat(runs, ignore_index=True)
    farthest_tenth = summary.loc[summary["function"].isin(functions), "distance_p90"].median()
    return detector.causes(samples[samples["function"].isin(functions)], beyond=min(1.0, farthest_tenth))
