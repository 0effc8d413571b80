"""Runs of Spark programs under different settings, read from their recordings."""

from dataclasses import dataclass

import pandas as pd

from cmlib import places, tuning
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.store.raw import find_recordings, read_counts
from cmlib.study.data import listed
from cmlib.workloads.programs import read_label
from cmlib.workloads.spark import TABLE_IV
from cmlib.workloads.tuning import FOLDER, settings_of


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
    """

    runs: tuning.Runs
    levels: pd.DataFrame
    per: str
    machine: dict
    scale: float


def load_tuned(folder="", wanted="all"):
    """Read the recordings of programs under different settings.

    Parameters
    ----------
    folder : path, optional
        ``tuning`` in `data/recordings` by default.
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
    found = find_recordings(folder or places.recordings_dir() / FOLDER)
    rows = {}
    for file, meta in found.items():
        program, scale, options = read_label(meta["command"])
        rows.setdefault(program, []).append((file, meta, scale, options))
    names = list(rows) if wanted == "all" else listed(wanted)
    missing = [name for name in names if name not in rows]
    if missing or not names:
        of = f" of {', '.join(missing)} under other settings" if missing else ""
        which = "".join(f" --program {name}" for name in missing)
        raise NothingRecordedError(
            f"nothing recorded yet{of}: run `python -m cmlib.workloads.tuning --record{which}`, which takes programs "
            "on Spark"
        )
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


def say_source(tuned):
    """In one sentence, what was counted and where.

    Returns
    -------
    str
    """
    one = next(iter(tuned.values()))
    counted = (
        "hardware events" if one.per == "cycles" else "events that the kernel counts, not hardware events"
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
    random, ends, defaults = [], [], []
    for file, meta, _, options in recorded:
        match meta["program"].removeprefix(f"{name}-").split("-"):
            case ["default"]:
                defaults.append(meta["duration_s"])
            case [parameter, level]:
                ends.append((parameter, level, meta["duration_s"]))
            case _:
                random.append((file, meta, options))
    if not random:
        raise NothingRecordedError(
            f"nothing recorded yet of {name} under settings drawn at random: run `python -m cmlib.workloads.tuning "
            f"--record --program {name} --scale {scale:g}`"
        )
    tried = dict.fromkeys(parameter for parameter, _, _ in ends)
    ends += [(parameter, "default", seconds) for parameter in tried for seconds in defaults]
    counts = {meta["program"]: read_counts(file, meta)[0] for file, meta, _ in random}
    runs, per = _runs(
        counts,
        pd.DataFrame({meta["program"]: settings_of(options) for _, meta, options in random}).T,
        pd.Series({meta["program"]: meta["duration_s"] for _, meta, _ in random}, name="seconds"),
    )
    levels = pd.DataFrame(ends, columns=["parameter", "level", "seconds"])
    return Tuned(runs, levels, per, first["machine"], scale)


def _runs(counts, parameters, seconds):
    totals = pd.DataFrame({name: each.sum() for name, each in counts.items()}).T
    if "cycles" not in totals:
        rates = totals.drop(columns="task-clock").div(totals["task-clock"], axis=0)
        return tuning.Runs(parameters, rates, seconds, rates, seconds), "task-clock"
    intervals = pd.concat({name: each.iloc[:-1] for name, each in counts.items()}).droplevel(1)
    examples, rates = (
        each.drop(columns=["cycles", "instructions"]).div(each["cycles"], axis=0)
        for each in (intervals, totals)
    )
    ipc = intervals["instructions"] / intervals["cycles"]
    return tuning.Runs(parameters, rates, seconds, examples, ipc.rename("IPC")), "cycles"


def _where(meta):
    return meta["machine"]["model_name"], meta["machine"]["kernel"]
