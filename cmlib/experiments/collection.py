"""Describe recordings: their machines, events and running shares, and the counts that are impossible.

Functions take recordings (:class:`cmlib.io.recording.Recording`) and return DataFrames. They do not modify them.
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

# More occurrences of an event per cycle are listed as impossible. It is well above the most that a core can count
# (`cmlib.intervals.MOST_PER_CYCLE`, 128), so that an error of multiplexing can't explain a listed count.
IMPOSSIBLE_PER_CYCLE = 1000
COUNTED_BY_HAND = Provenance(OTHERS_HARDWARE, ("an assembly program",), public_set="totals/deterministic")
_REPEATABLE = 1e-6  # largest difference between counts of equal runs that are called repeatable, as a share


def describe_machines(recordings: Iterable[Recording]) -> pd.DataFrame:
    """List the machines and counters of recordings, from their metadata.

    Parameters
    ----------
    recordings : iterable of cmlib.io.recording.Recording
        Runs of one or more programs.

    Returns
    -------
    DataFrame
        One row per kind of machine: ``counted by`` (perf with its version, the simulator, or "imported"),
        ``processor``, ``processors`` (number of them), ``virtual machine`` ("no" if there is none), ``offered``
        (counters that the kernel offers), ``good`` (number of these that count correctly) and ``runs``. Unknown values
        are "" or NaN.
    """
    rows = []
    for run in recordings:
        counters = run.meta.get("counters") or {}
        version = run.machine.get("perf")
        counted_by = f"perf {version}" if version else "imported"
        if run.simulated:
            counted_by = f"{run.meta['simulator']['tool']} {run.meta['simulator']['version']}, simulated"
        rows.append(
            {
                "counted by": counted_by,
                "processor": run.machine.get("model_name") or "",
                "processors": run.machine.get("processors"),
                "virtual machine": (run.machine.get("virtual") or "no")
                if run.machine.get("processors")
                else "",
                "offered": counters.get("offered"),
                "good": counters.get("good"),
            }
        )
    machines = pd.DataFrame(rows).astype({"processors": float, "offered": float, "good": float})
    return machines.groupby(list(machines), dropna=False, sort=False).size().rename("runs").reset_index()


def describe_sets(recordings: Iterable[Recording]) -> pd.DataFrame:
    """Summarize the runs of each program and set (a plan of the events to count).

    Parameters
    ----------
    recordings : iterable of cmlib.io.recording.Recording
        Runs of one or more programs.

    Returns
    -------
    DataFrame
        One row per program and set: ``program``, ``set``, ``kind`` (of the runs, as :attr:`Recording.kind`),
        ``passes``, ``runs``, ``events`` (without those that every run counts, such as cycles), ``intervals``,
        ``length`` (text: length of all intervals with its unit) and ``running share`` (mean over events and
        intervals; NaN if it is not known).
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
    """Return the total length of the intervals of some runs, with its unit; "" if it is not known."""
    if runs[0].simulated:
        return f"{sum(run.counts.index[-1] for run in runs):,.0f} million instructions"
    if runs[0].axis.rate == "per run":
        return ""
    return f"{sum(run.interval_s.sum() for run in runs):,.0f} s"


def impossible_counts(run: Recording) -> pd.DataFrame:
    """Mark the counts of more than a thousand occurrences per cycle, which are errors of the counter.

    Parameters
    ----------
    run : cmlib.io.recording.Recording

    Returns
    -------
    DataFrame of bool, shape (n_intervals, n_events)
        All False if cycles were not counted.
    """
    if "cycles" not in run.counts:
        return pd.DataFrame(False, run.counts.index, run.counts.columns)
    return run.counts.gt(IMPOSSIBLE_PER_CYCLE * run.counts["cycles"], axis=0)


def list_impossible(recordings: Iterable[Recording]) -> pd.DataFrame:
    """List the counts of more than a thousand occurrences per cycle.

    Parameters
    ----------
    recordings : iterable of cmlib.io.recording.Recording
        Runs of one or more programs.

    Returns
    -------
    DataFrame
        One row per count: ``program``, ``run``, ``interval`` (its end, in the unit of the run's index), ``event``,
        ``count`` and ``cycles``; empty if there is none.
    """
    rows = []
    for run in recordings:
        marked = impossible_counts(run).stack()
        for end, event in marked.index[marked]:
            count, cycles = run.counts.at[end, event], run.counts.at[end, "cycles"]
            rows.append((run.meta["program"], run.meta["run"], end, event, count, cycles))
    return pd.DataFrame(rows, columns=["program", "run", "interval", "event", "count", "cycles"])


def total_counts(recordings: Iterable[Recording]) -> pd.DataFrame:
    """Compute the total of each event in each run, without impossible counts.

    Parameters
    ----------
    recordings : iterable of cmlib.io.recording.Recording
        Runs of one or more programs.

    Returns
    -------
    DataFrame
        One row per event and run: ``program``, ``event``, ``kind`` (of the run, as :attr:`Recording.kind`), ``pass``,
        ``running share`` (mean; NaN if not known), ``total`` (NaN where the event gave no count) and ``per 1,000
        instructions`` (NaN where instructions were not counted). Events of every run, such as cycles, are left out.
    """
    tables = []
    for run in recordings:
        totals = run.counts.mask(impossible_counts(run)).sum(min_count=1)
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
    """Compare totals of multiplexed events with totals of runs in which each event had a counter all the time.

    Parameters
    ----------
    totals : DataFrame
        Result of :func:`total_counts`.

    Returns
    -------
    DataFrame
        One row per program and event that has at least two passes without multiplexing (OCOE) and one with it (MLPX).
        ``OCOE``: mean count per 1,000 instructions over the OCOE passes. ``between passes [%]``: mean absolute
        difference between two OCOE passes. ``multiplexed [%]``: mean absolute difference between an MLPX and an OCOE
        pass. Both are in percent of an OCOE pass.
    """
    rates = totals.groupby(["program", "event", "kind", "pass"])["per 1,000 instructions"].mean()
    rows = []
    for (program, event), event_rates in rates.groupby(["program", "event"]):
        kinds = event_rates.index.get_level_values("kind")
        ocoe = event_rates[kinds == "OCOE"].to_numpy()
        mlpx = event_rates[kinds == "MLPX"].to_numpy()
        if len(ocoe) < 2 or len(mlpx) == 0 or not (ocoe > 0).all():
            continue
        between = [abs(count / reference - 1) for count, reference in permutations(ocoe, 2)]
        multiplexed = [abs(count / reference - 1) for count, reference in product(mlpx, ocoe)]
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
    """Compare the total of an event in each run with the sum of the events that are its parts.

    Intervals with an impossible count are left out.

    Parameters
    ----------
    recordings : iterable of cmlib.io.recording.Recording
        Runs of one or more programs.

    Returns
    -------
    DataFrame
        One row per sum and run, the largest difference first: ``program``, ``run``, ``whole``, ``parts`` (joined by
        " + "), ``same group`` (bool: whole and parts were on counters at the same time), ``difference [%]`` (sum of
        the parts against the whole) and ``counts per interval`` (the difference).
    """
    rows = []
    for run in recordings:
        possible = run.counts[~impossible_counts(run).any(axis=1)]
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
    """Compare counts of an assembly program with counts by hand (V. Weaver's published recordings).

    Returns
    -------
    DataFrame or None
        One row per event. ``machines``: number of machines on which the event was counted in ten runs. ``exact``:
        machines on which all ten counts equal the count by hand. ``repeatable``: machines on which the ten counts
        differ by at most a millionth of it. ``median [%]`` and ``largest [%]``: median and largest difference
        between the mean of a machine and the count by hand. None if the recordings are absent
        (``totals/deterministic`` in the folder that ``CMLIB_PUBLIC`` names).
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
