"""Describe what was recorded, and check the counts.

:func:`describe_machines` and :func:`describe_sets` describe recordings. :func:`list_impossible`,
:func:`compare_modes` and :func:`check_sums` measure errors of the counts. Recordings are objects of
:class:`cmlib.io.recording.Recording`, one per run.
"""

from collections.abc import Iterable
from itertools import permutations, product

import numpy as np
import pandas as pd

from cmlib import places
from cmlib.experiments.event_tables import known_sums
from cmlib.io.absent import note_absent
from cmlib.io.provenance import OTHERS_HARDWARE, Provenance
from cmlib.io.recording import INSTRUCTIONS, Recording

__all__ = [
    "COUNTED_BY_HAND",
    "check_sums",
    "compare_modes",
    "compare_with_counts_by_hand",
    "describe_machines",
    "describe_sets",
    "list_impossible",
    "total_counts",
]

# Larger counts per cycle are impossible. The limit is far above the maximum of a core (128 per cycle), because the
# extrapolation of multiplexed counts can also exceed the maximum.
_IMPOSSIBLE_PER_CYCLE = 1000
COUNTED_BY_HAND = Provenance(OTHERS_HARDWARE, ("an assembly program",), public_set="totals/deterministic")
_REPEATABLE = 1e-6  # largest relative difference between repeatable counts


def describe_machines(recordings: Iterable[Recording]) -> pd.DataFrame:
    """List the machines on which runs were recorded.

    Parameters
    ----------
    recordings : iterable of cmlib.io.recording.Recording
        Runs of one or more programs.

    Returns
    -------
    DataFrame
        One row per kind of machine, with these columns. Unknown values are "" or NaN.

        - ``counted by``: version of perf or of the simulator, or "imported".
        - ``processor``, ``processors``: name and number of the processors.
        - ``virtual machine``: name of the hypervisor, or "no".
        - ``offered``: number of hardware counters of a processor.
        - ``good``: number of hardware counters that count correctly.
        - ``runs``: number of runs.
    """
    rows = []
    for run in recordings:
        counters = run.meta.get("counters") or {}
        processors = run.machine.get("processors")
        virtual_machine = ""
        if processors:
            virtual_machine = run.machine.get("virtual") or "no"
        rows.append(
            {
                "counted by": _describe_counting(run),
                "processor": run.machine.get("model_name") or "",
                "processors": processors,
                "virtual machine": virtual_machine,
                "offered": counters.get("offered"),
                "good": counters.get("good"),
            }
        )
    machines = pd.DataFrame(rows).astype({"processors": float, "offered": float, "good": float})
    return machines.groupby(list(machines), dropna=False, sort=False).size().rename("runs").reset_index()


def _describe_counting(run):
    """Return the version of perf or of the simulator, or "imported"."""
    if run.simulated:
        return f"{run.meta['simulator']['tool']} {run.meta['simulator']['version']}, simulated"
    version = run.machine.get("perf")
    return f"perf {version}" if version else "imported"


def describe_sets(recordings: Iterable[Recording]) -> pd.DataFrame:
    """Describe the runs of each program and set.

    A set is a named list of events to count.

    Parameters
    ----------
    recordings : iterable of cmlib.io.recording.Recording
        Runs of one or more programs.

    Returns
    -------
    DataFrame
        One row per program and set, with these columns:

        - ``program``, ``set``: names.
        - ``kind``: how events were counted, from :attr:`Recording.kind`.
        - ``passes``: number of repetitions of the set.
        - ``runs``: number of runs. A pass takes several runs if its events do not fit into one.
        - ``events``: number of events. Events that every run counts are excluded, for example cycles.
        - ``intervals``: number of intervals.
        - ``length``: total length of the intervals with its unit (str).
        - ``running share``: mean fraction of the time in which an event was counted, or NaN if it is unknown.
    """
    runs_by_set = {}
    for run in recordings:
        runs_by_set.setdefault((run.meta["program"], run.meta["set"]), []).append(run)
    rows = []
    for (program, name), runs in runs_by_set.items():
        shares = [run.running[run.studied].to_numpy().ravel() for run in runs if run.knows_shares]
        rows.append(
            {
                "program": program,
                "set": name,
                "kind": runs[0].kind,
                "passes": len({run.meta["pass"] for run in runs}),
                "runs": len(runs),
                "events": len({event for run in runs for event in run.studied}),
                "intervals": sum(len(run.counts) for run in runs),
                "length": _describe_length(runs),
                "running share": np.nanmean(np.concatenate(shares)) if shares else np.nan,
            }
        )
    return pd.DataFrame(rows)


def _describe_length(runs):
    """Return the total length of the intervals with its unit, or ""."""
    if runs[0].simulated:
        return f"{sum(run.counts.index[-1] for run in runs):,.0f} million instructions"
    if runs[0].axis.rate == "per run":
        return ""
    return f"{sum(run.interval_s.sum() for run in runs):,.0f} s"


def _mark_impossible(run):
    """Return a mask of the impossible counts of a run.

    The mask is a DataFrame like ``run.counts``. All values are False if cycles were not counted.
    """
    if "cycles" not in run.counts:
        return pd.DataFrame(False, run.counts.index, run.counts.columns)
    return run.counts.gt(_IMPOSSIBLE_PER_CYCLE * run.counts["cycles"], axis=0)


def list_impossible(recordings: Iterable[Recording]) -> pd.DataFrame:
    """List the impossible counts: more than 1,000 per cycle.

    Parameters
    ----------
    recordings : iterable of cmlib.io.recording.Recording
        Runs of one or more programs.

    Returns
    -------
    DataFrame
        One row per impossible count. Columns: ``program``, ``run``, ``interval`` (its end), ``event``, ``count``
        and ``cycles``. Empty if no count is impossible.
    """
    rows = []
    for run in recordings:
        marked = _mark_impossible(run).stack()
        for end, event in marked.index[marked]:
            count, cycles = run.counts.at[end, event], run.counts.at[end, "cycles"]
            rows.append((run.meta["program"], run.meta["run"], end, event, count, cycles))
    return pd.DataFrame(rows, columns=["program", "run", "interval", "event", "count", "cycles"])


def total_counts(recordings: Iterable[Recording]) -> pd.DataFrame:
    """Compute the total count of each event in each run.

    Impossible counts (more than 1,000 per cycle) are ignored.

    Parameters
    ----------
    recordings : iterable of cmlib.io.recording.Recording
        Runs of one or more programs.

    Returns
    -------
    DataFrame
        One row per event and run. Events that are counted in every run, for example cycles, have no rows. Columns:

        - ``program``, ``event``: names.
        - ``kind``: how events were counted, from :attr:`Recording.kind`.
        - ``pass``: number of the repetition.
        - ``running share``: mean fraction of the time in which an event was counted, or NaN if it is unknown.
        - ``total``: total count, or NaN if the event was not counted.
        - ``per 1,000 instructions``: total per 1,000 instructions, or NaN if instructions were not counted.
    """
    tables = []
    for run in recordings:
        totals = run.counts.mask(_mark_impossible(run)).sum(min_count=1)
        instructions = totals.get("instructions", totals.get(INSTRUCTIONS, np.nan))
        table = pd.DataFrame(
            {
                "program": run.meta["program"],
                "kind": run.kind,
                "pass": run.meta["pass"],
                "running share": run.running[run.studied].mean() if run.knows_shares else np.nan,
                "total": totals[run.studied],
            }
        )
        table["per 1,000 instructions"] = 1000 * table["total"] / instructions
        tables.append(table.rename_axis("event").reset_index())
    return pd.concat(tables, ignore_index=True)


def compare_modes(totals: pd.DataFrame) -> pd.DataFrame:
    """Compare total counts with and without multiplexing.

    An event needs two repetitions without multiplexing (OCOE, "one counter, one event") and one with multiplexing
    (MLPX).

    Parameters
    ----------
    totals : DataFrame
        Total counts from :func:`total_counts`.

    Returns
    -------
    DataFrame
        One row per program and event, with these columns:

        - ``program``, ``event``: names.
        - ``OCOE``: mean count per 1,000 instructions without multiplexing.
        - ``between passes [%]``: mean difference between two repetitions without multiplexing.
        - ``multiplexed [%]``: mean difference between a repetition with and a repetition without multiplexing.
    """
    rates = totals.groupby(["program", "event", "kind", "pass"])["per 1,000 instructions"].mean()
    rows = []
    for (program, event), event_rates in rates.groupby(["program", "event"]):
        kinds = event_rates.index.get_level_values("kind")
        ocoe = event_rates[kinds == "OCOE"].to_numpy()
        mlpx = event_rates[kinds == "MLPX"].to_numpy()
        if len(ocoe) < 2 or len(mlpx) == 0 or not (ocoe > 0).all():
            continue
        between = [abs(rate / reference - 1) for rate, reference in permutations(ocoe, 2)]
        multiplexed = [abs(rate / reference - 1) for rate, reference in product(mlpx, ocoe)]
        rows.append(
            {
                "program": program,
                "event": event,
                "OCOE": ocoe.mean(),
                "between passes [%]": 100 * np.mean(between),
                "multiplexed [%]": 100 * np.mean(multiplexed),
            }
        )
    return pd.DataFrame(rows, columns=["program", "event", "OCOE", "between passes [%]", "multiplexed [%]"])


def check_sums(recordings: Iterable[Recording]) -> pd.DataFrame:
    """Compare the count of an event with the sum of its parts.

    For example, all loads should equal loads that hit plus loads that miss. Intervals with an impossible count
    (more than 1,000 per cycle) are ignored.

    Parameters
    ----------
    recordings : iterable of cmlib.io.recording.Recording
        Runs of one or more programs.

    Returns
    -------
    DataFrame
        One row per sum and run, the largest difference first, with these columns:

        - ``program``, ``run``: names.
        - ``whole``: event that is a sum.
        - ``parts``: events that add up to it, joined by " + ".
        - ``same group``: True if all these events were counted at the same time.
        - ``difference [%]``: sum of the parts minus the whole, relative to the whole.
        - ``counts per interval``: mean of the difference per interval [counts].
    """
    rows = []
    for run in recordings:
        possible = run.counts[~_mark_impossible(run).any(axis=1)]
        totals = possible.sum()
        groups = [set(group) for group in run.meta["groups"]]
        for whole, parts in known_sums(run):
            members = {whole, *parts}
            if not members <= set(totals.index) or not totals[whole] > 0:
                continue
            difference = totals[list(parts)].sum() - totals[whole]
            rows.append(
                {
                    "program": run.meta["program"],
                    "run": run.meta["run"],
                    "whole": whole,
                    "parts": " + ".join(parts),
                    "same group": any(members <= group for group in groups),
                    "difference [%]": 100 * difference / totals[whole],
                    "counts per interval": difference / len(possible),
                }
            )
    columns = ["program", "run", "whole", "parts", "same group", "difference [%]", "counts per interval"]
    sums = pd.DataFrame(rows, columns=columns)
    return sums.sort_values("difference [%]", key=abs, ascending=False, kind="stable", ignore_index=True)


def compare_with_counts_by_hand() -> pd.DataFrame | None:
    """Compare counts of an assembly program with its known number of events.

    V. Weaver counted the executed operations by hand and published counts of many machines. Each machine counted
    ten runs.

    Returns
    -------
    DataFrame or None
        One row per event, with these columns. None if the recordings are not on this machine.

        - ``machines``: number of machines that counted the event.
        - ``exact``: number of machines on which all counts are correct.
        - ``repeatable``: number of machines on which the counts differ by at most a millionth.
        - ``median [%]``, ``largest [%]``: median and largest error of a machine.
    """
    folder = places.external_data_dir()
    files = sorted((folder / "totals/deterministic").glob("expected.csv*")) if folder else []
    if not files:
        note_absent(COUNTED_BY_HAND.public_set)
        return None
    rows = pd.read_csv(files[0]).query("expected > 0")
    runs = rows["all_values"].str.split(";", expand=True).astype(float)
    spread = runs.max(axis=1) - runs.min(axis=1)
    checked = pd.DataFrame(
        {
            "event": rows["section"],
            "exact": (rows["raw_average"] == rows["expected"]) & (spread == 0),
            "repeatable": spread <= _REPEATABLE * rows["expected"],
            "difference": 100 * (rows["raw_average"] / rows["expected"] - 1).abs(),
        }
    )
    by_event = checked.groupby("event")
    compared = pd.DataFrame(
        {
            "machines": by_event.size(),
            "exact": by_event["exact"].sum(),
            "repeatable": by_event["repeatable"].sum(),
            "median [%]": by_event["difference"].median(),
            "largest [%]": by_event["difference"].max(),
        }
    )
    return compared.sort_values("median [%]", kind="stable")
