"""Compare the counters of two versions of a program by rank tests over several runs of each.

:func:`compare_versions` takes the runs of the version before ("good" runs) and of the new version. A run is a DataFrame
with one row per sample: function, location, and one column per counter. The result is a :class:`VersionComparison`:
whether the versions differ, the p-value, and the functions and counters that differ; or the reasons why they can't be
compared. ValueError for values that are not finite, or a run without samples. :mod:`cmlib.compare.times` compares
times.
"""

from __future__ import annotations

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

_FEWEST_GOOD_RUNS = 5
_ANOMALY_THRESHOLD = 1.0  # distance above which AutoPerf calls a sample anomalous


@dataclass(frozen=True)
class VersionComparison:
    """Whether the counters of two versions differ, and in which functions.

    Attributes
    ----------
    anomalous : bool or None
        None if the comparison was refused.
    p_value : float
        p-value (0-1) of the hypothesis that all runs are of the same version, Bonferroni-corrected; NaN if refused.
    functions : DataFrame
        One row per compared function, smallest p-value first. Columns: function, p_value (corrected), significant,
        relevant, anomalous (significant and relevant), new_exceeding and good_exceeding (shares of the new and of the
        good samples that AutoPerf calls anomalous, because their distance is above 1).
    causes : DataFrame
        Counters that cause the difference in the anomalous functions, as `AutoPerf.causes` ranks them; empty if no
        function is anomalous.
    refused : tuple of str
        Reasons why no comparison was made, each with advice; empty otherwise.
    """

    anomalous: bool | None
    p_value: float
    functions: pd.DataFrame
    causes: pd.DataFrame
    refused: tuple[str, ...] = ()


def compare_versions(
    good_runs: Sequence[pd.DataFrame],
    new_runs: Sequence[pd.DataFrame],
    *,
    alpha: float = 0.01,
    detector: AutoPerf | None = None,
) -> VersionComparison:
    """Compare the counters of a new version with those of the version before.

    Parameters
    ----------
    good_runs, new_runs : sequence of DataFrame
        Runs, one row per sample: function, location, and the counters [events per instruction, or per unit of work].
    alpha : float, default 0.01
        Accepted probability of a false alarm.
    detector : cmlib.anomaly.detector.AutoPerf, optional
        Detector that is fitted to the good runs. Default: one with default settings.

    Returns
    -------
    VersionComparison
        `anomalous`, `p_value`, and the functions and counters that differ. `refused` contains the reasons if no
        comparison was made: fewer than five good runs, different events, functions without a good run, or too few new
        runs for `alpha`.

    Raises
    ------
    ValueError
        If a value isn't finite, or a run has no samples.
    """
    refused = list_obstacles(good_runs, new_runs, alpha=alpha)
    if refused:
        return VersionComparison(None, math.nan, pd.DataFrame(), pd.DataFrame(), refused)
    detector = detector or AutoPerf(random_state=0)
    return compare_runs(detector.fit(good_runs), new_runs, alpha=alpha)


def compare_runs(detector, new_runs, *, alpha=0.01):
    """Compare new runs with the good runs of a fitted detector.

    The detector computes the distance of each sample from the good runs. For each run and function, two numbers
    summarize these distances: their median and their 90 % quantile. A one-sided Mann-Whitney test compares each of the
    two between the new runs and the held-out good runs. The smaller p-value counts, after Bonferroni's correction for
    two tests per function.

    A function is anomalous if the difference is both significant and relevant. It is significant if the p-value is at
    most `alpha`. It is relevant if the median over the new runs is above the maximum over the good runs. The second
    condition allows for drift: two recordings of one version differ by more than the runs within a recording.

    Parameters
    ----------
    detector : cmlib.anomaly.detector.AutoPerf
        Fitted to the good runs.
    new_runs : sequence of DataFrame
        Normalized samples: function, location, and the counters.
    alpha : float
        Accepted probability of a false alarm.

    Returns
    -------
    VersionComparison
        `anomalous`, `p_value`, and the functions and counters that differ; never refused.

    Raises
    ------
    ValueError
        If a run has other counters or functions than the good ones, or values that are not finite.
    """
    new_summaries = detector.summarize(new_runs)
    good_by_function = dict(list(detector.held_out_.groupby("function")))
    n_tests = _count_tests(new_summaries["function"].nunique())
    rows = [
        _compare_function(function, summaries, good_by_function[function], n_tests, alpha)
        for function, summaries in new_summaries.groupby("function", sort=False)
    ]
    functions = pd.DataFrame(rows).sort_values("p_value", kind="stable", ignore_index=True)
    anomalous_functions = functions.loc[functions["anomalous"], "function"]
    if anomalous_functions.empty:
        causes = pd.DataFrame()
    else:
        causes = _find_causes(detector, new_runs, new_summaries, anomalous_functions)
    return VersionComparison(
        anomalous=not anomalous_functions.empty,
        p_value=float(functions["p_value"].min()),
        functions=functions,
        causes=causes,
    )


def _compare_function(function, new_summaries, good_summaries, n_tests, alpha):
    """Compare a function between new and good runs: a row (dict) of ``VersionComparison.functions``.

    The summaries have one row per run, as `AutoPerf.summarize` returns them.
    """
    p_values = {
        distance: stats.mannwhitneyu(
            new_summaries[distance], good_summaries[distance], alternative="greater"
        ).pvalue
        for distance in DISTANCES
    }
    clearest = min(p_values, key=p_values.get)
    p_value = min(1.0, float(p_values[clearest]) * n_tests)
    is_significant = p_value <= alpha
    is_relevant = bool(new_summaries[clearest].median() > good_summaries[clearest].max())
    return {
        "function": function,
        "p_value": p_value,
        "significant": is_significant,
        "relevant": is_relevant,
        "anomalous": is_significant and is_relevant,
        "new_exceeding": new_summaries["exceeding"].sum() / new_summaries["samples"].sum(),
        "good_exceeding": good_summaries["exceeding"].sum() / good_summaries["samples"].sum(),
    }


def list_obstacles(good_runs, new_runs, *, alpha=0.01, good_machine=None, new_machine=None):
    """List the reasons why the counters of two versions can't be compared.

    Parameters
    ----------
    good_runs, new_runs : sequence of DataFrame
        Runs, one row per sample: function, location, and the counters.
    alpha : float, default 0.01
        Accepted probability of a false alarm.
    good_machine, new_machine : dict, optional
        Descriptions of the machines on which they were recorded. Default: machines are not compared.

    Returns
    -------
    tuple of str
        One sentence per reason; empty if the versions can be compared.
    """
    obstacles = _list_differences(good_machine or {}, new_machine or {})
    if len(good_runs) < _FEWEST_GOOD_RUNS or not len(new_runs):
        obstacles.append(
            f"{len(good_runs)} good and {len(new_runs)} new runs: at least {_FEWEST_GOOD_RUNS} good ones and 1 new are "
            "needed"
        )
        return tuple(obstacles)
    events_by_run = [
        {column for column in run if column not in LOCATION_COLUMNS} for run in (*good_runs, *new_runs)
    ]
    not_in_all = sorted(set.union(*events_by_run) - set.intersection(*events_by_run))
    if not_in_all:
        obstacles.append(f"not all runs counted {', '.join(not_in_all)}: record both with the same events")
    good_functions = set(np.concatenate([run["function"].unique() for run in good_runs]))
    new_functions = set(np.concatenate([run["function"].unique() for run in new_runs]))
    added_functions = ", ".join(sorted(new_functions - good_functions))
    if added_functions:
        obstacles.append(
            f"{added_functions} not in the good runs, so there is nothing to compare with: put the regions around "
            "functions that both versions have, such as the callers"
        )
    needed = count_needed_runs(len(good_runs), len(new_functions), alpha)
    if len(new_runs) < needed:
        obstacles.append(
            f"{len(new_runs)} new runs against {len(good_runs)} good ones can't differ significantly at {alpha:g} "
            f"with {len(new_functions)} functions: record at least {needed} new runs, or more good ones"
        )
    return tuple(obstacles)


def _list_differences(good_machine, new_machine):
    """List the differences of two machines' descriptions (dict) in one sentence; empty if there are none."""
    common_keys = good_machine.keys() & new_machine.keys() - {"load_1min"}
    differing = sorted(key for key in common_keys if good_machine[key] != new_machine[key])
    if not differing:
        return []
    facts = ", ".join(f"{key} {good_machine[key]} and {new_machine[key]}" for key in differing)
    return [f"recorded on different machines ({facts}): record both versions on one"]


def count_needed_runs(n_good, n_functions, alpha):
    """Compute the smallest number of new runs with which a difference can be significant.

    The smallest p-value of a one-sided Mann-Whitney test of n new and `n_good` good runs is 1 over the binomial
    coefficient (n_good + n choose n): all new runs have larger distances than all good ones. A function that some runs
    do not pass needs more runs than this.

    Parameters
    ----------
    n_good : int
        Number of good runs.
    n_functions : int
        Number of functions that are compared.
    alpha : float
        Accepted probability of a false alarm.

    Returns
    -------
    int
    """
    n_tests = _count_tests(n_functions)
    n_new = 1
    while n_tests / math.comb(n_good + n_new, n_new) > alpha:
        n_new += 1
    return n_new


def _count_tests(n_functions):
    """Count the tests of a comparison, one per function and distance."""
    return len(DISTANCES) * n_functions


def _find_causes(detector, new_runs, new_summaries, anomalous_functions):
    """Rank the counters that cause the difference, by the samples of the anomalous functions in the new runs.

    The anomalous samples vote for the causes. If they are fewer than a tenth, the tenth with the largest distances
    votes instead, because a difference can be significant although no single sample is anomalous.
    """
    samples = pd.concat(new_runs, ignore_index=True)
    samples = samples[samples["function"].isin(anomalous_functions)]
    summaries = new_summaries[new_summaries["function"].isin(anomalous_functions)]
    # The 90 % quantile is below the threshold if fewer than a tenth of the samples are anomalous.
    quantile_of_median_run = summaries["distance_p90"].median()
    return detector.causes(samples, beyond=min(_ANOMALY_THRESHOLD, quantile_of_median_run))
