"""Summarize what limits a recorded program: rates and clock, bounded shares of the slots, and the next command to run.

:func:`summarize` takes the counts of a program's runs, DataFrames with a row an interval, and gives a dict. A slot
is a place for one operation that the processor can begin in a cycle; the limit is the category of lost slots (front
end, back end, bad speculation) that is the largest. What the counts do not tell is None; there must be a run, which
is not checked.
"""

import numpy as np
import pandas as pd

from cmlib import processors
from cmlib.intervals import lengths_by_ends, zeros_without_turn
from cmlib.shell import command_line, perf_stat
from cmlib.templates import template
from cmlib.topdown.bounded_account import LOSSES, bounds
from cmlib.topdown.category_tables import read_table, tables
from cmlib.topdown.costs import UNKNOWN, known_costs, read_costs
from cmlib.topdown.implausible import IPC, implausible
from cmlib.topdown.run_levels import CUT_BY, DIFFERS, counts_besides, levels_of_runs, phases, totals
from cmlib.topdown.runtimes import advice_for, runtime_of
from cmlib.topdown.table_choice import choose_table, slots_as_cycles
from cmlib.topdown.verdict import find_bottleneck

SCHEMA = 1
_SENTENCES = template("cmlib.topdown", "sentences.j2").module  # macros that turn numbers into sentences
_THIN = 0.05  # running share below which a remark says that the event's total is not to be trusted
_ALL = 0.995  # running share from which an event was counted all the time
_NOTHING = 0.005  # lower bound [share of the slots] up to which a category may be nothing
_MOST_OF_IT = 0.5  # advice is on the parts of a category if together they surely are this share of it
_ACTED_ON = {"bad speculation": "mispredicted branches"}  # part that the advice on a category is on
_NEAR = 2 / 3  # advice is on every loss that may be so large against the largest one
_ANY_TABLE = "amd_zen5"  # table whose advice on level 1 is taken for processors without a table
_DECIDED = ("counted", "decided", "likely")  # certainties of a verdict that name one limit
# What tells how much of the back end waits for loads, by processor or vendor; "" where it is not known.
_LEVEL_2 = {"intel": "perf stat -M TopdownL2"} | dict.fromkeys(
    ("amd_zen4", "amd_zen5"), "perf stat -M PipelineL2"
)
_LEVEL_2[""] = "perf stat -M TopdownL2 on Intel, -M PipelineL2 on AMD Zen 4 and later"
# Kinds of perf's generic stall events, which count different things on different processors.
_GENERIC_STALLS = ("front-end stall", "back-end stall")
_NAMED = 0.9  # a part is shown if its upper bound is below this share of its category's
_SAME = 0.01  # share of the slots up to which an upper bound is that of all lost slots
_SLOWEST = 1e-3  # clock [GHz] below which cycles and task-clock are of different things
_MATTERS = 5  # saving without misses [% of the cycles] from which on there is advice against them
_STANDS_OUT = 1.1  # ratio between phases of clock, speed or CPUs used above which a sentence compares them
_IN_KERNEL = ("switches", "migrations")  # 0 where only user mode is counted
# An event is named if its rates in two phases have at least this ratio, and how many are at most.
_CHANGED, _MOST_NAMED = 2.0, 3
_RARE = 1e-6  # an event is named only if it is more frequent in one of the phases [events per cycle]
_INSTANT = 1e-6  # tolerance of phases' borders [s]
_CLOCKS = ["task-clock", "cpu-clock", "duration_time", "instructions"]  # not named: the levels have them


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
    written=None,
):
    """Summarize a recording: rates and clock, bounds of the slots by category, and the command that would decide.

    Parameters
    ----------
    name : str
        Name of the program.
    runs : sequence of (DataFrame, DataFrame)
        Of each run its counts, a row an interval [index: its end, s], a column an event, and their running shares
        (0–1), NaN where that is not known.
    processor : str, optional
        Name as :func:`cmlib.io.events.processor_of` gives it. Default: not known.
    modifier : str, default ""
        Modifier of the recorded events, such as ``u``; the command that is proposed has it too.
    whole_runs : bool, default False
        True if a row is a whole run and not an interval of one. How long it took is known if ``duration_time`` is
        counted.
    core : str, default ""
        PMU of the one kind of core whose counts these are, where the processor has several, such as ``cpu_atom``.
    notes : sequence of str, default ()
        Sentences on the recording that its import wrote; added to the remarks.
    printed : dict of str to float, optional
        Shares and IPC that the recording tool itself printed, as :func:`cmlib.io.perf.printed` reads them.
    metric_group : str, default ""
        Metric group with which the recording machine's perf computes level 1, such as ``TopdownL1``; the command that
        is proposed uses it.
    command : str, default ""
        Command line that was recorded; advice is for the language runtime that it starts, if there is any.
    written : dict of str to str, optional
        Events as they stand in the file, by column, where these tell kinds of core or modes.

    Returns
    -------
    dict
        What ``cmlib summarize --json`` prints; `docs/summary.md` has all keys. Among them are ``levels`` (dict of rates
        and clock), ``account`` (dict of ``categories`` with bounds ``low`` and ``high`` [% of the slots], ``how`` sure
        the limit is, ``advice``, ``decide``: the next command, and more; None if the events say nothing of the slots),
        ``limited_by`` (name of the limiting category, or None if that is open), ``phases`` and ``misses`` (lists of
        dicts) and ``remarks`` (list of sentences).
    """
    hidden = [zeros_without_turn(counts, running) for counts, running in runs]
    runs = [(counts.mask(zeros), running) for (counts, running), zeros in zip(runs, hidden, strict=True)]
    named = {event for counts, _ in runs for event in counts}
    counted = [counts.dropna(axis=1, how="all") for counts, _ in runs]
    runs = [(counts, running[counts.columns]) for counts, (_, running) in zip(counted, runs, strict=True)]
    known = not any(running.isna().any(axis=None) for _, running in runs)
    shares = pd.concat([running for _, running in runs]).mean()
    turns = shares[shares < _ALL]
    costs = read_costs(processor or UNKNOWN)
    odd = implausible(runs, printed or {}, costs)
    runs = [tuple(part.drop(columns=odd, errors="ignore") for part in run) for run in runs]
    printed = {name: value for name, value in (printed or {}).items() if name not in odd}
    level, ratios, counts = levels_of_runs(runs, printed, written or {}, whole_runs=whole_runs)
    is_user = "u" in modifier and "k" not in modifier and "kernel cycles" not in level
    ghz = None if is_user or level.get("GHz", 1.0) < _SLOWEST else level.get("GHz")
    misses = [] if whole_runs else _misses(runs, costs, ghz)
    by_phase = phases(runs[0][0]) if len(runs) == 1 and not whole_runs else pd.DataFrame()
    by_phase = by_phase.drop(columns=["GHz"] * is_user, errors="ignore")
    by_phase, changed, phases_text = _compare_phases(by_phase, runs[0], costs, ghz)
    n_rows = sum(len(counts) for counts, _ in runs)
    interval_ms = 1000 if whole_runs else _interval_ms(runs)
    runtime = runtime_of(command)
    # Elsewhere such events took turns all over the program. No event that was counted was so for 0 of the time.
    hardly_ran = bool(core and 0 < turns.mean() < _THIN)
    settings = processor, modifier, interval_ms, ghz, printed, core, misses, metric_group, runtime
    account = None if hardly_ran else _account(runs, *settings)
    level |= _clock(level)
    is_bounded = bool(account or {*printed, *odd} & {*LOSSES, "retired"})
    counts = counts_besides(counts, level, ratios, is_bounded=is_bounded)
    dropped = [kind for kind in _IN_KERNEL if is_user and not level.get(kind)]
    dropped += ["GHz"] if is_user or level.get("GHz", 1.0) < _SLOWEST else []
    level = {kind: value for kind, value in level.items() if kind not in dropped}
    hidden = {event for zeros in hidden for event in zeros if zeros[event].any()}
    uncounted = named.difference(hidden, *counted)
    remarks = _remarks(runs, hidden, uncounted, core, is_user, processor, level, printed, account, odd)
    return {
        "schema": SCHEMA,
        "name": name,
        "processor": processor,
        "processors_alike": [],
        "slots_a_cycle": int(costs.width[0]) if processor and costs.width[0] == costs.width[1] else None,
        "core": core,
        "runtime": runtime or None,
        "runs": n_rows if whole_runs else len(runs),
        "intervals": n_rows,
        "events": len(set().union(*counted)),
        "took_turns": len(turns) if known else None,
        "counted": round(float(turns.mean()), 3) if len(turns) and known else None,
        "levels": level,
        "levels_text": _SENTENCES.levels(level, format_number),
        "counts": counts,
        "counts_text": _SENTENCES.counts(counts, level.get("instructions"), format_number),
        "miss_ratios": ratios,
        "miss_ratios_text": _SENTENCES.miss_ratios(ratios, format_number) if ratios else "",
        "phases": by_phase.to_dict("records"),
        "phases_changed": changed,
        "phases_text": phases_text,
        "limited_by": account["limits"][0] if account and account["how"] in _DECIDED else None,
        "account": account,
        "conclusive": not (odd or hardly_ran),
        "untold_text": _SENTENCES.untold(hardly_ran) if account is None and (odd or hardly_ran) else "",
        "misses": misses,
        "misses_text": describe_misses(misses),
        "remarks": [*remarks, *notes],
    }


def _interval_ms(runs):
    """Median length of all intervals, for the command that is proposed [ms, at least 1]."""
    steps = np.concatenate([lengths_by_ends(counts.index) for counts, _ in runs])
    return max(1, round(1000 * float(np.median(steps)))) if len(steps) else 1000


def _clock(level):
    """Dict of GHz where the cycles a second of a CPU follow from the other levels, and are not there."""
    parts = [level.get(name, 0) for name in ("instructions a second", IPC, "CPUs")]
    return {"GHz": parts[0] / parts[1] / parts[2] / 1e9} if all(parts) and "GHz" not in level else {}


def _misses(runs, costs, ghz):
    """Cycles that would be saved without the misses of each cache, within the bounds that the other events set.

    A list of dicts, as :func:`cmlib.cost.savings_without_misses` returns it.
    """
    from cmlib.cost import savings_without_misses  # not needed for totals, and slow to import

    counted = [(counts, running) for counts, running in runs if {"instructions", "cycles"} <= set(counts)]
    shares = bounds(totals(counted), costs, ghz=ghz).shares if counted else None
    return savings_without_misses(runs, costs, ghz=ghz, shares=shares)


def _account(runs, processor, modifier, interval_ms, ghz, printed, core, misses, metric_group, runtime):
    """The part ``account`` of the summary as a dict; None if the events say nothing of the slots."""
    runs = [slots_as_cycles(counts, running) for counts, running in runs]
    costs, counted = read_costs(processor or UNKNOWN), totals(runs)
    bounded = bounds(counted, costs, ghz=ghz, printed=printed, savings=misses)
    verdict = find_bottleneck(bounded, counted.drop(index=list(bounded.doubtful)), costs)
    metrics = {"": metric_group} if metric_group else read_costs("intel" if core else costs.name).metrics
    table, pmu = read_table(costs.table or _ANY_TABLE), core or processors.core_pmu(costs.name)
    texts = _advice_texts(table, advice_for(runtime), processor or "intel" * bool(core))
    advice = _advice(bounded.shares, verdict, texts, misses)
    informative = "instructions" in counted.index or bounded.gap or bounded.printed or bounded.disputed
    if verdict.certainty == "open" and not informative:
        return None
    answer = {
        "how": verdict.certainty,
        "limits": list(verdict.limits),
        "categories": [_category(row) for row in _shown(bounded.shares)],
        "adds_up_to": _percent(1 + bounded.gap),
        "printed": bounded.printed,
        "printed_adds_up_to": _percent(1 + bounded.printed_gap),
        "disputed": {name: _percent(share) for name, share in bounded.disputed.items()},
        "stalls": {name: _percent(share) for name, share in verdict.stalls.items()},
        "contradiction": _percent(bounded.contradiction),
        "doubtful": list(bounded.doubtful),
        "decide": _command(verdict, metrics, bool(metric_group), modifier, interval_ms, pmu),
        "advice": [] if bounded.gap else advice,
    }
    untold = [name for name in LOSSES if not _is_bounded(bounded.shares, name)]
    text = _SENTENCES.limits(answer, LOSSES, untold if len(untold) > 1 else [], printed)
    of_tool = {name: _percent(printed[name]) for name in (*LOSSES, "retired") if name in printed}
    return answer | {"text": text, "disputed_text": _SENTENCES.disputed(answer, of_tool)}


def _is_bounded(shares, name):
    """Whether the counts tell more of a lost category than that it may be nothing, or all that did not retire."""
    least, most = shares.loc[name, ["low", "high"]]
    return least > _NOTHING or most < 1 - shares.at["retired", "low"] - _SAME


def _advice_texts(table, of_runtime, processor):
    """Advice by category, a runtime's or the table's; on the back end with what splits it on a `processor` (name)."""
    texts = {category.name: category.advice for category in table.categories if category.advice} | of_runtime
    command = _LEVEL_2.get(processor, _LEVEL_2.get(processor.partition("_")[0]))
    return texts | ({"back end": f"{texts['back end'].rstrip('.')} ({command})"} if command else {})


def _advice(shares, verdict, texts, misses):
    """What to try against each of the largest losses, the surest first: dicts of category, action, at_most and text.

    A loss is a category, or each of its parts, if these surely are most of it. Losses that may be nothing, but for the
    one that limits the program, or are surely small against the largest one, are left out; if none remains, advice is
    on the `misses` whose absence would save most. `texts` are those of :func:`_advice_texts`.
    """
    if not verdict.limits:
        return [_advised(texts, "retired")]
    losses = {}
    for name in LOSSES:
        parts = shares[(shares["parent"] == name) & shares.index.isin(list(texts))]
        split = parts["low"].sum() > max(_MOST_OF_IT * shares.at[name, "low"], _NOTHING)
        losses |= dict.fromkeys(parts.index if split else [name], name)
    limit = verdict.limits[:1] if verdict.certainty in ("decided", "likely") else ()
    ranked = shares.loc[[*losses], ["low", "high"]].assign(limit=[of in limit for of in losses.values()])
    ranked = ranked.sort_values(["limit", "low"], ascending=False)
    least = max(_NEAR * ranked["low"].max(), _NOTHING)
    chosen = ranked[(ranked["limit"] | ranked["low"].gt(_NOTHING)) & ranked["high"].gt(least)]
    if chosen.empty:
        saved = [row for row in misses if (row["percent"] or 0) >= _MATTERS and not row["overstates"]]
        category = "memory" if "memory" in texts else "back end"
        largest = sorted(saved, key=lambda row: row["percent"])[-1:]
        return [_advised(texts, category, row["high"], saved=row) for row in largest]
    # If none of these slots were lost, at most that share of the cycles would be saved.
    most = {name: min(shares.loc[[name, _ACTED_ON.get(name, name)], "high"]) for name in chosen.index}
    low, high = chosen["low"], chosen["high"]
    bounded = high.lt(1 - shares.at["retired", "low"] - _SAME) | low.gt(_NAMED * high)
    at_most = {name: _percent(most[name]) if bounded[name] else None for name in chosen.index}
    possible = verdict.limits if verdict.certainty == "open" else ()
    others, last = sorted({*possible} - {losses[name] for name in at_most}), chosen.index[-1]
    return [_advised(texts, name, most, others * (name == last)) for name, most in at_most.items()]


def _advised(texts, category, at_most=None, others=(), saved=None):
    """An entry of :func:`_advice`, with its text: others that may be as large, and what misses `saved` are named."""
    action = f"{texts[category][0].lower()}{texts[category][1:].rstrip('.')}"
    entry = {"category": category, "action": action, "at_most": at_most}
    return entry | {"text": _SENTENCES.advice(entry, others, saved)}


def describe_misses(savings, of="cycles"):
    """Say what would be saved without the misses of each cache, or why that is not known.

    Parameters
    ----------
    savings : list of dict
        An entry for each cache, as :func:`cmlib.cost.savings_without_misses` describes it: without, percent,
        low, high, reason and more.
    of : str, default "cycles"
        Noun for what is saved.

    Returns
    -------
    list of str
        Clauses: one for each estimate, then one for all caches that share a reason why there is none.
    """
    return _SENTENCES.misses(savings, of).split("\n")[:-1]


def _command(verdict, metrics, are_listed, modifier, interval_ms, core):
    """The command line of perf whose recording would decide what limits the program; "" if there is nothing to decide.

    It names the events that `verdict` lacks; or a metric group, from which perf computes level 1, if `are_listed` (the
    recording machine's perf has it) or if no deciding events are known.
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
    """An event as ``perf stat -e`` takes it: a name, or a dict of ``code`` and ``name`` where perf lacks the name."""
    if isinstance(event, str) and core:
        return f"{core}/{event}/{modifier}"
    if isinstance(event, str):
        return f"{event}:{modifier}" if modifier else event
    return f"{core or 'cpu'}/{event['code']},name={event['name']}/{modifier}"


def _compare_phases(rows, run, costs, ghz):
    """Compare phases: (phases with bounds of their lost slots, events that changed most, sentences on the difference).

    `rows` are the phases of the only run, a row each. The phase that differs most is compared with the longest one. If
    the run began with it and never returned to it, the longest one is compared with it, so that the text follows the
    order of time. The list of events and the text are empty if no phase stands out.
    """
    cut_by = [name for name in CUT_BY if name in rows]
    if not cut_by:
        return rows, [], ""
    longest = (rows["end"] - rows["start"]).idxmax()
    ratios = rows[cut_by] / rows.loc[longest, cut_by].astype(float)
    strength = np.log(ratios).abs().max(axis=1)
    most = strength.idxmax()
    by_phase = _totals_by_phase(rows, *slots_as_cycles(*run))
    all_shares = [bounds(phase, costs, ghz=ghz).shares[["low", "high"]] for phase in by_phase]
    shares = [100 * share.loc[list(LOSSES)] for share in all_shares]
    for name in LOSSES:
        if any(_is_bounded(share, name) for share in all_shares):
            rows[f"{name} [%]"] = ["{:.0f}–{:.0f}".format(*share.loc[name]) for share in shares]
    if not strength[most] > np.log(_STANDS_OUT):
        return rows, [], ""
    similar = (np.log(ratios / ratios.loc[most]).abs() < strength[most] / 2).all(axis=1)
    described, reference = rows[similar], rows.loc[[longest]]
    described_phase, reference_phase = most, longest
    if similar.iloc[0] and described["end"].max() <= rows.at[longest, "start"] + _INSTANT:
        described, reference = reference, described
        described_phase, reference_phase = longest, most
    change = rows.loc[described_phase, cut_by].astype(float) / rows.loc[reference_phase, cut_by].astype(float)
    changes = [
        (name, 100 * (ratio - 1), *map(format_number, rows.loc[[reference_phase, described_phase], name]))
        for name, ratio in change.items()
        if abs(np.log(ratio)) > np.log(DIFFERS)
    ]
    changed = _changed_events(by_phase[described_phase], by_phase[reference_phase]) if by_phase else []
    accounts = [shares[k].T.to_dict() for k in (reference_phase, described_phase)] if by_phase else []
    slower = change.get("GHz", 1.0) < 1 / _STANDS_OUT
    spans = [part[["start", "end"]].to_dict("records") for part in (described, reference)]
    return rows, changed, _SENTENCES.contrast(*spans, changes, slower, accounts, changed)


def _totals_by_phase(rows, counts, running):
    """List of the totals over each phase's intervals, a frame each; empty if no cycles were counted."""
    spans = rows[["start", "end"]].itertuples(index=False) if "cycles" in counts else ()
    inside = [(counts.index > start + _INSTANT) & (counts.index < end + _INSTANT) for start, end in spans]
    return [totals([(counts[within], running[within])]) for within in inside]


def _changed_events(phase, reference):
    """Events whose rates per cycle differ most between two phases, by more than their errors: dicts of event, times."""
    rates, errors = (pd.DataFrame({"phase": phase[key], "of": reference[key]}) for key in ("rate", "error"))
    rates = rates[(rates > 0).all(axis=1) & (rates.max(axis=1) > _RARE)].drop(_CLOCKS, errors="ignore")
    times = rates["phase"] / rates["of"]
    significant = np.log(times).abs() > np.maximum(np.log(_CHANGED), errors.loc[times.index].sum(axis=1))
    most = np.log(times[significant]).abs().nlargest(_MOST_NAMED).index
    return [{"event": event, "times": float(times[event])} for event in most]


def format_number(value):
    """A number as text, three significant digits and the prefix M, G or T: ``1.23 G``, ``45,600``.

    `value` is 0 or more.
    """
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def _shown(shares):
    """Rows of `shares` to be shown, parents first: level 1, parts whose bounds are narrower, and the parts' parents."""
    named = set()
    for row in shares.iloc[::-1].itertuples():
        informative = row.events and row.high < _NAMED * shares["high"].get(row.parent, 0.0)
        if not row.parent or informative or row.low > _NOTHING or row.Index in named:
            named |= {row.Index, row.parent}
    return _in_order([row for row in shares.itertuples() if row.Index in named])


def _in_order(rows, parent=""):
    """Yield the rows below `parent`, each category before its parts."""
    for row in rows:
        if row.parent == parent:
            yield row
            yield from _in_order(rows, row.Index)


def _category(row):
    """A row of the bounds as a dict, bounds in percent."""
    entry = {"name": row.Index, "parent": row.parent, "low": _percent(row.low), "high": _percent(row.high)}
    return entry | {"events": list(row.events)}


def _remarks(runs, hidden, uncounted, core, is_user, processor, level, printed, account, odd):
    """Sentences on what makes the recording hard to trust: events hardly counted, shares not known, and so on."""
    untold = any(np.isnan(running.to_numpy(float)).any() for _, running in runs)
    shares = [running.mean(skipna=False) for _, running in runs]
    exact = bool(account) and account["how"] == "counted"
    thin = sorted({event for share in shares for event in share.index[share < _THIN]})
    rows = account["categories"] if account else ()
    used = {event for row in rows for event in row["events"]} or thin  # those of printed shares name none
    ipc, printed_ipc = level.get(IPC, 0.0), printed.get(IPC, 0.0)
    differs = ipc and printed_ipc and not 1 / _STANDS_OUT < ipc / printed_ipc < _STANDS_OUT
    ipcs = (printed_ipc, ipc) if differs else ()
    unknown_costs = core and not processor and account and not exact
    rates = totals(runs)["rate"] if not exact else {}
    stalls = {name: 100 * rate for name, rate in rates.items() if read_costs().kind(name) in _GENERIC_STALLS}
    lacking = sorted(hidden), sorted(uncounted), untold, 100 * _THIN, thin, not {*thin} & {*used}
    others, why = _others_table(runs, processor), list(dict.fromkeys(odd.values()))
    text = _SENTENCES.remarks(
        core, is_user, unknown_costs, *lacking, ipcs, stalls, processor, others, why, level
    )
    return text.split("\n")[:-1]


def _others_table(runs, processor):
    """Name of the processor whose table fits the counts, if it is another one than `processor`, or else ""."""
    if processor not in tables():
        return ""
    rates = totals(runs)["rate"]
    table = choose_table(rates.index, processor, rates)
    return table.name if table and table.name != processor and table.name in known_costs() else ""


def _percent(share):
    """A share as percent, rounded to two decimals."""
    return round(100 * float(share), 2)
