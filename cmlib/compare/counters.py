"""Compare counters of several runs of a new version with those of the version before, by rank tests.

:func:`compare_versions` takes two lists of runs (DataFrames with one row per sample: function, location, and one column
per counter), and returns a :class:`VersionComparison`: whether they differ, the p-value, and the functions and counters
that do, or why the runs can't be compared. ValueError for values that are not finite, or a run without samples.
:mod:`cmlib.compare.times` compares times.
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

FEWEST_GOOD = 5  # runs of the version before


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
        The compared functions, smallest p-value first: function, p_value (corrected), significant, relevant, anomalous
        (significant and relevant), new_exceeding and good_exceeding (share of samples above the threshold).
    counters : DataFrame
        Causes in the anomalous functions, as `AutoPerf.causes` lists them; empty if no function is anomalous.
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
        Runs, one row per sample: function, location, and the counters [events per instruction, or per unit of work].
    alpha : float, default 0.01
        Accepted probability of a false alarm.
    detector : cmlib.anomaly.detector.AutoPerf, optional
        Detector that is fitted to the good runs. Default: one with default settings.

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
    refused = check_comparable(good_runs, new_runs, alpha=alpha)
    if refused:
        return VersionComparison(None, math.nan, pd.DataFrame(), pd.DataFrame(), refused)
    detector = detector or AutoPerf(random_state=0)
    return compare_runs(detector.fit(good_runs), new_runs, alpha=alpha)


def compare_runs(detector, new_runs, *, alpha=0.01):
    """Compare new runs with the good runs of a fitted detector.

    For each function, the median and the 90 % quantile of the samples' distances in each new run are compared with
    those of the held-out good runs (Mann-Whitney, one-sided; Bonferroni over the two and over functions). A function is
    anomalous if the difference is significant and relevant. It is significant if the p-value is at most `alpha`. It is
    relevant if the distance of the median new run is larger than that of any good run: because machines drift, two
    recordings of one version differ by more than the noise from run to run.

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
    new, good = detector.summarize(new_runs), detector.held_out_
    n_tests = len(DISTANCES) * new["function"].nunique()
    rows = [
        _compare_function(function, new_function, good[good["function"] == function], n_tests, alpha)
        for function, new_function in new.groupby("function", sort=False)
    ]
    functions = pd.DataFrame(rows).sort_values("p_value", kind="stable", ignore_index=True)
    anomalous = functions.loc[functions["anomalous"], "function"]
    causes = _find_causes(detector, new_runs, new, anomalous) if len(anomalous) else pd.DataFrame()
    return VersionComparison(bool(len(anomalous)), float(functions["p_value"].min()), functions, causes)


def _compare_function(function, new, good, n_tests, alpha):
    """Return the row (dict) of ``VersionComparison.functions`` on a function.

    `new` and `good` have one row per run, with its distances and its numbers of samples.
    """
    p_values = {
        distance: stats.mannwhitneyu(new[distance], good[distance], alternative="greater").pvalue
        for distance in DISTANCES
    }
    distance = min(p_values, key=p_values.get)
    p_value = min(1.0, float(p_values[distance]) * n_tests)
    is_significant = p_value <= alpha
    is_relevant = bool(new[distance].median() > good[distance].max())
    return {
        "function": function,
        "p_value": p_value,
        "significant": is_significant,
        "relevant": is_relevant,
        "anomalous": is_significant and is_relevant,
        "new_exceeding": new["exceeding"].sum() / new["samples"].sum(),
        "good_exceeding": good["exceeding"].sum() / good["samples"].sum(),
    }


def check_comparable(good_runs, new_runs, *, alpha=0.01, good_machine=None, new_machine=None):
    """List the reasons why two versions can't be compared: a tuple of sentences, empty if they can.

    Parameters
    ----------
    good_runs, new_runs : sequence of DataFrame
        Runs, one row per sample: function, location, and the counters.
    alpha : float, default 0.01
        Accepted probability of a false alarm.
    good_machine, new_machine : dict, optional
        Metadata of the machines that recorded them. Default: machines are not compared.

    Returns
    -------
    tuple of str
    """
    reasons = _compare_machines(good_machine or {}, new_machine or {})
    if len(good_runs) < FEWEST_GOOD or not len(new_runs):
        reasons.append(
            f"{len(good_runs)} good and {len(new_runs)} new runs: at least {FEWEST_GOOD} good ones and 1 new are needed"
        )
        return tuple(reasons)
    events = [{column for column in run if column not in LOCATION_COLUMNS} for run in (*good_runs, *new_runs)]
    not_in_all = sorted(set.union(*events) - set.intersection(*events))
    if not_in_all:
        reasons.append(f"not all runs counted {', '.join(not_in_all)}: record both with the same events")
    good_functions = set(np.concatenate([run["function"].unique() for run in good_runs]))
    new_functions = set(np.concatenate([run["function"].unique() for run in new_runs]))
    unknown = ", ".join(sorted(new_functions - good_functions))
    if unknown:
        reasons.append(f"{unknown} not in the good runs: put the regions around their callers")
    needed = count_needed_runs(len(good_runs), len(new_functions), alpha)
    if len(new_runs) < needed:
        reasons.append(
            f"{len(new_runs)} new runs against {len(good_runs)} good ones can't differ significantly at {alpha:g} "
            f"with {len(new_functions)} functions: record at least {needed} new runs, or more good ones"
        )
    return tuple(reasons)


def _compare_machines(good, new):
    """Return a list with a sentence on the facts in which two machines (metadata, dict) differ; empty if in none."""
    differing = sorted(key for key in {*good} & {*new} - {"load_1min"} if good[key] != new[key])
    if not differing:
        return []
    facts = ", ".join(f"{key} {good[key]} and {new[key]}" for key in differing)
    return [f"recorded on different machines ({facts}): record both versions on one"]


def count_needed_runs(n_good, n_functions, alpha):
    """Compute the smallest number of new runs with which a difference can be significant.

    Parameters
    ----------
    n_good : int
        Number of good runs with which they are compared.
    n_functions : int
        Number of tested functions.
    alpha : float
        Accepted probability of a false alarm.

    Returns
    -------
    int
    """
    return next(n for n in itertools.count(1) if 2 * n_functions / math.comb(n_good + n, n) <= alpha)


def _find_causes(detector, runs, summary, functions):
    """Find the causes in some functions, as `AutoPerf.causes` lists them.

    They are taken from the anomalous samples, or from the tenth with the largest distances if those are few.
    """
    samples = pd.concat(runs, ignore_index=True)
    farthest_tenth = summary.loc[summary["function"].isin(functions), "distance_p90"].median()
    return detector.causes(samples[samples["function"].isin(functions)], beyond=min(1.0, farthest_tenth))
