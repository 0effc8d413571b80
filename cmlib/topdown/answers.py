"""Answer what limits a recorded program: levels, the account with bounds, and what would decide it."""

import functools

import numpy as np
import pandas as pd

from cmlib import processors
from cmlib.clean.uncounted import lengths_by_ends, zeros_without_turn
from cmlib.cost import savings_without_misses
from cmlib.shell import command_line, perf_stat
from cmlib.spelling import spelling
from cmlib.templates import template
from cmlib.topdown.bounded_account import LOSSES, bounds
from cmlib.topdown.category_tables import read_table, tables
from cmlib.topdown.costs import UNKNOWN, known_costs, read_costs
from cmlib.topdown.run_levels import CUT_BY, DIFFERS, levels, phases, totals
from cmlib.topdown.runtimes import advice_for, runtime_of
from cmlib.topdown.table_choice import choose_table
from cmlib.topdown.verdict import find_bottleneck

SCHEMA = 1
_THIN = 0.05  # share of the time below which an event is counted too thinly for its total to be trusted
_NOTHING = 0.005  # share of the slots that is shown as none
_MOST_OF_IT = 0.5  # share of a category's lower bound from which on one of its parts is what to work on
_ANY_TABLE = "amd_zen5"  # whose advice on level 1 is of any processor
_DECIDED = ("counted", "decided", "likely")
# Kinds of perf's own events, which each processor has its own way.
_GENERIC_STALLS = ("front-end stall", "back-end stall")
_NAMED = 0.9  # share of its category's upper bound from which on a part's says nothing


_STANDS_OUT = 1.1  # ratio of a level between phases from which on a sentence tells of it
_IPC = "instructions a cycle"
_CHANGED, _MOST_NAMED = (
    2.0,
    3,
)  # ratio of an event's rate between phases from which on it is named; how many are
_RARE, _INSTANT = 1e-6, 1e-6  # times a cycle; seconds
_CLOCKS = ["task-clock", "cpu-clock", "duration_time", "instructions"]  # of which levels tell


def summarize(
    name,
    runs,
    *,
    processor=None,
    modifier="",
    whole_runs=False,
    core="",
    notes=(),
    printed=None,
    metric_group="",
    command="",
):
    """Summarize a recording: levels, the account with bounds, and what would decide it, as plain values.

    Parameters
    ----------
    name : str
        Of the program.
    runs : sequence of (DataFrame, DataFrame)
        Counts of each run, a row an interval [index: its end, s], a column an event, and the share of it in which they
        were counted (0–1), NaN where that is not known.
    processor : str, optional
        As :func:`cmlib.io.events.processor_of` names it.
    modifier : str, default ""
        With which events were counted, such as ``u``, and are to be again.
    whole_runs : bool, default False
        Whether a row is a run and not an interval of one. How long it took is known if ``duration_time`` is counted.
    core : str, default ""
        PMU of the one kind of core whose counts these are, where the processor has several, such as ``cpu_atom``.
    notes : sequence of str, default ()
        Of the recording, as they were made when it was imported.
    printed : dict of str to float, optional
        What the recording tool itself printed, as :func:`cmlib.io.perf.printed` reads it.
    metric_group : str, default ""
        By which the recording machine's perf computes level 1, such as ``TopdownL1``: what would decide it is asked
        for by that.
    command : str, default ""
        That was recorded: it may tell what runs the program, by which it is advised.

    Returns
    -------
    dict
        What ``cmlib summarize --json`` prints: see `docs/summary.md`.
    """
    hidden = [zeros_without_turn(counts, running) for counts, running in runs]
    runs = [(counts.mask(zeros), running) for (counts, running), zeros in zip(runs, hidden, strict=True)]
    shares = np.concatenate([running.to_numpy(float).ravel() for _, running in runs])
    costs = read_costs(processor or UNKNOWN)
    level = _levels(_each_run(runs) if whole_runs else runs, timed=not whole_runs or _knows_durations(runs))
    printed = printed or {}
    level |= {
        kind: printed[kind] for kind in (_IPC, "CPUs") if kind not in level and printed.get(kind, 0) > 0
    }
    misses = [] if whole_runs else _misses(runs, costs, level.get("GHz"))
    by_phase = phases(runs[0][0]) if len(runs) == 1 and not whole_runs else pd.DataFrame()
    by_phase, changed, phases_text = _compare_phases(by_phase, runs[0], costs, level.get("GHz"))
    n_rows = sum(len(counts) for counts, _ in runs)
    interval_ms = 1000 if whole_runs else _interval_ms(runs)
    runtime = runtime_of(command)
    account = _account(
        runs, processor, modifier, interval_ms, level.get("GHz"), printed, core, misses, metric_group, runtime
    )
    hidden = {event for zeros in hidden for event in zeros if zeros[event].any()}
    exact = bool(account) and account["how"] == "counted"
    return {
        "schema": SCHEMA,
        "name": name,
        "processor": processor,
        "core": core,
        "runtime": runtime or None,
        "runs": n_rows if whole_runs else len(runs),
        "intervals": n_rows,
        "events": len({event for counts, _ in runs for event in counts}),
        "counted": round(float(shares.mean()), 3) if np.isfinite(shares).all() else None,
        "levels": level,
        "levels_text": _sentences().levels(level, format_number),
        "phases": by_phase.to_dict("records"),
        "phases_changed": changed,
        "phases_text": phases_text,
        "limited_by": account["limits"][0] if account and account["how"] in _DECIDED else None,
        "account": account,
        "misses": misses,
        "misses_text": describe_misses(misses),
        "remarks": [*_remarks(runs, hidden, core, processor, level, printed, exact), *notes],
    }


def _knows_durations(runs):
    return all("duration_time" in counts for counts, _ in runs)


def _each_run(runs):
    """Every row as a run of its own."""
    for counts, running in runs:
        for k, length in enumerate(lengths_by_ends(counts.index)):
            yield counts.iloc[[k]].set_axis([length]), running.iloc[[k]]


def _interval_ms(runs):
    """The usual length of an interval, at which events are to be counted again."""
    steps = np.concatenate([lengths_by_ends(counts.index) for counts, _ in runs])
    return max(1, round(1000 * float(np.median(steps)))) if len(steps) else 1000


def _levels(runs, *, timed):
    """Median over the runs."""
    medians = pd.DataFrame([levels(counts, timed=timed) for counts, _ in runs]).median().astype(float)
    return medians[np.isfinite(medians)].to_dict()


def _misses(runs, costs, ghz):
    """What would be saved without misses of each cache, held to the account by the other events."""
    counted = [(counts, running) for counts, running in runs if {"instructions", "cycles"} <= set(counts)]
    shares = bounds(totals(counted), costs, ghz=ghz).shares if counted else None
    return savings_without_misses(runs, costs, ghz=ghz, shares=shares)


def _account(runs, processor, modifier, interval_ms, ghz, printed, core, misses, metric_group, runtime):
    runs = [_with_cycles(counts, running) for counts, running in runs]
    costs, counted = read_costs(processor or UNKNOWN), totals([run for run in runs if "cycles" in run[0]])
    bounded = bounds(counted, costs, ghz=ghz, printed=printed, savings=misses)
    verdict = find_bottleneck(bounded, counted.drop(index=list(bounded.doubtful)), costs)
    metrics = {"": metric_group} if metric_group else read_costs("intel" if core else costs.name).metrics
    table, pmu = read_table(costs.table or _ANY_TABLE), core or processors.core_pmu(costs.name)
    informative = "instructions" in counted.index or bounded.gap or bounded.printed
    if verdict.certainty == "open" and not informative:
        return None
    answer = {
        "how": verdict.certainty,
        "limits": list(verdict.limits),
        "categories": [_category(row) for row in _shown(bounded.shares)],
        "adds_up_to": _percent(1 + bounded.gap),
        "printed": bounded.printed,
        "disputed": {name: _percent(share) for name, share in bounded.disputed.items()},
        "stalls": {name: _percent(share) for name, share in verdict.stalls.items()},
        "contradiction": _percent(bounded.contradiction),
        "doubtful": list(bounded.doubtful),
        "decide": _command(verdict, metrics, bool(metric_group), modifier, interval_ms, pmu),
        "advice": [] if bounded.gap else _advice(bounded.shares, verdict, table, advice_for(runtime)),
    }
    return answer | {"text": _sentences().limits(answer, LOSSES)}


def _with_cycles(counts, running):
    """Counts by which rates can be told: where no cycles were counted, slots stand for them."""
    if "cycles" in counts:
        return counts, running
    slots = next((event for event in counts if spelling(event) == "slots"), None)
    if slots is None:
        return counts, running
    names = read_table("slots").takes(counts)
    return counts[names].assign(cycles=counts[slots]), running[names].assign(cycles=running[slots])


@functools.cache
def _sentences():
    return template("cmlib.topdown", "sentences.j2").module


def _advice(shares, verdict, table, of_runtime):
    """What to try against each category that may limit the program, or its part that surely is most of it.

    What is surely lost most comes first. Where it is open, nothing is advised against what may be nothing.
    """
    limits = sorted(verdict.limits, key=lambda name: shares.at[name, "low"], reverse=True)
    if verdict.certainty == "open":
        limits = [name for name in limits if shares.at[name, "low"] > _NOTHING]
        if not limits:
            return []
    texts = {category.name: category.advice for category in table.categories if category.advice} | of_runtime
    advised = []
    for name in limits or ("retired",):
        surely = max(_MOST_OF_IT * shares.at[name, "low"], _NOTHING)
        parts = shares.index[(shares["parent"] == name) & (shares["low"] > surely)]
        part = next((part for part in parts if part in texts), name)
        action = f"{texts[part][0].lower()}{texts[part][1:].rstrip('.')}"
        # With no slot lost there, that share of the cycles would go.
        at_most = _percent(shares.at[part, "high"]) if name in LOSSES else None
        entry = {"category": part, "action": action, "at_most": at_most}
        advised.append(entry | {"text": _sentences().advice(entry)})
    return advised


def describe_misses(savings, of="cycles"):
    """Say what would be saved without the misses of a cache, or why that is not known.

    Parameters
    ----------
    savings : dict
        An entry of :func:`cmlib.cost.savings_without_misses`.
    of : str, default "cycles"
        What is saved.

    Returns
    -------
    list of str
        Clauses of a sentence.
    """
    return _sentences().misses(savings, of).split("\n")[:-1]


def _command(verdict, metrics, are_listed, modifier, interval_ms, core):
    """The perf line that counts what decides it: metrics that perf lists, else events as the processor spells them.

    Metrics take all of level 1, and are asked for in general where no events are known either.
    """
    if verdict.decide and not are_listed:
        spelled = [_spelled(event, modifier, core) for event in ("instructions", "cycles", *verdict.decide)]
        return perf_stat(spelled, interval_ms)
    if verdict.certainty not in ("open", "likely") or not metrics:
        return ""
    group = next(iter(metrics.values())) if len(metrics) == 1 else "GROUP"
    counted = ["-e", "instructions,cycles", "-o", "FILE", "--", "COMMAND"]
    words = ["-I", f"{interval_ms:.0f}", "-x,", "-M", group, *counted]
    which = ", ".join(f"{name} on {where}" for where, name in metrics.items())
    return command_line("perf", "stat", *words) + f"  # GROUP: {which}" * (len(metrics) > 1)


def _spelled(event, modifier, core):
    if isinstance(event, str) and core:
        return f"{core}/{event}/{modifier}"
    if isinstance(event, str):
        return f"{event}:{modifier}" if modifier else event
    return f"{core or 'cpu'}/{event['code']},name={event['name']}/{modifier}"


def _compare_phases(rows, run, costs, ghz):
    """Phases with the account of each, events that changed most, and how the phase that differs most differs."""
    cut_by = [name for name in CUT_BY if name in rows]
    if not cut_by:
        return rows, [], ""
    longest = (rows["end"] - rows["start"]).idxmax()
    ratios = rows[cut_by] / rows.loc[longest, cut_by].astype(float)
    strength = np.log(ratios).abs().max(axis=1)
    most = strength.idxmax()
    by_phase = _totals_by_phase(rows, *_with_cycles(*run))
    shares = [
        bounds(phase, costs, ghz=ghz).shares.loc[list(LOSSES), ["low", "high"]] * 100 for phase in by_phase
    ]
    for name in LOSSES if by_phase else ():
        rows[f"{name} [%]"] = ["{:.0f}–{:.0f}".format(*share.loc[name]) for share in shares]
    if not strength[most] > np.log(_STANDS_OUT):
        return rows, [], ""
    alike = (np.log(ratios / ratios.loc[most]).abs() < strength[most] / 2).all(axis=1)
    changes = [
        (name, 100 * (ratio - 1), *map(format_number, rows.loc[[longest, most], name]))
        for name, ratio in ratios.loc[most].items()
        if abs(np.log(ratio)) > np.log(DIFFERS)
    ]
    changed = _changed_events(by_phase[most], by_phase[longest]) if by_phase else []
    accounts = [shares[k].T.to_dict() for k in (longest, most)] if by_phase else []
    text = _sentences().contrast(
        rows[alike].to_dict("records"),
        changes,
        ratios.loc[most].get("GHz", 1.0) < 1 / _STANDS_OUT,
        accounts,
        changed,
    )
    return rows, changed, text


def _totals_by_phase(rows, counts, running):
    """Totals of the intervals of each phase; none where no cycles were counted."""
    spans = rows[["start", "end"]].itertuples(index=False) if "cycles" in counts else ()
    inside = [(counts.index > start + _INSTANT) & (counts.index < end + _INSTANT) for start, end in spans]
    return [totals([(counts[within], running[within])]) for within in inside]


def _changed_events(there, usual):
    """Events whose rates a cycle differ most between two phases, by more than they may be off."""
    rates, errors = (pd.DataFrame({"there": there[key], "usual": usual[key]}) for key in ("rate", "error"))
    rates = rates[(rates > 0).all(axis=1) & (rates.max(axis=1) > _RARE)].drop(_CLOCKS, errors="ignore")
    times = rates["there"] / rates["usual"]
    surely = np.log(times).abs() > np.maximum(np.log(_CHANGED), errors.loc[times.index].sum(axis=1))
    most = np.log(times[surely]).abs().nlargest(_MOST_NAMED).index
    return [{"event": event, "times": float(times[event])} for event in most]


def format_number(value):
    """Three digits that count, with the prefix of the unit."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def _shown(shares):
    """Level 1, those of its parts whose bounds say more than their category's, and what these are parts of."""
    named = set()
    for row in shares.iloc[::-1].itertuples():
        informative = row.events and row.high < _NAMED * shares["high"].get(row.parent, 0.0)
        if not row.parent or informative or row.low > _NOTHING or row.Index in named:
            named |= {row.Index, row.parent}
    return _in_order([row for row in shares.itertuples() if row.Index in named])


def _in_order(rows, parent=""):
    """Each category before its parts."""
    for row in rows:
        if row.parent == parent:
            yield row
            yield from _in_order(rows, row.Index)


def _category(row):
    entry = {"name": row.Index, "parent": row.parent, "low": _percent(row.low), "high": _percent(row.high)}
    return entry | {"events": list(row.events)}


def _remarks(runs, hidden, core, processor, level, printed, exact):
    untold = any(np.isnan(running.to_numpy(float)).any() for _, running in runs)
    shares = [running.mean(skipna=False) for _, running in runs]
    thin = sorted({event for share in shares for event in share.index[share < _THIN]})
    ipc, printed_ipc = level.get(_IPC, 0.0), printed.get(_IPC, 0.0)
    differs = ipc and printed_ipc and not 1 / _STANDS_OUT < ipc / printed_ipc < _STANDS_OUT
    ipcs = (printed_ipc, ipc) if differs else ()
    unknown_costs = core and not processor and not exact
    kinds = {event: read_costs().kind(event) for event in runs[0][0]} if not (processor or exact) else {}
    stalls = [event for event, kind in kinds.items() if kind in _GENERIC_STALLS]
    others = _others_table(runs, processor)
    text = _sentences().remarks(
        core, unknown_costs, sorted(hidden), untold, 100 * _THIN, thin, ipcs, stalls, processor, others
    )
    return text.split("\n")[:-1]


def _others_table(runs, processor):
    """The processor whose account was counted, where it is another than the one that is named."""
    counted = [run for run in runs if "cycles" in run[0]]
    if processor not in tables() or not counted:
        return ""
    rates = totals(counted)["rate"]
    table = choose_table(rates.index, processor, rates)
    return table.name if table and table.name != processor and table.name in known_costs() else ""


def _percent(share):
    return round(100 * float(share), 2)
