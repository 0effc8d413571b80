"""What a recording says in a few seconds: levels, the account with bounds, and what would decide it."""

import math
import re

import numpy as np
import pandas as pd

from cmlib.cost import without_misses
from cmlib.topdown.bounds import LOSSES, bounds
from cmlib.topdown.costs import UNKNOWN, known_programs, read_costs
from cmlib.topdown.levels import CUT_BY, DIFFERS, levels, phases, totals
from cmlib.topdown.tables import read_table
from cmlib.topdown.verdict import judge

SCHEMA = 1
_THIN = 0.05  # share of the time below which an event is counted too thinly for its total to be trusted
_NOTHING = 0.005  # share of the slots that is shown as none
_MOST_OF_IT = 0.5  # share of a category's lower bound from which on one of its parts is what to work on
_ANY_TABLE = "amd_zen5"  # whose advice on level 1 is of any processor
_NAMED = 0.9  # share of its category's upper bound from which on a part's says nothing


_STANDS_OUT = 1.1  # ratio of a level between phases from which on a sentence tells of it
_PHASE_LEVELS = {"GHz": "clock [GHz]", "CPUs": "CPUs utilized", "instructions a cycle": "IPC"}
_LEVELS = {
    "seconds": "{} s",
    "instructions": "{} instructions",
    "instructions a second": "{} a second",
    "instructions a cycle": "IPC {}",
    "GHz": "{} GHz",
    "CPUs": "{} CPUs utilized",
    "system calls": "{} system calls a second",
    "switches": "{} switches a second",
    "migrations": "{} migrations a second",
    "faults": "{} faults a second",
    "interrupts": "{} interrupts a second",
}


def summarize(name, runs, *, processor=None, modifier="", whole_runs=False, core="", notes=()):
    """Levels, the account with bounds, and what would decide it, as plain values.

    Parameters
    ----------
    name : str
        Of the program. Among the programs whose account is known, one of this name is left out.
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

    Returns
    -------
    dict
        What ``cmlib summarize --json`` prints: see `docs/summary.md`.
    """
    hidden = [_without_turn(counts, running) for counts, running in runs]
    runs = [(counts.mask(zeros), running) for (counts, running), zeros in zip(runs, hidden, strict=True)]
    shares = np.concatenate([running.to_numpy(float).ravel() for _, running in runs])
    by_phase = phases(runs[0][0]) if len(runs) == 1 and not whole_runs else pd.DataFrame()
    costs = read_costs(processor or UNKNOWN)
    level = _levels(_each_run(runs) if whole_runs else runs, timed=not whole_runs or _knows_durations(runs))
    misses = [] if whole_runs else without_misses(runs, costs, ghz=level.get("GHz"))
    n_rows = sum(len(counts) for counts, _ in runs)
    remarks = _remarks(runs, {event for zeros in hidden for event in zeros if zeros[event].any()})
    return {
        "schema": SCHEMA,
        "name": name,
        "processor": processor,
        "core": core,
        "runs": n_rows if whole_runs else len(runs),
        "intervals": n_rows,
        "events": len({event for counts, _ in runs for event in counts}),
        "counted": round(float(shares.mean()), 3) if np.isfinite(shares).all() else None,
        "levels": level,
        "levels_text": describe_levels(level),
        "phases": by_phase.to_dict("records"),
        "phases_text": _phases_text(by_phase),
        "account": _account(
            name, runs, processor, modifier, 1000 if whole_runs else _interval_ms(runs), level.get("GHz")
        ),
        "misses": misses,
        "misses_text": describe_misses(misses),
        "remarks": [*_of_core(core, processor), *remarks, *notes],
    }


def _knows_durations(runs):
    return all("duration_time" in counts for counts, _ in runs)


def _each_run(runs):
    """Every row as a run of its own."""
    for counts, running in runs:
        for k, length in enumerate(np.diff(counts.index, prepend=0.0)):
            yield counts.iloc[[k]].set_axis([length]), running.iloc[[k]]


def _without_turn(counts, running):
    """Zeros that were not counted, where shares are not known."""
    unknown = running.isna()
    if not unknown.to_numpy().any():
        return unknown
    from cmlib.clean import zeros_without_turn  # takes Numba along, which takes a second to load

    return zeros_without_turn(counts) & unknown


def _interval_ms(runs):
    """The usual length of an interval, at which events are to be counted again."""
    steps = np.concatenate([np.diff(counts.index, prepend=0.0) for counts, _ in runs])
    return max(1, round(1000 * float(np.median(steps)))) if len(steps) else 1000


def _levels(runs, *, timed):
    """Median over the runs."""
    each = [levels(counts, timed=timed) for counts, _ in runs]
    names = dict.fromkeys(level for found in each for level in found)
    medians = {name: float(np.median([found[name] for found in each if name in found])) for name in names}
    return {name: value for name, value in medians.items() if math.isfinite(value)}


def _account(name, runs, processor, modifier, interval_ms, ghz):
    runs = [(counts, running) for counts, running in runs if "cycles" in counts]
    if not any("instructions" in counts for counts, _ in runs):
        return None
    costs, found = read_costs(processor or UNKNOWN), totals(runs)
    bounded = bounds(found, costs, ghz=ghz)
    known = known_programs(costs.name).drop(columns=name, errors="ignore")
    verdict = judge(bounded, found, costs, known=known)
    return {
        "how": verdict.how,
        "limits": list(verdict.limits),
        "text": describe_limits(bounded, verdict),
        "categories": [_category(row, verdict) for row in _shown(bounded.shares)],
        "known_programs": list(verdict.known),
        "contradiction": _percent(bounded.contradiction),
        "doubtful": list(bounded.doubtful),
        "decide": _command(verdict.decide, modifier, interval_ms) if verdict.decide else "",
        "advice": _advice(bounded.shares, verdict, read_table(costs.table or _ANY_TABLE)),
    }


def _advice(shares, verdict, table):
    """What to try against each category that may limit the program, or its part that surely is most of it.

    Where it may be any of all, nothing is advised but to record what decides it.
    """
    if len(verdict.limits) == len(LOSSES):
        return []
    texts = {one.name: one.advice for one in table.categories if one.advice}
    advised = []
    for name in verdict.limits or ("retired",):
        within = shares.loc[
            (shares["parent"] == name) & (shares["low"] > _MOST_OF_IT * shares.at[name, "low"])
        ]
        part = next(
            (part for part in within.index if part in texts and within.at[part, "low"] > _NOTHING), name
        )
        saving = _saving(name, part, shares, verdict)
        action = f"{texts[part][0].lower()}{texts[part][1:].rstrip('.')}"
        text = f"{part}: {action}{_saving_text(**saving)}"
        advised.append({"category": part, "action": action, **saving, "text": text})
    return advised


def _saving(name, part, shares, verdict):
    """The most that it can bring: with no slot lost there, that share of the cycles would go."""
    if name not in LOSSES:
        return {"at_most": None}
    usual = verdict.usual.loc[name] if part == name in verdict.usual.index else None
    ends = {} if usual is None else {f"usual_{end}": _percent(usual[end]) for end in ("low", "high")}
    return {"at_most": _percent(shares.at[part, "high"]), **ends}


def _saving_text(at_most, usual_low=None, usual_high=None):
    if at_most is None:
        return ""
    usual = "" if usual_low is None else f", usually {usual_low:.0f}–{usual_high:.0f} %"
    return f" (brings at most {at_most:.0f} % fewer cycles{usual})"


def describe_misses(found, of="cycles"):
    """What would be saved without some misses, or why that is not known: clauses."""
    unknown = {}
    for row in found:
        unknown.setdefault(row["reason"], []).append(row["without"].removesuffix(" misses"))
    sentences = [_saved(row, of) for row in found if not row["reason"]]
    return sentences + [
        f"Without {_joined(names, ' or ')} misses: not known, as {reason}"
        for reason, names in unknown.items()
        if reason
    ]


def _saved(row, of):
    if not row["percent"] and row["high"] is not None:
        return f"Without {row['without']}: at most {max(row['high'], 0.1):.1f} % fewer {of}"
    ends = "" if row["low"] is None else f" ({row['low']:.0f} to {row['high']:.0f})"
    return f"Without {row['without']}: {row['percent']:.0f} %{ends} fewer {of}"


def _command(decide, modifier, interval_ms):
    """The perf line that counts some events together with instructions and cycles, in the processor's own spelling."""
    spelled = [_spelled(event, modifier) for event in ("instructions", "cycles", *decide)]
    return f"{perf_line(spelled, interval_ms)} -o FILE -- COMMAND"


def perf_line(spelled, interval_ms):
    """How `perf stat` is told some events: two beside all others, and what goes with Intel's slots in one group."""
    first, second, *others = spelled
    together = [f"{{{','.join(others)}}}"] if any(re.match("slots\\b", event) for event in others) else others
    listed = " ".join(f"-e '{event}'" for event in (f"{first},{second}", *together))
    return f"perf stat -I {interval_ms:.0f} -x, {listed}"


def _spelled(event, modifier):
    if isinstance(event, str):
        return f"{event}:{modifier}" if modifier else event
    return f"cpu/{event['code']},name={event['name']}/{modifier}"


def describe_levels(levels):
    """Levels in a line."""
    return " · ".join(_LEVELS[name].format(format_number(value)) for name, value in levels.items())


def _phases_text(rows):
    """How the phase that differs most differs from the longest, and when phases like it are: one sentence, if any."""
    cut_by = [name for name in CUT_BY if name in rows]
    if not cut_by:
        return ""
    lasts = rows["end"] - rows["start"]
    usual = rows.loc[lasts.idxmax()]
    ratios = rows[cut_by] / usual[cut_by].astype(float)
    strength = np.log(ratios).abs().max(axis=1)
    most = strength.idxmax()
    if not strength[most] > np.log(_STANDS_OUT):
        return ""
    alike = (np.log(ratios / ratios.loc[most]).abs() < strength[most] / 2).all(axis=1)
    spans = " and ".join(f"{row.start:.4g} to {row.end:.4g} s" for row in rows[alike].itertuples())
    changes = ", ".join(
        f"{_PHASE_LEVELS.get(name, name)} {100 * (ratio - 1):+.0f} % "
        f"({format_number(usual[name])} to {format_number(rows.at[most, name])})"
        for name, ratio in ratios.loc[most].items()
        if abs(np.log(ratio)) > np.log(DIFFERS)
    )
    clock = ratios.loc[most].get("GHz", 1.0) < 1 / _STANDS_OUT
    reason = (
        "; a lower clock is the work of governor, power limit or heat, not of the program" if clock else ""
    )
    return f"From {spans}, against the longest phase: {changes}{reason}"


def format_number(value):
    """Three digits that count, with the prefix of the unit."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def describe_limits(bounded, verdict):
    """What limits a program, in one sentence of Markdown."""
    shares = bounded.shares
    if verdict.how == "little lost":
        return f"**Little is lost**: at least {_whole(shares.at['retired', 'low'])} % of all slots retired an op."
    if verdict.how == "counted":
        lost = shares.loc[list(LOSSES)].assign(mid=lambda frame: (frame["low"] + frame["high"]) / 2)
        named = [
            f"{_whole(row.mid)} % to {_the(row.Index)}"
            for row in lost.sort_values("mid").iloc[::-1].itertuples()
        ]
        alike = " about as much" if len(verdict.limits) > 1 else ""
        lost = ", ".join(named).replace(" to ", " are lost to ", 1)
        return f"**{_opening(_joined(verdict.limits, ' and '))}{alike}**: of all slots, {lost}."
    lost = shares.loc[list(LOSSES)].sort_values(["low", "high"], ascending=False)
    ranges = ", ".join(f"{_range(row)} to {_the(row.Index)}" for row in lost.itertuples())
    ranges = f"of all slots, {ranges.replace(' to ', ' are lost to ', 1)}"
    limits = _joined([_the(name) for name in verdict.limits], " or ")
    if verdict.how == "decided":
        return f"**{_opening(limits)}**: {ranges}."
    usual = verdict.usual.loc[list(verdict.limits)] if len(verdict.usual) else verdict.usual
    named = ", ".join(f"{_range(row)} {row.Index}" for row in usual.itertuples())
    usually = f" (for such counts usually {named})" if named else ""
    if verdict.how == "likely":
        return f"**Likely {limits}**{usually}: {ranges}."
    return f"**{_opening(limits)}, not decided**{usually}: {ranges}."


def _range(row):
    if row.low < _NOTHING:
        return f"at most {_whole(row.high)} %"
    return f"{_whole(row.low)} to {_whole(row.high)} %".replace(" to ", "–")


def _opening(text):
    return text[:1].upper() + text[1:]


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


def _category(row, verdict):
    found = {"name": row.Index, "parent": row.parent, "low": _percent(row.low), "high": _percent(row.high)}
    if row.Index in verdict.usual.index:
        usual = verdict.usual.loc[row.Index]
        found |= {"usual_low": _percent(usual["low"]), "usual_high": _percent(usual["high"])}
    return found | {"events": list(row.events)}


def _of_core(core, processor):
    if not core:
        return []
    sentences = (
        f"These are the counts of one kind of core, {core}: of a program that ran on others as well perf scales them "
        "to its whole time, so that ratios hold, totals and rates a second do not."
    )
    return [
        sentences,
        *([] if processor else [f"What events cost on {core} is not known: the bounds are the widest."]),
    ]


def _remarks(runs, hidden):
    remarks = []
    if hidden:
        remarks.append(
            "Zeros that run from one event to the end of the list had no turn, and are left out: "
            f"{_joined(sorted(hidden), ' and ')}."
        )
    if any(np.isnan(running.to_numpy(float)).any() for _, running in runs):
        remarks.append("The recording does not tell for which share of the time events were counted.")
    thin = sorted(
        {event for counts, running in runs for event in counts if running[event].mean(skipna=False) < _THIN}
    )
    if thin:
        remarks.append(f"Counted for less than {_whole(_THIN)} % of the time: {', '.join(thin)}.")
    return remarks


def _the(name):
    return name if name == "bad speculation" else f"the {name}"


def _joined(names, last):
    *first, end = names
    return f"{', '.join(first)}{last}{end}" if first else end


def _percent(share):
    return round(100 * float(share), 2)


def _whole(share):
    return f"{100 * share:.0f}"
