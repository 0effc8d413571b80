"""What notebook 02a asks of a program: where its cycles go, whether the account adds up, and both in words."""

import functools
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cmlib import clean, merge, topdown
from cmlib.errors import NothingRecordedError
from cmlib.experiments.data import cleaned_runs, interval_runs, refuse_simulated
from cmlib.experiments.event_tables import table_name
from cmlib.fingerprint.diagnosis import advice as remedy
from cmlib.io import events, store
from cmlib.topdown.account import PINNED
from cmlib.topdown.answers import perf_line
from cmlib.topdown.tables import names_in

MERGINGS = {"as counted": False, "adjusted to IPC": True}
AT_WORK = ("retired", "at work")  # categories that are no loss
BOUND = 0.02  # by which the mean of an account may miss all slots


@dataclass(frozen=True)
class ProgramAccount:
    """Where the cycles of one program went."""

    program: str
    account: topdown.Account
    ipc: pd.Series
    n_runs: int
    sums: float
    meta: dict = field(default_factory=dict)  # of its first run

    @property
    def closes(self):
        """Closure as :func:`cmlib.topdown.account` gives it; None where the account proves nothing."""
        level_1 = {part.name for part in self.account.table.parts()}
        if not self.account.table.closes or level_1 & self.account.missing.keys():
            return None
        return topdown.closure(self.account)


def accounted(url, wanted="all"):
    """Programs of which a top-down table knows some events."""
    refuse_simulated(
        url,
        wanted,
        "where cycles go takes a processor's counters. Where KCachegrind's estimate of them goes is in notebook 01.",
    )
    known = [name for name in wanted if _table_of(url, name) is not None]
    if not known:
        command = describe_recording(url, wanted[0])
        raise NothingRecordedError(
            f"no event that tells where the cycles go is recorded of {', '.join(wanted)}; which of the recorded events "
            f"its speed goes along with is told by notebook 03. {command}"
        )
    return known


def needed_events(url, program):
    """Events that tell where the cycles of a program go: of its processor's table; none without such a table."""
    name = table_name(url, program)
    events_of = topdown.read_table(name).events() if name in topdown.tables() else []
    return [event for event in events_of if event not in PINNED]


def describe_recording(url, program):
    """What records the events that tell where the cycles of a program go: :func:`record_command`."""
    meta = store.load(url, interval_runs(url, [program])["run_id"].iloc[0]).meta
    return record_command(meta, needed_events(url, program), table_name(url, program))


def losses_by_part(account):
    """Shares of the categories of level 1, losses by their parts where these are known."""
    names = []
    for name in account.level():
        names += [name] if name in AT_WORK else list(account.level(name)) or [name]
    shares = account.shares[names]
    return shares.loc[:, shares.mean() >= 0.005]


def account_in_every_way(url, program):
    """The account of a program by every way of cleaning and of merging."""
    recorded = _Recorded(url, program)
    return {
        (program, method, merging): recorded.account(method, adjust)
        for method in clean.DISTINCT_METHODS
        for merging, adjust in MERGINGS.items()
    }


def record_command(meta, needed, table=""):
    """The command that records some events of a program again; without any, where it says what would decide it.

    Of a program that was imported it is perf's, with the events' codes where perf may not know their names.
    """
    if not needed:
        return "What the recorded events bound, and what would decide it, begins the first page: `cmlib summarize FILE`"
    if not meta.get("imported"):
        return f"Record them: `cmlib record {meta['program']} --events {','.join(needed)} -- COMMAND`"
    known = events.table(table if table in events.known_tables() else "generic")
    spelled = [events.encode(event, known, meta["modifier"] or "") for event in (*PINNED, *needed)]
    line = perf_line(spelled, meta["interval_ms"])
    return f"Record them: ``{line} -o next.csv -- COMMAND && cmlib import {meta['program']} next.csv``"


class _Recorded:
    """The runs of one program, loaded once and cleaned and merged as often as asked."""

    def __init__(self, url, program):
        self._url, self._program = url, program
        self._table, self._sums = _table_of(url, program), _sums_of(url, program)
        self._meta = store.load(url, interval_runs(url, [program])["run_id"].iloc[0]).meta
        parts = (event for whole, parts in self._sums for event in (whole, *parts))
        self._wanted = {*self._table.events(), *parts, *PINNED}

    def account(self, method, adjust):
        steps = self._steps(method)
        rates, ipc = topdown.merge_steps(steps, adjust=adjust)
        shared = topdown.account(rates, self._table)
        missed = _sums_miss(rates, self._sums)
        return ProgramAccount(self._program, shared, ipc, len(steps), missed, self._meta)

    @functools.cache  # noqa: B019  an object lives as long as one call
    def _steps(self, method):
        """Steps of all runs: what was pinned in those that counted none of the events tells the mean IPC."""
        if method in clean.SERIES_METHODS:  # event by event: only those that are needed
            cleaned = [
                clean.clean_run(counts, running, method=method, run=f"{self._program}, run {number}")[0]
                for number, (counts, running) in enumerate(self._loaded)
            ]
        else:
            sets = sorted(set(interval_runs(self._url, [self._program])["set"]))
            cleaned = cleaned_runs(self._url, self._program, sets, method=method)["counts"]
        needed = [counts[[event for event in counts if event in self._wanted]] for counts in cleaned]
        # What perf prints has gaps, which the other ways of cleaning fill.
        filled = [counts.dropna(axis=1, how="all").interpolate(limit_direction="both") for counts in needed]
        return merge.step_runs(filled)

    @functools.cached_property
    def _loaded(self):
        """Counts and running shares of every run, of the events that are needed."""
        loaded = []
        for run_id in interval_runs(self._url, [self._program])["run_id"]:
            counts, running = store.load(self._url, run_id).whole()
            chosen = [event for event in counts if event in self._wanted]
            loaded.append((counts[chosen], running[chosen]))
        return loaded


def _sums_miss(rates, known):
    """Root mean square distance of wholes from their parts, as a share of the whole's mean; the median of the sums."""
    misses = [
        float(np.sqrt(((rates[whole] - rates[list(parts)].sum(axis=1)) ** 2).mean()) / rates[whole].mean())
        for whole, parts in known
        if {whole, *parts} <= set(rates) and rates[whole].mean() > 1e-5
    ]
    return float(np.median(misses)) if misses else np.nan


def _sums_of(url, program):
    """Sums between events of which the whole was counted in another run than every one of its parts."""
    name = table_name(url, program)
    if not name:
        return []
    counted_in = {}
    for run in interval_runs(url, [program]).itertuples():
        for event in run.events:
            counted_in.setdefault(event, set()).add(run.run_id)
    return [
        (whole, parts)
        for whole, parts in events.umask_sums(events.table(name))
        if whole in counted_in
        and all(part in counted_in and not counted_in[part] & counted_in[whole] for part in parts)
    ]


def _table_of(url, program):
    counted = {event for listed in interval_runs(url, [program])["events"] for event in listed}
    return topdown.choose_table(counted, table_name(url, program))


_SHOWN = 0.03  # share of the slots below which a part is not named
_LITTLE = 0.75  # share of the slots from which on, where so many retired, little is lost

# Categories that are a class of `cmlib diagnose`, whose advice says more than the table's.
_CLASSES = {"L2 hits": "P_Mem_L2", "L3 hits": "P_Mem_L3", "memory and other caches": "P_Mem_M"}


def describe_account(program_account):
    """What limits a program, how sure that is, what to try, and what is lacking."""
    shares = program_account.account.shares.mean()
    level = program_account.account.level().mean()
    lost = level.drop(labels=list(AT_WORK), errors="ignore").sort_values(ascending=False)
    return {
        "limits": _limits(program_account.account, level.drop(labels=lost.index), lost, shares),
        "sure": _sure(program_account),
        "advice": _advice(program_account.account, lost, shares),
        "lacking": _lacking(program_account),
    }


def describe_unaccounted(url, program):
    """What would tell where the cycles of a program go that counted no event of the account."""
    return f"where its cycles go. {describe_recording(url, program)}"


def _limits(account, working, lost, shares):
    unit = "cycles" if account.table.name == "generic" else "slots"
    losses = [
        (f"{_percent(lost[name])} are lost to {_the(name)}", _parts(account, name, shares))
        for name in lost.index
        if lost[name] >= _SHOWN
    ]
    at_work = [f"{_percent(share)} {_done(name)}" for name, share in working.items()]
    if not losses:
        return f"**Hardly any {unit} are lost**" + "".join(f": {text}" for text in at_work)
    if working.sum() >= _LITTLE:
        return f"**Little is lost: of all {unit}, {at_work[0]}**; " + _list(losses)
    (first, inside), *others = losses
    sentence = _list([(f"**Of all {unit}, {first}**", inside), *others])
    return "; ".join([sentence, *at_work])


def _list(losses):
    """The verb once: "9 % are lost to a, 8 % to b"."""
    first, *others = (text + inside for text, inside in losses)
    return ", ".join([first, *(text.replace(" are lost", "", 1) for text in others)])


def _the(name):
    return name if name == "bad speculation" else f"the {name}"


def _done(name):
    return name if name == "retired" else f"are {name}"


def _parts(account, name, shares):
    shown = [part.name for part in account.table.parts(name) if shares.get(part.name, 0) >= _SHOWN]
    inside = ", ".join(f"{part} {_percent(shares[part])}" for part in shown)
    return f" ({inside})" if inside else ""


def _sure(program_account):
    account, closes = program_account.account, program_account.closes
    uncounted = ", ".join(part.name for part in account.table.parts() if part.name in account.missing)
    if uncounted:
        return f"{uncounted} was not counted, so that it is not known whether the account adds up"
    if closes is None:
        return "one category is what the others leave, so that the account adds up whatever was counted"
    shows = topdown.tested_events(account)
    counted = " + ".join(f"`{event}`" for event in shows if shows[event])
    closure = (
        f"counted in {program_account.n_runs} runs, {counted} add up to {100 * closes['mean']:.1f} % of the slots "
        f"(root mean square distance of the steps {100 * closes['rms']:.1f} %){_untested(account, shows)}"
    )
    if _within(closes):
        return closure
    doubtful = topdown.doubtful_category(account)
    wrong = f", and {doubtful} is likely counted wrongly" if doubtful else ""
    return f"{closure}: **it does not add up** within {100 * BOUND:.0f} %{wrong}"


def _untested(account, shows):
    """What the sum says nothing of."""
    cancelled = ", ".join(f"`{event}`" for event in shows if not shows[event])
    of_none = [name for name in account.level() if not shows.keys() & set(names_in(account.formulas[name]))]
    cancels = f"; {cancelled} cancels, so that an error in it would not show" if cancelled else ""
    return cancels + (f"; {', '.join(of_none)} was not counted and is taken as none" if of_none else "")


def _within(closes):
    return abs(closes["mean"] - 1) <= BOUND


def _advice(account, lost, shares):
    """Of the largest loss, and of its largest part as far down as parts are known and have an advice; and the most that
    it can bring, which is what is lost there."""
    if lost.empty or lost.sum() <= 1 - _LITTLE:
        return _of(account, "retired")
    chosen = lost.index[0]
    while parts := [part.name for part in account.table.parts(chosen) if part.advice and part.name in shares]:
        chosen = max(parts, key=shares.get)
    advised = _of(account, chosen)
    return f"{advised} (brings at most {_percent(shares[chosen])} fewer cycles)" if advised else ""


def _of(account, name):
    advice = next((one.advice for one in account.table.categories if one.name == name), "")
    if name in _CLASSES:
        advice = remedy(_CLASSES[name])[1]
    return f"{name}: {advice[0].lower()}{advice[1:].rstrip('.')}" if advice else ""


def _lacking(program_account):
    missing, closes = program_account.account.missing, program_account.closes
    names = [name for name, events in missing.items() if events]
    if names:
        needed = dict.fromkeys(event for name in names for event in missing[name])
        return f"{', '.join(names)}. {_command(program_account, needed)}"
    if closes is None or _within(closes):
        return ""
    formulas = " + ".join(
        program_account.account.formulas[part.name] for part in program_account.account.table.parts()
    )
    needed = [name for name in dict.fromkeys(names_in(formulas)) if name not in ("slots", "cycles")]
    return f"an account that adds up. {_command(program_account, needed)}"


def _command(program_account, needed):
    meta = {"program": program_account.program} | program_account.meta
    return record_command(meta, list(needed), program_account.account.table.name)


def _percent(share):
    return f"{100 * share:.0f} %"
