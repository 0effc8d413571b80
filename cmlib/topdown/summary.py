"""Summarize a program: whether it computes, what has a known cost, where its slots went, and what to try first.

:func:`build_summary` takes the counts of a program's runs and returns a :class:`Summary`, from which the text of
``cmlib summarize``, the page and `answers.json` are rendered. :func:`summarize` returns it as a dict. There must be
at least one run; that is not checked. Each part of a summary has a module of its own in this package.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from cmlib.intervals import lengths_by_ends, zeros_without_turn
from cmlib.shell import recorded_words
from cmlib.templates import template
from cmlib.topdown.bounded_account import LOSSES, bounds
from cmlib.topdown.costs import UNKNOWN, read_costs
from cmlib.topdown.cycle_costs import format_number, split_cycles
from cmlib.topdown.first_answer import NOT_KNOWN, FirstAnswer, find_first_answer
from cmlib.topdown.implausible import IPC, find_impossible
from cmlib.topdown.phase_contrast import Contrast, compare_phases
from cmlib.topdown.remarks import describe_doubts
from cmlib.topdown.run_levels import counts_besides, levels_of_runs, phases, totals
from cmlib.topdown.runtimes import runtime_of
from cmlib.topdown.slot_summary import Recording, SlotSummary, percent, summarize_slots
from cmlib.topdown.utilization import Utilization, measure_utilization
from cmlib.units import unit_of

SCHEMA = 3
_SENTENCES = template("cmlib.topdown", "sentences.j2").module  # macros that turn numbers into sentences
_THIN = 0.05  # mean running share below which a kind of core hardly ran
_ALWAYS = 0.995  # running share from which an event was counted all the time
_SLOWEST = 1e-3  # clock [GHz] below which cycles and task-clock are of different things
_IN_KERNEL = ("switches", "migrations")  # 0 where only user mode is counted
_DECIDED = ("counted", "decided", "likely")  # certainties of a verdict that name one limit
_TIGHTER = "Tighter bounds: name the processor with --processor."


@dataclass(frozen=True)
class CountedRuns:
    """The runs of a program without what was not counted.

    Attributes
    ----------
    runs : list of (DataFrame, DataFrame)
        Counts and running shares of each run, without events that were never counted.
    events : set of str
        Events that were counted in at least one run.
    hidden, uncounted : set of str
        Events with zeros that had no turn on a counter; events that were not counted at all.
    taking_turns : Series
        Mean running share of each event that was not counted all the time.
    knows_shares : bool
        True if all running shares are known.
    """

    runs: list
    events: set
    hidden: set
    uncounted: set
    taking_turns: pd.Series
    knows_shares: bool


@dataclass(frozen=True)
class Levels:
    """Figures of a program as a whole: the medians over its runs.

    Attributes
    ----------
    levels : dict of str to float
        Time, clock, instructions per cycle and similar figures, by the name under which they are printed.
    ratios : dict of str to float
        Miss ratios [%] by name.
    counts : dict of str to float
        Count of each event.
    is_user : bool
        True if only user mode was counted.
    ghz : float or None
        Clock [GHz]; None if not known.
    """

    levels: dict
    ratios: dict
    counts: dict
    is_user: bool
    ghz: float | None


@dataclass(frozen=True)
class Summary:
    """What is known of a program, in parts.

    Attributes
    ----------
    name : str
    recording : cmlib.topdown.slot_summary.Recording
    counted : CountedRuns
    level : Levels
    utilization : cmlib.topdown.utilization.Utilization
    cycles : list of cmlib.topdown.cycle_costs.CycleShare
        The cycles, split by known costs; empty where slots were counted, or cycles were not.
    slots : cmlib.topdown.slot_summary.SlotSummary or None
        None if the kind of core hardly ran.
    first : cmlib.topdown.first_answer.FirstAnswer
    phases : cmlib.topdown.phase_contrast.Contrast
    shown_counts : dict of str to float
        Counts that neither levels nor ratios contain.
    impossible : dict of str to str
        Events that can't be true, with the reason.
    hardly_ran : bool
        True if this kind of core was counted for less than 5 % of the time.
    remarks : list of str
    """

    name: str
    recording: Recording
    counted: CountedRuns
    level: Levels
    utilization: Utilization
    cycles: list
    slots: SlotSummary | None
    first: FirstAnswer
    phases: Contrast
    shown_counts: dict
    impossible: dict
    hardly_ran: bool
    remarks: list

    def to_dict(self):
        """Return the summary as a dict, which JSON can hold; docs/summary.md lists its keys."""
        return {
            **self._describe_recording(),
            **self._describe_levels(),
            **self._describe_answer(),
            "phases": self.phases.rows.to_dict("records"),
            "phases_changed": self.phases.changed,
            "phases_text": self.phases.text,
            "misses": self.recording.misses,
            "misses_text": describe_misses(self.recording.misses),
            "remarks": self.remarks,
        }

    def _describe_recording(self):
        recording, counted = self.recording, self.counted
        n_rows = sum(len(counts) for counts, _ in counted.runs)
        turns = counted.taking_turns if counted.knows_shares else None
        least_width, most_width = recording.costs.width
        knows_width = recording.processor and least_width == most_width
        return {
            "schema": SCHEMA,
            "name": self.name,
            "simulated": False,
            "processor": recording.processor,
            "processors_alike": [],
            "slots_a_cycle": int(least_width) if knows_width else None,
            "core": recording.core,
            "user_mode_only": self.level.is_user,
            "runtime": recording.runtime or None,
            "runs": n_rows if recording.whole_runs else len(counted.runs),
            "intervals": n_rows,
            "events": len(counted.events),
            "took_turns": len(turns) if turns is not None else None,
            "counted": round(float(turns.mean()), 3) if turns is not None and len(turns) else None,
        }

    def _describe_levels(self):
        levels, ratios = self.level.levels, self.level.ratios
        instructions = levels.get("instructions")
        return {
            "levels": levels,
            "levels_text": _SENTENCES.levels(levels, format_number),
            "counts": self.shown_counts,
            "counts_text": _SENTENCES.counts(self.shown_counts, instructions, format_number, unit_of),
            "miss_ratios": ratios,
            "miss_ratios_text": _SENTENCES.miss_ratios(ratios, format_number) if ratios else "",
        }

    def _describe_answer(self):
        account = self.slots.account if self.slots else None
        limits_nothing = account is None and (self.impossible or self.hardly_ran)
        is_decided = account is not None and account["how"] in _DECIDED
        return {
            "first": asdict(self.first),
            "utilization": asdict(self.utilization),
            "cycles": [_describe_share(share) for share in self.cycles],
            "limited_by": account["limits"][0] if is_decided else None,
            "account": account,
            "conclusive": self._is_conclusive(),
            "untold_text": _SENTENCES.untold(self.hardly_ran) if limits_nothing else "",
        }

    def _is_conclusive(self):
        """Return True if the counts are possible, and show something of what limits the program."""
        return not (self.impossible or self.hardly_ran or self.first.kind == NOT_KNOWN)


def summarize(name: str, runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]], **settings: Any) -> dict:
    """Summarize a recording and return the summary as a dict.

    Parameters
    ----------
    name : str
        Name of the program.
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares, as for :func:`build_summary`.
    **settings
        Passed to :func:`build_summary`.

    Returns
    -------
    dict
        What ``cmlib summarize --json`` prints; `docs/summary.md` lists all keys. Among them are ``first`` (what is said
        first: kind, headline, advice and the command that separates the rest), ``utilization``, ``cycles`` (list of
        shares of the cycles [%]), ``levels`` (dict of rates and clock), ``account`` (dict of ``categories`` with bounds
        ``low`` and ``high`` [% of the slots], ``how`` certain the limit is, ``advice``, ``decide``: the next command,
        and more; None if the events say nothing of the slots), ``limited_by`` (name of the limiting category, or None
        if that is open), ``phases`` and ``misses`` (lists of dicts) and ``remarks`` (list of sentences).
    """
    return build_summary(name, runs, **settings).to_dict()


def build_summary(
    name: str,
    runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]],
    *,
    processor: str | None = None,
    modifier: str = "",
    whole_runs: bool = False,
    core: str = "",
    notes: Sequence[str] = (),
    printed: Mapping[str, float] | None = None,
    metric_group: str = "",
    command: str = "",
    written: Mapping[str, str] | None = None,
    user_s: float | None = None,
    system_s: float | None = None,
) -> Summary:
    """Summarize a recording: whether the program computes, what its cycles and slots were used for, what to try first.

    Parameters
    ----------
    name : str
        Name of the program.
    runs : sequence of (DataFrame, DataFrame)
        Of each run its counts, one row per interval [index: its end, s], one column per event, and their running shares
        (0–1), NaN where these are not known.
    processor : str, optional
        Name as :func:`cmlib.io.events.processor_of` returns it. Default: not known.
    modifier : str, default ""
        Modifier of the recorded events, such as ``u``; the command that is proposed has it too.
    whole_runs : bool, default False
        True if a row is a whole run and not an interval of one. Its length is known if ``duration_time`` is counted.
    core : str, default ""
        PMU of the one kind of core of the counts, where the processor has several, such as ``cpu_atom``.
    notes : sequence of str, default ()
        Sentences on the recording that its import wrote; added to the remarks.
    printed : dict of str to float, optional
        Shares and IPC that the recording tool itself printed.
    metric_group : str, default ""
        Metric group with which the recording machine's perf computes level 1, such as ``TopdownL1``; the command that
        is proposed uses it.
    command : str, default ""
        Command line that was recorded; advice is for the language runtime that it starts, if there is any.
    written : dict of str to str, optional
        Events as they stand in the file, by column, where these name kinds of core or modes.
    user_s, system_s : float, optional
        CPU time of a run in user mode and in the kernel [s]. Default: not known.

    Returns
    -------
    Summary
    """
    counted = _leave_out_uncounted(runs)
    costs = read_costs(processor or UNKNOWN)
    impossible = find_impossible(counted.runs, printed or {}, costs)
    possible_runs = [_drop_events(run, impossible) for run in counted.runs]
    possible_printed = {key: value for key, value in (printed or {}).items() if key not in impossible}
    level = _measure_levels(possible_runs, possible_printed, written or {}, modifier, whole_runs)
    recording = Recording(
        processor=processor,
        modifier=modifier,
        core=core,
        metric_group=metric_group,
        runtime=runtime_of(command),
        command=command,
        interval_ms=1000 if whole_runs else _measure_interval_ms(possible_runs),
        whole_runs=whole_runs,
        ghz=level.ghz,
        printed=possible_printed,
        misses=[] if whole_runs else _estimate_savings(possible_runs, costs, level.ghz),
    )
    hardly_ran = _has_hardly_run(counted, core)
    slots = None if hardly_ran else summarize_slots(possible_runs, recording)
    utilization = measure_utilization(level.levels, user_s=user_s, system_s=system_s)
    cycles = _split_cycles(slots, level, recording)
    is_conclusive = not (impossible or hardly_ran)
    shown_level = replace(level, levels=_add_clock(level.levels, is_user=level.is_user))
    return Summary(
        name=name,
        recording=recording,
        counted=counted,
        level=shown_level,
        utilization=utilization,
        cycles=cycles,
        slots=slots,
        first=_find_first(utilization, cycles, slots, recording, level, conclusive=is_conclusive),
        phases=_find_phases(possible_runs, level, recording),
        shown_counts=_select_counts(level, slots, {*possible_printed, *impossible}),
        impossible=impossible,
        hardly_ran=hardly_ran,
        remarks=[*_list_doubts(possible_runs, recording, counted, shown_level, slots, impossible), *notes],
    )


def describe_misses(savings, noun="cycles"):
    """Say what would be saved without the misses of each cache, or why that is not known.

    Parameters
    ----------
    savings : list of dict
        An entry for each cache, as :func:`cmlib.cost.savings_without_misses` describes it: without, percent,
        low, high, reason and more.
    noun : str, default "cycles"
        Noun for what is saved.

    Returns
    -------
    list of str
        Clauses: one for each estimate, then one for all caches that share a reason why there is none.
    """
    return _SENTENCES.misses(savings, noun).split("\n")[:-1]


def _leave_out_uncounted(runs):
    """Leave out zeros of events without a turn on a counter, and events that were never counted."""
    counted_runs = []
    listed = set()
    hidden = set()
    for counts, running in runs:
        zeros = zeros_without_turn(counts, running)
        counted = counts.mask(zeros).dropna(axis=1, how="all")
        counted_runs.append((counted, running[counted.columns]))
        listed.update(counts)
        hidden.update(event for event in zeros if zeros[event].any())
    events = {event for counts, _ in counted_runs for event in counts}
    shares = pd.concat([running for _, running in counted_runs]).mean()
    return CountedRuns(
        runs=counted_runs,
        events=events,
        hidden=hidden,
        uncounted=listed - hidden - events,
        taking_turns=shares[shares < _ALWAYS],
        knows_shares=not any(running.isna().any(axis=None) for _, running in counted_runs),
    )


def _drop_events(run, events):
    counts, running = run
    return counts.drop(columns=events, errors="ignore"), running.drop(columns=events, errors="ignore")


def _has_hardly_run(counted, core):
    """Return True if this kind of core was counted for a small part of the time only.

    On a processor with one kind of core, events that are counted so little took turns all over the program.
    """
    return bool(core and 0 < counted.taking_turns.mean() < _THIN)


def _measure_levels(runs, printed, written, modifier, whole_runs):
    """Measure the levels of the runs; without a clock where only user mode was counted."""
    levels, ratios, counts = levels_of_runs(runs, printed, written, whole_runs=whole_runs)
    is_user = "u" in modifier and "k" not in modifier and "kernel cycles" not in levels
    has_clock = not is_user and levels.get("GHz", 1.0) >= _SLOWEST
    return Levels(levels, ratios, counts, is_user, levels.get("GHz") if has_clock else None)


def _add_clock(levels, *, is_user):
    """Return the levels that are shown: with a clock if it follows from them, without what user mode can't have."""
    levels = dict(levels)
    parts = [levels.get(name, 0) for name in ("instructions a second", IPC, "CPUs")]
    if all(parts) and "GHz" not in levels:
        levels["GHz"] = parts[0] / parts[1] / parts[2] / 1e9
    if is_user or levels.get("GHz", 1.0) < _SLOWEST:
        levels.pop("GHz", None)
    for name in _IN_KERNEL:
        if is_user and not levels.get(name):
            levels.pop(name, None)
    return levels


def _measure_interval_ms(runs):
    """Return the median length of all intervals, for the command that is proposed [ms, at least 1]."""
    steps = np.concatenate([lengths_by_ends(counts.index) for counts, _ in runs])
    return max(1, round(1000 * float(np.median(steps)))) if len(steps) else 1000


def _estimate_savings(runs, costs, ghz):
    """Estimate the cycles that would be saved without misses of each cache, within the bounds of the other events."""
    from cmlib.cost import savings_without_misses  # not needed for totals, and slow to import

    complete_runs = [
        (counts, running) for counts, running in runs if {"instructions", "cycles"} <= set(counts)
    ]
    shares = bounds(totals(complete_runs), costs, ghz=ghz).shares if complete_runs else None
    return savings_without_misses(runs, costs, ghz=ghz, shares=shares)


def _split_cycles(slots, level, recording):
    """Split the cycles by known costs, where slots were not counted."""
    if slots is None or slots.counts_slots or slots.verdict.certainty != "open":
        return []
    return split_cycles(slots.totals, recording.costs, slots.bounded.shares, level.counts, ghz=recording.ghz)


def _find_first(utilization, cycles, slots, recording, level, *, conclusive):
    """Find what to say first, with the command that separates what the counts do not."""
    account = slots.account if slots else None
    separate = account["decide"] if account else ""
    if separate and slots.separate and recording.whole_runs and "smt_contention" not in separate:
        separate = slots.separate  # totals need no intervals
    knows_width = recording.processor and recording.costs.width[0] == recording.costs.width[1]
    lacks_cycles = conclusive and account is None and "cycles" not in level.levels
    return find_first_answer(
        utilization,
        cycles,
        account,
        separate,
        texts=slots.texts if slots else {},
        words=recorded_words(recording.command),
        lacks_cycles=lacks_cycles,
        hint="" if knows_width else _TIGHTER,
        most_of_front_end=slots.bounded.shares.at["front end", "high"] if slots else 1.0,
        stalled=_find_front_end_stalls(slots, recording.costs) if slots else None,
    )


def _find_front_end_stalls(slots, costs):
    """Return the share of the cycles that perf counts as stalled by the front end; None if not counted."""
    for event, rate in slots.totals["rate"].items():
        if costs.kind(event) == "front-end stall":
            return rate
    return None


def _select_counts(level, slots, names):
    """Select the counts that are shown: those that neither levels, ratios nor the account contain.

    `named` are events and shares that the tool printed, or that can't be true.
    """
    is_bounded = bool((slots and slots.account) or names & {*LOSSES, "retired"})
    return counts_besides(level.counts, level.levels, level.ratios, is_bounded=is_bounded)


def _list_doubts(runs, recording, counted, level, slots, impossible):
    """List sentences on what makes the recording hard to trust."""
    return describe_doubts(
        runs,
        hidden=counted.hidden,
        uncounted=counted.uncounted,
        core=recording.core,
        is_user=level.is_user,
        processor=recording.processor,
        levels=level.levels,
        account=slots.account if slots else None,
        impossible=impossible,
    )


def _find_phases(runs, level, recording):
    """Cut the only run into phases and compare them; no phases of several runs, or of whole runs."""
    if len(runs) > 1 or recording.whole_runs:
        return Contrast(pd.DataFrame())
    rows = phases(runs[0][0])
    if level.is_user:
        rows = rows.drop(columns="GHz", errors="ignore")
    return compare_phases(rows, runs[0], recording.costs, recording.ghz)


def _describe_share(share):
    """Return a share of the cycles as a dict, in percent."""
    return {
        "name": share.name,
        "label": share.label(),
        "low": percent(share.low),
        "high": percent(share.high),
        "events": [asdict(event) | _describe_ends(event) for event in share.events],
    }


def _describe_ends(event):
    return {"low": percent(event.low), "high": percent(event.high)}
