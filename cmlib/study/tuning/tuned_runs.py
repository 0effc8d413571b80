"""Runs of Spark programs under different settings, read from their recordings."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cmlib import places, tuning
from cmlib.clean import whole_intervals
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.store.raw import find_recordings, read_counts
from cmlib.study.requested import chosen
from cmlib.workloads.programs import read_label
from cmlib.workloads.spark import TABLE_IV
from cmlib.workloads.tuning import FOLDER, HIGHEST, emitted_of, settings_of

RECORD = "cmlib record-tuning"


@dataclass(frozen=True)
class Tuned:
    """What was recorded of one program.

    Attributes
    ----------
    runs : cmlib.tuning.Runs
        Under settings drawn at random; events per cycle, or per millisecond of processor time [1/ms] where
        cycles were not counted.
    levels : DataFrame
        Runs with one parameter at either end, and beside each parameter those with all at their defaults:
        columns ``parameter``, ``level`` (``low``, ``default``, ``high``) and ``seconds``.
    per : str
        What events are divided by.
    machine : dict
    scale : float
    pace : Series
        What events are divided by [1/s], of each of `runs`.
    usual : dict of str to Series
        Rates of the events with one parameter at either end (``exc-high``), or all at their ``default``.
    emitted : dict of str to cmlib.tuning.Runs
        Runs at one of those settings with events emitted beside them; its parameters are the emitted rates
        [1/s].
    """

    runs: tuning.Runs
    levels: pd.DataFrame
    per: str
    machine: dict
    scale: float
    pace: pd.Series
    usual: dict = field(default_factory=dict)
    emitted: dict = field(default_factory=dict)


def load_tuned(folder="", wanted="all"):
    """Read the recordings of programs under different settings.

    Parameters
    ----------
    folder : path, optional
        ``tuning`` in `data/recordings` by default, or the folder of hardware events in it.
    wanted : str, default "all"
        Programs with commas between, or ``all``.

    Returns
    -------
    dict of str to Tuned

    Raises
    ------
    NothingRecordedError
        If there is none, none of a program that is named, or none under settings drawn at random.
    CmlibError
        If a program was recorded with work of different sizes, or on several machines.
    """
    files = find_recordings(folder or places.hardware_first(places.recordings_dir() / FOLDER))
    rows = {}
    for file, meta in files.items():
        program, scale, options = read_label(meta["command"])
        rows.setdefault(program, []).append((file, meta, scale, options))
    if not rows:
        raise NothingRecordedError(f"nothing recorded yet: run `{RECORD}`, which takes programs on Spark")
    about, todo = (
        "the programs recorded under other settings of Spark",
        f"If it runs on Spark: `{RECORD} --program NAME`",
    )
    names = chosen(wanted, rows, about=about, todo=todo)
    return {name: _tuned(name, rows[name]) for name in names}


def table_iv():
    """Spark's parameters with their ranges (CounterMiner, Table IV).

    Returns
    -------
    DataFrame
        Index: abbreviation; columns ``parameter``, ``low``, ``default`` (Spark's, or this study's for
        default.parallelism and the memories), ``high``, ``needs`` (settings without which it does nothing).
    """
    rows = {
        abbr: {
            "parameter": setting.name,
            "low": setting.low,
            "default": setting.default,
            "high": setting.high,
            "needs": ", ".join(f"{name}={value}" for name, value in setting.needs.items()),
        }
        for abbr, setting in TABLE_IV.items()
    }
    return pd.DataFrame(rows).T.rename_axis("abbr")


def levels(tuned):
    """The levels of all programs.

    Returns
    -------
    DataFrame
        Columns ``program``, ``parameter``, ``level`` and ``seconds``.
    """
    frames = [one.levels.assign(program=name) for name, one in tuned.items()]
    return pd.concat(frames)[["program", "parameter", "level", "seconds"]]


def rates_to_emit(one, events, *, at="default"):
    """Highest rate at which each event is emitted: so that the program's own and it reach what the model has
    seen.

    Parameters
    ----------
    one : Tuned
    events : sequence of str
    at : str, default "default"
        Setting it is emitted at; where that was not recorded, the middle of the random runs stands for it.

    Returns
    -------
    dict of str to float
        Events a second: what the setting lacks to the highest rate among the random runs, but at least a
        tenth of those runs' range, and no more than the emitter can.
    """
    seen, pace = one.runs.rates, one.pace.median()
    lacking = seen.max() - one.usual.get(at, seen.median())
    tops = pace * lacking.clip(lower=0.1 * (seen.max() - seen.min()))
    return {event: min(float(tops[event]), HIGHEST.get(event, float("inf"))) for event in events}


def say_source(tuned):
    """In one sentence, what was counted and where.

    Returns
    -------
    str
    """
    one = next(iter(tuned.values()))
    counted = (
        "hardware events" if one.per == "cycles" else "software events and tracepoints, not hardware events"
    )
    sizes = ", ".join(
        f"{len(each.runs)} runs of {name} (scale {each.scale:g})" for name, each in tuned.items()
    )
    return f"{sizes}; {counted}; {one.machine['model_name']}, {one.machine['processors']} processors."


def _tuned(name, recorded):
    _, first, scale, _ = recorded[0]
    for file, meta, other, _ in recorded:
        if other != scale or _where(meta) != _where(first):
            raise CmlibError(
                f"{file}: {name} at scale {other:g} on {' '.join(_where(meta))}, others at {scale:g} on "
                f"{' '.join(_where(first))}: times can't be compared. Move one kind out of the recordings."
            )
    random, ends, defaults, settings, emitted = [], [], [], {}, {}
    for file, meta, _, options in recorded:
        kind = meta["program"].removeprefix(f"{name}-")
        match kind.split("-"):
            case ["emit", *at, _]:
                emitted.setdefault("-".join(at), []).append((file, meta, emitted_of(options)))
            case ["default"]:
                defaults.append(meta["duration_s"])
                settings.setdefault(kind, []).append((file, meta))
            case [parameter, level]:
                ends.append((parameter, level, meta["duration_s"]))
                settings.setdefault(kind, []).append((file, meta))
            case _:
                random.append((file, meta, settings_of(options)))
    if not random:
        raise NothingRecordedError(
            f"nothing recorded yet of {name} under settings drawn at random: run `{RECORD} --program {name} "
            f"--scale {scale:g}`"
        )
    tried = dict.fromkeys(parameter for parameter, _, _ in ends)
    ends += [(parameter, "default", seconds) for parameter in tried for seconds in defaults]
    levels = pd.DataFrame(ends, columns=["parameter", "level", "seconds"])
    runs, per, pace = _runs(random)
    beside = {at: _runs(some)[0] for at, some in emitted.items()}
    usual = {kind: _usual(some, per) for kind, some in settings.items()}
    return Tuned(runs, levels, per, first["machine"], scale, pace, usual, beside)


def _runs(recorded):
    """Runs with these parameters, what events are divided by, and how much of that there is in a second."""
    names = [
        meta["program"] if meta["pass"] == 0 else f"{meta['program']}/{meta['run']}"
        for _, meta, _ in recorded
    ]
    counts = {name: read_counts(file, meta)[0] for name, (file, meta, _) in zip(names, recorded, strict=True)}
    parameters = pd.DataFrame([values for *_, values in recorded], names).fillna(0.0)
    seconds = pd.Series([meta["duration_s"] for _, meta, _ in recorded], names, name="seconds")
    totals = _totals(counts)
    if "cycles" not in totals:
        rates, pace = _rates(totals, "task-clock"), totals["task-clock"] / seconds
        return tuning.Runs(parameters, rates, seconds, rates, seconds), "task-clock", pace
    intervals = pd.concat({name: _whole(each) for name, each in counts.items()}).droplevel(1)
    examples, rates = _rates(intervals, "cycles"), _rates(totals, "cycles")
    ipc = intervals["instructions"] / intervals["cycles"]
    runs = tuning.Runs(parameters, rates, seconds, examples, ipc.rename("IPC"))
    return runs, "cycles", totals["cycles"] / seconds


def _whole(counts):
    return counts[whole_intervals(np.diff(counts.index.to_numpy(), prepend=0.0))]


def _usual(recorded, per):
    return _rates(_totals({file: read_counts(file, meta)[0] for file, meta in recorded}), per).mean()


def _totals(counts):
    return pd.DataFrame({name: each.sum() for name, each in counts.items()}).T


def _rates(totals, per):
    return totals.drop(columns=[per, "instructions"], errors="ignore").div(totals[per], axis=0)


def _where(meta):
    return meta["machine"]["model_name"], meta["machine"]["kernel"]
