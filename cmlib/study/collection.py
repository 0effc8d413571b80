"""What is in the store: machines, runs, running shares, IPC, events that count, sums that hold."""

import numpy as np
import pandas as pd

from cmlib import store
from cmlib.study.data import event_table, interval_runs, known_sums

_KIND = {"ocoe": "OCOE", "mlpx": "MLPX"}


def machines(url, programs):
    """The machines behind the recordings.

    Parameters
    ----------
    url : str
    programs : list of str

    Returns
    -------
    DataFrame
        A row a machine: its processor, system and perf, counters offered and
        good, and the number of runs made there.
    """
    rows = []
    for meta in _metadata(url, programs):
        machine, counters = meta["machine"], meta["counters"]
        rows.append(
            {
                "processor": machine["model_name"],
                "family/model": f"{machine['family']}/{machine['model']}",
                "processors": machine["processors"],
                "virtual": machine["virtual"] or "no",
                "kernel": machine["kernel"],
                "perf": machine["perf"],
                "counters offered": counters["offered"],
                "counters good": counters["good"],
            }
        )
    frame = pd.DataFrame(rows)
    return frame.groupby(list(frame.columns), dropna=False, sort=False).size().rename("runs").reset_index()


def recordings(url, programs):
    """How much of each program is recorded.

    Returns
    -------
    DataFrame
        A row a program and set: passes, runs, events, intervals, seconds, and
        the mean running share of the events that are not pinned.
    """
    runs = interval_runs(url, programs)
    rows = []
    for (program, name), group in runs.groupby(["program", "set"], sort=False):
        loaded = [store.load(url, run_id) for run_id in group["run_id"]]
        shares = np.concatenate([_unpinned(run).to_numpy().ravel() for run in loaded])
        rows.append(
            {
                "program": program,
                "set": name,
                "kind": _KIND[group["mode"].iloc[0]],
                "passes": group["pass"].nunique(),
                "runs": len(group),
                "events": len({event for run in loaded for event in _unpinned(run)}),
                "intervals": int(group["n_intervals"].sum()),
                "seconds": group["duration_s"].sum(),
                "mean running share": np.nanmean(shares),
            }
        )
    return pd.DataFrame(rows)


def running_shares(url, programs):
    """Running share of every unpinned event in every interval.

    Returns
    -------
    DataFrame
        Columns ``kind`` (OCOE or MLPX) and ``share`` (0–1).
    """
    parts = []
    for run in _runs(url, programs):
        values = _unpinned(run).to_numpy().ravel()
        values = values[np.isfinite(values)]
        parts.append(pd.DataFrame({"kind": _KIND[run.meta["mode"]], "share": values}))
    return pd.concat(parts, ignore_index=True)


def ipc(url, program, set_name):
    """IPC over time in every run of one set.

    Returns
    -------
    dict of str to Series
        Name of the run to instructions per cycle, indexed by time [s].
    """
    found = {}
    for run_id in store.runs(url, program=program, set=set_name)["run_id"]:
        run = store.load(url, run_id)
        found[run.meta["run"]] = run.counts["instructions"] / run.counts["cycles"]
    return found


def counting_events(url, programs):
    """Which events ever counted, by program.

    Returns
    -------
    DataFrame
        Index: event. Columns: program, unit, ``counts`` and ``always zero``
        (0 or 1 each), ``per 1000 instructions`` (mean over the program's runs).
    """
    units = event_table(url)["unit"]
    totals = {}
    for run in _runs(url, programs):
        sums = run.counts.sum()
        for event in _unpinned(run):
            rate = 1000 * sums[event] / sums["instructions"]
            totals.setdefault((event, run.meta["program"]), []).append(rate)
    frame = pd.DataFrame(
        [
            {
                "event": event,
                "program": program,
                "unit": units.get(event, "other"),
                "counts": int(max(rates) > 0),
                "always zero": int(max(rates) == 0),
                "per 1000 instructions": np.mean(rates),
            }
            for (event, program), rates in totals.items()
        ]
    )
    return frame.set_index("event").sort_values(["unit", "program"], kind="stable")


def sum_checks(url, programs):
    """Totals of events against the sum of the events they consist of.

    Only wholes and parts that one run counted are compared.

    Returns
    -------
    DataFrame
        A row a run and sum: whole, parts, whether all shared one group (and so
        the same time on the counters), and the difference of the totals [%].
    """
    rows = []
    for run in _runs(url, programs):
        totals = run.counts.sum()
        for whole, parts in known_sums(run):
            if {whole, *parts} <= set(totals.index) and totals[whole] > 0:
                rows.append(
                    {
                        "program": run.meta["program"],
                        "run": run.meta["run"],
                        "whole": whole,
                        "parts": " + ".join(parts),
                        "same group": any({whole, *parts} <= set(group) for group in run.meta["groups"]),
                        "difference [%]": 100 * (totals[list(parts)].sum() / totals[whole] - 1),
                    }
                )
    return pd.DataFrame(rows, columns=["program", "run", "whole", "parts", "same group", "difference [%]"])


def _runs(url, programs):
    for run_id in interval_runs(url, programs)["run_id"]:
        yield store.load(url, run_id)


def _metadata(url, programs):
    return (run.meta for run in _runs(url, programs))


def _unpinned(run):
    return run.running.drop(columns=run.meta["pinned"])
