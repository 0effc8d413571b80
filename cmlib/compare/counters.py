"""Test whether the counters of two versions of a program differ, and in which functions.

:func:`compare_versions` takes the runs of both versions and returns a :class:`VersionComparison`. A run is a
DataFrame with one row per sample: function, location, and one column per counter.
:class:`cmlib.anomaly.detector.AutoPerf` is fitted to the runs of the old version, called good runs. A rank
test then compares the distances of new and good runs from this model. :mod:`cmlib.compare.times` compares run
times instead.
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
_ANOMALY_THRESHOLD = 1.0  # AutoPerf calls samples with a larger distance anomalous


@dataclass(frozen=True)
class VersionComparison:
    """Result of comparing the counters of two versions.

    Attributes
    ----------
    anomalous : bool or None
        True if the counters of at least one function differ. None if the versions cannot be compared.
    p_value : float
        Smallest p-value of all functions, after Bonferroni's correction. NaN if the versions cannot be
        compared.
    functions : DataFrame
        One row per function, smallest p-value first, with the following columns:

        - ``function``: name
        - ``p_value``: corrected p-value
        - ``significant``: the p-value is at most `alpha`
        - ``relevant``: the median of the new runs exceeds all good runs
        - ``anomalous``: significant and relevant
        - ``new_exceeding``, ``good_exceeding``: fraction of new and good samples with a distance above 1
    causes : DataFrame
        Counters that cause the differences, as returned by `AutoPerf.causes`. Empty if no function is
        anomalous.
    refused : tuple of str
        Reasons why the versions cannot be compared. Empty if they can.
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
    """Compare the counters of a new version with those of the old version.

    Parameters
    ----------
    good_runs, new_runs : sequence of DataFrame
        Runs of the old and the new version. Each has one row per sample: function, location, and one column
        per counter [events per instruction, or per unit of work].
    alpha : float, default 0.01
        Probability of a false alarm.
    detector : cmlib.anomaly.detector.AutoPerf, optional
        Detector to fit to the good runs. Default: a detector with default settings.

    Returns
    -------
    VersionComparison
        If the versions cannot be compared, the attribute `refused` contains the reasons. For example, there are
        fewer than five good runs, or the runs have different events.

    Raises
    ------
    InputError
        If a value is not finite or a run has no samples.
    """
    refused = list_obstacles(good_runs, new_runs, alpha=alpha)
    if refused:
        return VersionComparison(None, math.nan, pd.DataFrame(), pd.DataFrame(), refused)
    detector = detector or AutoPerf(random_state=0)
    return compare_runs(detector.fit(good_runs), new_runs, alpha=alpha)


def compare_runs(
    detector: AutoPerf, new_runs: Sequence[pd.DataFrame], *, alpha: float = 0.01
) -> VersionComparison:
    """Compare new runs with the good runs of a fitted detector.

    A function is anomalous if its difference is significant and relevant. A difference is significant if its
    p-value is at most `alpha`. It is relevant if the median of the new runs exceeds the maximum of the good
    runs. This second condition allows for drift between recordings.

    Parameters
    ----------
    detector : cmlib.anomaly.detector.AutoPerf
        Detector, fitted to the good runs.
    new_runs : sequence of DataFrame
        Runs with the functions and counters of the good runs.
    alpha : float, default 0.01
        Probability of a false alarm.

    Returns
    -------
    VersionComparison

    Raises
    ------
    InputError
        If a run has other counters or functions than the good runs, or a value is not finite.
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


def _compare_function(
    function: str, new_summaries: pd.DataFrame, good_summaries: pd.DataFrame, n_tests: int, alpha: float
) -> dict:
    """Test whether a function differs, and return a row of ``VersionComparison.functions``.

    The summaries have one row per run, as returned by `AutoPerf.summarize`.
    """
    # Two numbers summarize the distances of a run: the median and the 90 % quantile. Each is tested, and the smaller
    # p-value counts, after Bonferroni's correction.
    p_values = {
        distance: stats.mannwhitneyu(
            new_summaries[distance], good_summaries[distance], alternative="greater"
        ).pvalue
        for distance in DISTANCES
    }
    clearest = min(p_values, key=lambda distance: p_values[distance])
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


def list_obstacles(
    good_runs: Sequence[pd.DataFrame],
    new_runs: Sequence[pd.DataFrame],
    *,
    alpha: float = 0.01,
    good_machine: dict | None = None,
    new_machine: dict | None = None,
) -> tuple[str, ...]:
    """List the reasons why the counters of two versions cannot be compared.

    Parameters
    ----------
    good_runs, new_runs : sequence of DataFrame
        Runs of the old and the new version, one row per sample.
    alpha : float, default 0.01
        Probability of a false alarm.
    good_machine, new_machine : dict, optional
        Descriptions of the machines. Default: machines are not compared.

    Returns
    -------
    tuple of str
        One sentence per reason. Empty if the versions can be compared.
    """
    obstacles = _list_differences(good_machine or {}, new_machine or {})
    if len(good_runs) < _FEWEST_GOOD_RUNS or not len(new_runs):
        obstacles.append(
            f"{len(good_runs)} good and {len(new_runs)} new runs: at least {_FEWEST_GOOD_RUNS} good ones and 1 new are "
            "needed"
        )
        return tuple(obstacles)
    events_of_runs = [
        {column for column in run if column not in LOCATION_COLUMNS} for run in (*good_runs, *new_runs)
    ]
    not_in_all = sorted(set.union(*events_of_runs) - set.intersection(*events_of_runs))
    if not_in_all:
        obstacles.append(f"not all runs counted {', '.join(not_in_all)}: record both with the same events")
    good_functions = set(np.concatenate([run["function"].unique() for run in good_runs]))
    new_functions = set(np.concatenate([run["function"].unique() for run in new_runs]))
    added_functions = ", ".join(sorted(new_functions - good_functions))
    if added_functions:
        obstacles.append(
            f"{added_functions} not in the good runs: put the regions around functions that both versions have, for "
            "example the callers"
        )
    needed = count_needed_runs(len(good_runs), len(new_functions), alpha)
    if len(new_runs) < needed:
        obstacles.append(
            f"{len(new_runs)} new runs and {len(good_runs)} good ones cannot differ significantly at {alpha:g} "
            f"with {len(new_functions)} functions: record at least {needed} new runs, or more good ones"
        )
    return tuple(obstacles)


def _list_differences(good_machine: dict, new_machine: dict) -> list[str]:
    """List the differences between two machines in one sentence. Empty if they are equal."""
    common_keys = good_machine.keys() & new_machine.keys() - {"load_1min"}
    differing = sorted(key for key in common_keys if good_machine[key] != new_machine[key])
    if not differing:
        return []
    facts = ", ".join(f"{key} {good_machine[key]} and {new_machine[key]}" for key in differing)
    return [f"recorded on different machines ({facts}): record both versions on one"]


def count_needed_runs(n_good: int, n_functions: int, alpha: float) -> int:
    """Compute the smallest number of new runs for a significant difference.

    The smallest p-value occurs if all new runs have larger distances than all good runs. For n new runs it is
    1 over the binomial coefficient (`n_good` + n choose n).

    Parameters
    ----------
    n_good : int
        Number of good runs.
    n_functions : int
        Number of compared functions.
    alpha : float
        Probability of a false alarm.

    Returns
    -------
    int
    """
    n_tests = _count_tests(n_functions)
    n_new = 1
    while n_tests / math.comb(n_good + n_new, n_new) > alpha:
        n_new += 1
    return n_new


def _count_tests(n_functions: int) -> int:
    """Return the number of tests, which is one per function and distance."""
    return len(DISTANCES) * n_functions


def _find_causes(
    detector: AutoPerf,
    new_runs: Sequence[pd.DataFrame],
    new_summaries: pd.DataFrame,
    anomalous_functions: pd.Series,
) -> pd.DataFrame:
    """Rank the counters by their contribution to the difference in the anomalous functions.

    The anomalous samples of these functions vote. If they are less than a tenth, the tenth with the largest
    distances votes.
    """
    samples = pd.concat(new_runs, ignore_index=True)
    samples = samples[samples["function"].isin(anomalous_functions)]
    summaries = new_summaries[new_summaries["function"].isin(anomalous_functions)]
    # The 90 % quantile is below the threshold if fewer than a tenth of the samples are anomalous.
    quantile_of_median_run = summaries["distance_p90"].median()
    return detector.causes(samples, beyond=min(_ANOMALY_THRESHOLD, quantile_of_median_run))
