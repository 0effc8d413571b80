"""What is in the store: machines, runs, running shares, IPC, events that count, sums that hold."""

import numpy as np
import pandas as pd

from cmlib import store
from cmlib.archive.runs import VALGRIND, source_of
from cmlib.events import MODELLED
from cmlib.schedule import PINNED
from cmlib.study.commands import command_again
from cmlib.study.data import interval_runs, whole_intervals
from cmlib.study.event_tables import event_table, known_sums
from cmlib.study.phases import say_phases
from cmlib.study.simulated_programs import say_simulated, simulator, simulators
from cmlib.study.units import INSTRUCTIONS, event_rates, simulated_kind

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
        good, and the number of runs made there. Of simulated programs a row a simulator and its caches.
    """
    if simulator(url, programs[0]):
        return simulators(url, programs)
    rows = []
    for meta in _metadata(url, programs):
        machine, counters = meta.get("machine") or {}, meta.get("counters") or {}
        identity = machine.get("family"), machine.get("model")
        rows.append(
            {
                "processor": machine.get("model_name") or "not known",
                "family/model": None if None in identity else "/".join(map(str, identity)),
                "processors": machine.get("processors"),
                "virtual": (machine.get("virtual") or "no") if machine.get("processors") else None,
                "kernel": machine.get("kernel"),
                "perf": machine.get("perf"),
                "counters offered": counters.get("offered"),
                "counters good": counters.get("good"),
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
        the mean running share of the events that are not pinned; of a simulated program millions of instructions.
    """
    runs = interval_runs(url, programs)
    rows = []
    for (program, name), group in runs.groupby(["program", "set"], sort=False):
        loaded = [store.load(url, run_id) for run_id in group["run_id"]]
        shares = np.concatenate([_unpinned(run).to_numpy().ravel() for run in loaded])
        row = {
            "program": program,
            "set": name,
            "kind": _kind(loaded[0].meta),
            "passes": group["pass"].nunique(),
            "runs": len(group),
            "events": len({event for run in loaded for event in _unpinned(run)}),
            "intervals": int(group["n_intervals"].sum()),
        }
        if executed := sum(run.counts.get(INSTRUCTIONS, pd.Series()).sum() for run in loaded):
            rows.append(row | {"million instructions": executed / 1e6})
        else:
            of_time = {"seconds": group["duration_s"].sum(), "mean running share": pd.Series(shares).mean()}
            rows.append(row | of_time)
    return pd.DataFrame(rows)


def running_shares(url, programs):
    """Running share of every unpinned event in every interval.

    Returns
    -------
    DataFrame
        Columns ``kind`` (OCOE or MLPX) and ``share`` (0–1); no row of simulated programs, which take no counters.
    """
    if simulator(url, programs[0]):
        return pd.DataFrame({"kind": [], "share": []})
    parts = []
    for run in _runs(url, programs):
        values = _unpinned(run).to_numpy().ravel()
        values = values[np.isfinite(values)]
        parts.append(pd.DataFrame({"kind": _kind(run.meta), "share": values}))
    return pd.concat(parts, ignore_index=True)


def ipc(url, program):
    """IPC over time in a program's unmultiplexed runs, or in the multiplexed ones where there are no others.

    Returns
    -------
    dict of str to Series
        Name of the run to instructions per cycle, indexed by time [s]; without the runs that did not count both.
    """
    grouped = {}
    for run in _runs(url, [program]):
        if set(PINNED) <= set(run.counts):
            series = run.counts["instructions"] / run.counts["cycles"]
            grouped.setdefault(run.meta["mode"], {})[run.meta["run"]] = series
    return grouped.get("ocoe") or grouped.get("mlpx") or {}


def rates(url, program, *, n=8):
    """Events per second, or of a simulated program per 1,000 instructions, over every run of a program.

    Parameters
    ----------
    url, program : str
    n : int or None, default 8
        Events at most: the first ones that ever counted. None, or of a simulated program: all.

    Returns
    -------
    dict of str to dict of str to Series
        Event to name of the run to its rate, as :func:`cmlib.study.units.event_rates` gives it. The instructions of a
        simulated run are left out, and its modelled events say so after their names.
    """
    grouped = {}
    for run in _runs(url, [program]):
        counts, _ = whole_intervals(run)
        for event, rate in event_rates(run, counts).items():
            if counts[event].sum() > 0 and event != INSTRUCTIONS:
                name = f"{event} (modelled)" if simulated_kind(event) == MODELLED else event
                grouped.setdefault(name, {})[run.meta["run"]] = rate
    return dict(list(grouped.items())[: None if simulator(url, program) else n])


def leading_rates(url, program, n=3):
    """:func:`rates` of the studied events of a measured program that happened most often, by event and unit."""
    by_event = rates(url, program, n=None)
    leading = _leading(url, program, n).index
    return {f"{event} per second": by_event[event] for event in leading if event in by_event}


def counting_events(url, programs):
    """Which events ever counted, by program.

    Returns
    -------
    DataFrame
        Index: event. Columns: program, unit, ``counts`` and ``always zero``
        (0 or 1 each), ``per 1000 instructions`` and ``per second`` (means over the program's runs; the first is NaN
        where instructions were not counted, and simulated programs have no seconds).
    """
    units = event_table(url)["unit"]
    totals = {}
    for run in _runs(url, programs):
        sums = run.counts.sum()
        for event in _unpinned(run):
            executed = sums.get("instructions", sums.get(INSTRUCTIONS, np.nan))
            per = 1000 / executed, 1 / run.interval_s.sum()
            rates = [sums[event] * factor for factor in per]
            totals.setdefault((event, run.meta["program"]), []).append((sums[event], *rates))
    rows = []
    for (event, program), counted in totals.items():
        count, by_instructions, by_time = np.mean(counted, axis=0)
        rows.append(
            {
                "event": event,
                "program": program,
                "unit": units.get(event, "other"),
                "counts": int(count > 0),
                "always zero": int(count == 0),
                "per 1000 instructions": by_instructions,
                "per second": by_time,
            }
        )
    frame = pd.DataFrame(rows).set_index("event").sort_values(["unit", "program"], kind="stable")
    return frame.drop(columns="per second") if simulator(url, programs[0]) else frame


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


def say_recorded(url, program, n=3):
    """What can be said of a program before anything is computed.

    Parameters
    ----------
    url, program : str
    n : int, default 3
        Events named where IPC is not known, those that happened most often.

    Returns
    -------
    dict of str to str
        ``limits``, ``sure`` and ``lacking``, as :meth:`cmlib.report.Results.overview` takes them; the first
        alone where some run counted both instructions and cycles, and the others where counts are simulated.
    """
    if known := ipc(url, program):
        means = [series.mean() for series in known.values()]
        apart = f" ({min(means):.2f} to {max(means):.2f})" if len(means) > 1 else ""
        runs = f"the mean of {len(means)} runs" if len(means) > 1 else "one run"
        phases = say_phases(*known.values()) if len(known) == 1 else ""
        phases = f"{phases}; this" if phases else "which"
        level = f"IPC is {np.mean(means):.2f} in {runs}{apart}"
        return {"limits": f"{level}, {phases} alone does not tell what limits the program"}
    if simulator(url, program):
        return say_simulated(url, program)
    leading = _leading(url, program, n)
    often = ", ".join(f"`{event}` {rate:,.0f} times a second" for event, rate in leading.items())
    return {
        "limits": "it is not known, as IPC is not: no run counted both instructions and cycles. "
        f"What happened most often: {often or 'nothing'}",
        "sure": _agreement(url, program, leading.index),
        "lacking": _say_lacking(url, program),
    }


def _kind(meta):
    return "simulated" if source_of(meta) == VALGRIND else _KIND[meta["mode"]]


def _say_lacking(url, program):
    meta = next(_metadata(url, [program]))
    if meta.get("imported"):
        return (
            "instructions and cycles in the same recording give IPC: put `{instructions,cycles}` in front of perf's "
            f"list of events (`-e`), and `cmlib import {program} FILE`"
        )
    return (
        "IPC, and where the cycles go. `cmlib doctor` says whether this machine has hardware counters; "
        f"on one that has, ``{command_again(meta | {'command': ''})}`` records what that takes"
    )


def _leading(url, program, n):
    return counting_events(url, [program])["per second"].nlargest(n)


def _agreement(url, program, events):
    """How far the runs' rates of the first event that several runs counted are apart."""
    runs = rates(url, program, n=None)
    for event in events:
        means = [series.mean() for series in runs.get(event, {}).values()]
        if len(means) > 1 and np.mean(means) > 0:
            apart = 100 * (max(means) - min(means)) / np.mean(means)
            return f"the rate of `{event}` differs by {apart:.0f} % between the {len(means)} runs that counted it"
    return "no event was counted in two runs, so that it is not known how far another run would differ"


def _runs(url, programs):
    for run_id in interval_runs(url, programs)["run_id"]:
        yield store.load(url, run_id)


def _metadata(url, programs):
    return (run.meta for run in _runs(url, programs))


def _unpinned(run):
    """Running shares of the events that are studied: all but the pinned ones, unless there are no others."""
    others = run.running.drop(columns=run.meta["pinned"])
    return run.running if others.empty else others
