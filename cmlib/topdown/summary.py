"""Summarize the counts of a program.

:func:`summarize` takes the counts of a program's runs. It returns a JSON-serializable dict: what limits the program,
and what to try first. ``cmlib summarize``, the page of a program and `answers.json` show this dict.
:func:`build_summary` returns the same as a :class:`Summary`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from cmlib.intervals import lengths_by_ends, zeros_without_turn
from cmlib.shell import recorded_words
from cmlib.topdown.bounded_account import bounds
from cmlib.topdown.category_tables import LOSSES
from cmlib.topdown.costs import UNKNOWN, read_costs
from cmlib.topdown.cycle_costs import split_cycles
from cmlib.topdown.event_totals import totals
from cmlib.topdown.first_answer import NOT_KNOWN, FirstAnswer, find_first_answer
from cmlib.topdown.implausible import IPC, find_impossible
from cmlib.topdown.phase_contrast import Contrast, compare_phases
from cmlib.topdown.phase_cuts import phases
from cmlib.topdown.remarks import describe_doubts
from cmlib.topdown.run_levels import RunMedians, levels_of_runs, select_other_counts
from cmlib.topdown.runtimes import find_runtime
from cmlib.topdown.sentences import (
    describe_counts,
    describe_levels,
    describe_miss_ratios,
    describe_misses,
    describe_no_answer,
)
from cmlib.topdown.slot_summary import RecordingInfo, SlotSummary, percent, summarize_slots
from cmlib.topdown.utilization import Utilization, measure_utilization

SUMMARY_VERSION = 4  # of the keys of the dict; docs/answers.md lists the versions
_HARDLY_RAN = 0.05  # a kind of core hardly ran if the mean running share of its events is lower
_ALL_THE_TIME = 0.995  # an event was counted all the time from this running share on
_SLOWEST_GHZ = 1e-3  # no processor is slower; at a lower clock, cycles and task-clock are from different runs
# The kernel causes these events, so they are 0 if only user mode was counted.
_KERNEL_LEVELS = ("switches", "migrations")
_NAMES_A_LIMIT = ("counted", "decided", "likely")  # certainties of a bottleneck with a limiting category
_TIGHTER = "Tighter bounds: name the processor with --processor."


@dataclass(frozen=True)
class CountedRuns:
    """The runs of a program, without events that were not counted.

    Attributes
    ----------
    runs : list of (DataFrame, DataFrame)
        Counts and running shares of each run: one row per interval, one column per event. A running share is the
        fraction of the interval in which the event was counted. A false zero is NaN: the event was recorded as 0
        although it was not counted.
    events : set of str
        Events that were counted in at least one run.
    hidden : set of str
        Events with false zeros.
    uncounted : set of str
        Other events that were not counted in any run.
    multiplexed_shares : Series
        Mean running share (0–1) of each event that was not counted all the time. Index: event.
    knows_shares : bool
        True if all running shares are known.
    """

    runs: list
    events: set
    hidden: set
    uncounted: set
    multiplexed_shares: pd.Series
    knows_shares: bool


@dataclass(frozen=True)
class Medians:
    """Figures of a program, each the median over its runs.

    Attributes
    ----------
    levels : dict of str to float
        Figures such as seconds, clock and instructions per cycle, by name.
    ratios : dict of str to float
        Misses [% of the accesses], by the name of the access.
    counts : dict of str to float
        Count of each event.
    is_user : bool
        True if only user mode was counted.
    ghz : float or None
        Clock [GHz]. None if not known.
    """

    levels: dict
    ratios: dict
    counts: dict
    is_user: bool
    ghz: float | None


@dataclass(frozen=True)
class Summary:
    """What the counts show about a program.

    Attributes
    ----------
    name : str
        Name of the program.
    recording : cmlib.topdown.slot_summary.RecordingInfo
        Processor, events and command of the recording.
    counted : CountedRuns
        The counts.
    medians : Medians
        The figures that are shown.
    utilization : cmlib.topdown.utilization.Utilization
        CPUs used, and time in the kernel.
    cycles : list of cmlib.topdown.cycle_costs.CycleShare
        Shares of the cycles that events with a known cost take. Empty if the slots show where the cycles went, or if
        cycles or instructions were not counted.
    slots : cmlib.topdown.slot_summary.SlotSummary or None
        Use of the slots. None if this kind of core hardly ran.
    first : cmlib.topdown.first_answer.FirstAnswer
        What is said first about the program.
    phases : cmlib.topdown.phase_contrast.Contrast
        The phases of the run, and how they differ.
    shown_counts : dict of str to float
        Counts that are shown, because no other part of the summary contains them.
    impossible : dict of str to str
        Reason why a count is impossible, by event. These events are not used.
    hardly_ran : bool
        True if this kind of core was counted for less than 5 % of the time.
    remarks : list of str
        Reasons why the counts may be unreliable, and notes on the recording.
    """

    name: str
    recording: RecordingInfo
    counted: CountedRuns
    medians: Medians
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
        """Return the summary as a JSON-serializable dict.

        `docs/summary.md` describes the keys.
        """
        return {
            **self._describe_recording(),
            **self._describe_levels(),
            **self._describe_answer(),
            "phases": self.phases.rows.to_dict("records"),
            "phases_changed": self.phases.changed,
            "phases_text": self.phases.text,
            "misses": self.recording.savings,
            "misses_text": describe_misses(self.recording.savings),
            "remarks": self.remarks,
        }

    def _describe_recording(self):
        """Return the keys that describe the recording."""
        recording = self.recording
        counted = self.counted
        n_rows = sum(len(counts) for counts, _ in counted.runs)
        shares = counted.multiplexed_shares if counted.knows_shares else None
        least_width, most_width = recording.costs.width
        knows_width = recording.processor and least_width == most_width
        return {
            "schema": SUMMARY_VERSION,
            "name": self.name,
            "simulated": False,  # cmlib.experiments.simulated_summary makes the same keys for simulated programs
            "processor": recording.processor,
            "processors_alike": [],  # cmlib.experiments.summary adds processors with the same events
            "slots_a_cycle": int(least_width) if knows_width else None,
            "core": recording.core,
            "user_mode_only": self.medians.is_user,
            "runtime": recording.runtime or None,
            "runs": n_rows if recording.whole_runs else len(counted.runs),
            "intervals": n_rows,
            "events": len(counted.events),
            "took_turns": len(shares) if shares is not None else None,
            "counted": round(float(shares.mean()), 3) if shares is not None and len(shares) else None,
        }

    def _describe_levels(self):
        """Return the keys with figures, miss ratios and counts."""
        levels = self.medians.levels
        ratios = self.medians.ratios
        instructions = levels.get("instructions")
        return {
            "levels": levels,
            "levels_text": describe_levels(levels),
            "counts": self.shown_counts,
            "counts_text": describe_counts(self.shown_counts, instructions),
            "miss_ratios": ratios,
            "miss_ratios_text": describe_miss_ratios(ratios) if ratios else "",
        }

    def _describe_answer(self):
        """Return the keys that say what limits the program."""
        account = self.slots.account if self.slots else None
        names_limit = account is not None and account["how"] in _NAMES_A_LIMIT
        # In this case a text says that the counts do not show what limits the program, and why.
        lacks_answer = account is None and (self.impossible or self.hardly_ran)
        return {
            "first": asdict(self.first),
            "utilization": asdict(self.utilization),
            "cycles": [_describe_share(share) for share in self.cycles],
            # Other categories may be about as large. They are in account.limits.
            "limited_by": account["limits"][0] if names_limit else None,
            "account": account,
            "conclusive": self._is_conclusive(),
            "untold_text": describe_no_answer(self.hardly_ran) if lacks_answer else "",
        }

    def _is_conclusive(self):
        """Return True if all counts are possible, this kind of core ran, and something is known about the limit."""
        return not (self.impossible or self.hardly_ran or self.first.kind == NOT_KNOWN)


def summarize(name: str, runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]], **settings: Any) -> dict:
    """Summarize the counts of a program as a JSON-serializable dict.

    Parameters
    ----------
    name : str
        Name of the program.
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares of each run, at least one, as for :func:`build_summary`.
    **settings
        Further parameters of :func:`build_summary`.

    Returns
    -------
    dict
        The object that ``cmlib summarize --json`` prints. `docs/summary.md` describes all keys. Some of them:

        - ``first``: what is said first about the program (dict of ``headline``, ``advice`` and more)
        - ``levels``: figures such as time, clock and instructions per cycle (dict)
        - ``utilization``: time, CPU time and time in the kernel (dict)
        - ``cycles``: shares of the cycles [%] (list of dict)
        - ``account``: use of the slots (dict, or None if it is not known). A slot is an opportunity to begin one
          operation in a cycle.
        - ``account["categories"]``: bounds ``low`` and ``high`` of each use of the slots [% of the slots]
        - ``account["how"]``: how certain the limit is
        - ``account["decide"]``: perf command that decides what limits the program
        - ``limited_by``: use of the slots that limits the program most, or None if this is not decided
        - ``phases`` and ``misses``: lists of dicts
        - ``remarks``: list of sentences
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
    names_in_file: Mapping[str, str] | None = None,
    user_s: float | None = None,
    system_s: float | None = None,
) -> Summary:
    """Summarize the counts of a program.

    Parameters
    ----------
    name : str
        Name of the program.
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares of each run, at least one. Both have one row per interval and one column per event.
        Index: end of the interval [s]. A running share is the fraction of the interval in which the event was counted,
        0–1, or NaN if not known.
    processor : str, optional
        Name from :func:`cmlib.io.events.find_microarchitecture`. Default: not known.
    modifier : str, default ""
        Modifier of the recorded events, for example ``u``. The proposed command uses it, too.
    whole_runs : bool, default False
        True if each row has the totals of one run. The time of a run is known if ``duration_time`` was counted.
    core : str, default ""
        PMU of the kind of core that was counted, for example ``cpu_atom``. Empty if the processor has only one kind.
    notes : sequence of str, default ()
        Sentences about the recording, which are added to the remarks.
    printed : dict of str to float, optional
        Shares and IPC that the recording tool printed.
    metric_group : str, default ""
        Metric group with which the recording machine's perf computes level 1 of the top-down account, for example
        ``TopdownL1``. The proposed command uses it.
    command : str, default ""
        Command line of the program. It shows the language runtime, for which there may be special advice.
    names_in_file : dict of str to str, optional
        Name of an event in the file, by column. It can contain a kind of core or a mode that the column name does not
        contain.
    user_s, system_s : float, optional
        CPU time of a run in user mode and in the kernel [s]. Default: not known.

    Returns
    -------
    Summary
    """
    counted = _drop_uncounted(runs)
    costs = read_costs(processor or UNKNOWN)
    impossible = find_impossible(counted.runs, printed or {}, costs)
    possible_runs = [_drop_events(run, impossible) for run in counted.runs]
    possible_printed = {key: value for key, value in (printed or {}).items() if key not in impossible}
    medians = _compute_medians(possible_runs, possible_printed, names_in_file or {}, modifier, whole_runs)
    recording = RecordingInfo(
        processor=processor,
        modifier=modifier,
        core=core,
        metric_group=metric_group,
        runtime=find_runtime(command),
        command=command,
        interval_ms=1000 if whole_runs else _measure_interval_ms(possible_runs),
        whole_runs=whole_runs,
        ghz=medians.ghz,
        printed=possible_printed,
        savings=[] if whole_runs else _estimate_savings(possible_runs, costs, medians.ghz),
    )
    hardly_ran = _has_hardly_run(counted, core)
    slots = None if hardly_ran else summarize_slots(possible_runs, recording)
    utilization = measure_utilization(medians.levels, user_s=user_s, system_s=system_s)
    cycles = _split_cycles(slots, medians, recording)
    lacks_cycles = not impossible and not hardly_ran and "cycles" not in medians.levels
    shown_levels = _select_shown_levels(medians.levels, is_user=medians.is_user)
    shown_medians = replace(medians, levels=shown_levels)
    doubts = _list_doubts(possible_runs, recording, counted, shown_medians, slots, impossible)
    return Summary(
        name=name,
        recording=recording,
        counted=counted,
        medians=shown_medians,
        utilization=utilization,
        cycles=cycles,
        slots=slots,
        first=_find_first(utilization, cycles, slots, recording, lacks_cycles=lacks_cycles),
        phases=_find_phases(possible_runs, medians, recording),
        shown_counts=_select_shown_counts(medians, slots, {*possible_printed, *impossible}),
        impossible=impossible,
        hardly_ran=hardly_ran,
        remarks=[*doubts, *notes],
    )


def _drop_uncounted(runs):
    """Remove events that were never counted, and zeros of events that were not on a counter."""
    counted_runs = []
    recorded_events = set()
    hidden = set()
    for counts, running in runs:
        false_zeros = zeros_without_turn(counts, running)
        counted = counts.mask(false_zeros).dropna(axis=1, how="all")
        counted_runs.append((counted, running[counted.columns]))
        recorded_events.update(counts)
        hidden.update(event for event in false_zeros if false_zeros[event].any())
    events = {event for counts, _ in counted_runs for event in counts}
    mean_shares = pd.concat([running for _, running in counted_runs]).mean()
    return CountedRuns(
        runs=counted_runs,
        events=events,
        hidden=hidden,
        uncounted=recorded_events - hidden - events,
        multiplexed_shares=mean_shares[mean_shares < _ALL_THE_TIME],
        knows_shares=not any(running.isna().any(axis=None) for _, running in counted_runs),
    )


def _drop_events(run, events):
    """Remove some events from the counts and running shares of a run."""
    counts, running = run
    return counts.drop(columns=events, errors="ignore"), running.drop(columns=events, errors="ignore")


def _has_hardly_run(counted, core):
    """Return True if the program ran on this kind of core for less than 5 % of the time.

    If the processor has only one kind of core, low running shares have another reason: many events shared the
    counters.
    """
    return bool(core and 0 < counted.multiplexed_shares.mean() < _HARDLY_RAN)


def _compute_medians(runs, printed, names_in_file, modifier, whole_runs):
    """Compute the medians over the runs. The clock is not known if only user mode was counted."""
    levels, ratios, counts = levels_of_runs(runs, printed, names_in_file, whole_runs=whole_runs)
    is_user = "u" in modifier and "k" not in modifier and "kernel cycles" not in levels
    has_clock = not is_user and levels.get("GHz", 1.0) >= _SLOWEST_GHZ
    return Medians(levels, ratios, counts, is_user, levels.get("GHz") if has_clock else None)


def _select_shown_levels(levels, *, is_user):
    """Return the levels that are shown.

    The clock is added if it follows from other levels, and removed if it is impossible. If only user mode was counted,
    the clock is also removed, because the cycles in the kernel are missing. Levels of the kernel are then removed if
    they are 0.
    """
    shown = dict(levels)
    if "GHz" not in shown and (ghz := _derive_clock(levels)) is not None:
        shown["GHz"] = ghz
    if is_user or shown.get("GHz", 1.0) < _SLOWEST_GHZ:
        shown.pop("GHz", None)
    for name in _KERNEL_LEVELS:
        if is_user and not shown.get(name):
            shown.pop(name, None)
    return shown


def _derive_clock(levels):
    """Compute the clock [GHz] from instructions per second, instructions per cycle and CPUs, or return None."""
    instructions_per_second = levels.get("instructions a second")
    ipc = levels.get(IPC)
    cpus = levels.get("CPUs")
    if not instructions_per_second or not ipc or not cpus:
        return None
    return instructions_per_second / ipc / cpus / 1e9


def _measure_interval_ms(runs):
    """Return the median length of all intervals [ms], at least 1. The proposed command uses it."""
    lengths_s = np.concatenate([lengths_by_ends(counts.index) for counts, _ in runs])
    return max(1, round(1000 * float(np.median(lengths_s)))) if len(lengths_s) else 1000


def _estimate_savings(runs, costs, ghz):
    """Estimate how many cycles the program would save if a cache had no misses.

    The upper bound of the back end limits the savings. It is not known if no run has both cycles and instructions.
    """
    # The import is slow, and recordings of totals do not need it.
    from cmlib.cost import savings_without_misses

    complete_runs = [
        (counts, running) for counts, running in runs if {"instructions", "cycles"} <= set(counts)
    ]
    shares = bounds(totals(complete_runs), costs, ghz=ghz).shares if complete_runs else None
    return savings_without_misses(runs, costs, ghz=ghz, shares=shares)


def _split_cycles(slots, medians, recording):
    """Return how many cycles each kind of event costs, or an empty list.

    Counted slots and stalled cycles are more certain than the costs of events. The list is therefore empty if slots or
    stalled cycles were counted, or if it is known what limits the program.
    """
    if slots is None or slots.has_slot_events or slots.verdict.certainty != "open":
        return []
    return split_cycles(
        slots.totals, recording.costs, slots.category_bounds.shares, medians.counts, ghz=recording.ghz
    )


def _find_first(utilization, cycles, slots, recording, *, lacks_cycles):
    """Find what to say first.

    `lacks_cycles` is True if cycles were not counted and the other counts can be used.
    """
    account = slots.account if slots else None
    least_width, most_width = recording.costs.width
    knows_width = recording.processor and least_width == most_width
    return find_first_answer(
        utilization,
        cycles,
        account,
        _choose_separating_command(slots, recording),
        texts=slots.advice_by_category if slots else {},
        words=recorded_words(recording.command),
        lacks_cycles=lacks_cycles and account is None,
        hint="" if knows_width else _TIGHTER,
        most_of_front_end=slots.category_bounds.shares.at["front end", "high"] if slots else 1.0,
        stalled=_find_front_end_stalls(slots, recording.costs) if slots else None,
    )


def _choose_separating_command(slots, recording):
    """Return the perf command that shows which of several possible losses is the largest, or "".

    The command records intervals if intervals were recorded, and otherwise totals.
    """
    if slots is None or not slots.account:
        return ""
    command = slots.account["decide"]
    # The short command cannot replace one that counts the slots of the core's other thread (smt_contention).
    if command and slots.short_command and recording.whole_runs and "smt_contention" not in command:
        return slots.short_command
    return command


def _find_front_end_stalls(slots, costs):
    """Return the share of the cycles that perf counts as stalled by the front end, or None."""
    for event, rate in slots.totals["rate"].items():
        if costs.kind(event) == "front-end stall":
            return rate
    return None


def _select_shown_counts(medians, slots, unused_counts):
    """Select the counts that no other part of the summary contains.

    `unused_counts` are the names of printed figures and of impossible counts.
    """
    # Events of slots are not shown if the summary or the recording tool gives shares of the slots.
    has_slot_shares = bool((slots and slots.account) or unused_counts & {*LOSSES, "retired"})
    run_medians = RunMedians(medians.levels, medians.ratios, medians.counts)
    return select_other_counts(run_medians, has_slot_shares=has_slot_shares)


def _list_doubts(runs, recording, counted, medians, slots, impossible):
    """List the reasons why the counts may be unreliable, in one sentence each."""
    return describe_doubts(
        runs,
        hidden=counted.hidden,
        uncounted=counted.uncounted,
        core=recording.core,
        is_user=medians.is_user,
        processor=recording.processor,
        levels=medians.levels,
        account=slots.account if slots else None,
        impossible=impossible,
    )


def _find_phases(runs, medians, recording):
    """Cut the run into phases and compare them.

    The result is empty if there are several runs, or if only totals were recorded.
    """
    if len(runs) > 1 or recording.whole_runs:
        return Contrast(pd.DataFrame())
    rows = phases(runs[0][0])
    if medians.is_user:
        rows = rows.drop(columns="GHz", errors="ignore")
    return compare_phases(rows, runs[0], recording.costs, recording.ghz)


def _describe_share(share):
    """Return a share of the cycles as a JSON-serializable dict in percent."""
    return {
        "name": share.name,
        "label": share.label(),
        "low": percent(share.low),
        "high": percent(share.high),
        "events": [
            asdict(event) | {"low": percent(event.low), "high": percent(event.high)} for event in share.events
        ],
    }
