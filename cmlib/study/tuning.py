"""Spark programs under other settings, as notebook 08 asks of them."""

from dataclasses import dataclass

import pandas as pd

from cmlib import places, tuning
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.events import abbreviate
from cmlib.fanout import fan_out
from cmlib.store.raw import find_recordings, read_counts
from cmlib.workloads.programs import read_label
from cmlib.workloads.spark import TABLE_IV
from cmlib.workloads.tuning import FOLDER, settings_of

RANKINGS = {
    "parameters directly": tuning.rank_directly,
    "events first, by pairs": tuning.rank_by_pairs,
    "events first, by effect": tuning.rank_by_effect,
}


@dataclass(frozen=True)
class Tuned:
    """What was recorded of one program.

    Attributes
    ----------
    runs : cmlib.tuning.Runs
        Under settings drawn at random; events per cycle, or per millisecond of processor time [1/ms] where
        cycles were not counted.
    levels : DataFrame
        Runs with one parameter at its lowest or highest value, and with all at their defaults: columns
        ``parameter`` (empty for the defaults), ``level`` and ``seconds``.
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
        If there is none, or none of a program that is named.
    CmlibError
        If a program was recorded with work of different sizes, or on several machines.
    """
    found = find_recordings(folder or places.recordings_dir() / FOLDER)
    rows = {}
    for file, meta in found.items():
        program, scale, options = read_label(meta["command"])
        rows.setdefault(program, []).append((file, meta, scale, options))
    names = list(rows) if wanted == "all" else [name.strip() for name in wanted.split(",")]
    missing = [name for name in names if name not in rows]
    if missing or not names:
        which = "".join(f" --program {name}" for name in missing)
        raise NothingRecordedError(
            f"nothing recorded yet: run `python -m cmlib.workloads.tuning --record{which}`"
        )
    return {name: _tuned(name, rows[name]) for name in names}


def curves(tuned, sizes, *, draws=20, seed=0, workers=None):
    """Error against the number of runs, by parameters, by events, and by both (GBRT study, Table 2).

    Parameters and both predict the time of a run; events the IPC of an interval, where it was counted.

    Parameters
    ----------
    tuned : dict of str to Tuned
    sizes : sequence of int
    draws, seed
        As for :func:`cmlib.tuning.learning_curve`.
    workers : cmlib.fanout.Workers, optional

    Returns
    -------
    DataFrame
        As from :func:`cmlib.tuning.learning_curve`, with columns ``program`` and ``model``.
    """
    jobs = [
        (name, model, *columns, sizes, draws, seed)
        for name, one in tuned.items()
        for model, columns in _models(one.runs).items()
    ]
    return pd.concat(list(fan_out(_curve, jobs, workers)), ignore_index=True)


def runs_needed(tuned, firsts, sizes, *, draws=20, seed=0, workers=None):
    """How often each way of asking names the first parameter, against the number of runs.

    Parameters
    ----------
    tuned : dict of str to Tuned
    firsts : dict of str to str
        Program to the parameter that should be found.
    sizes, draws, seed
        As for :func:`cmlib.tuning.found_first`.
    workers : cmlib.fanout.Workers, optional

    Returns
    -------
    DataFrame
        As from :func:`cmlib.tuning.found_first`, with columns ``program`` and ``way`` (of :data:`RANKINGS`).
    """
    jobs = [
        (name, way, one.runs, firsts[name], size, draws, seed)
        for name, one in tuned.items()
        for way in RANKINGS
        for size in sizes
    ]
    return pd.concat(list(fan_out(_found, jobs, workers)), ignore_index=True)


def enough(found, *, share=90.0):
    """Fewest runs from which on a way of asking names the parameter in at least a share of the draws.

    Parameters
    ----------
    found : DataFrame
        Of :func:`runs_needed`.
    share : float, default 90
        Percent.

    Returns
    -------
    DataFrame
        Index: program; a column a way; NaN where the runs that were recorded are not enough.
    """
    reached = found.sort_values("runs", ascending=False).assign(missed=lambda of: of["found"] < share)
    late = reached[reached.groupby(["program", "way"])["missed"].cumsum() == 0]
    return late.groupby(["program", "way"])["runs"].min().unstack().reindex(columns=list(RANKINGS))


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
    """Every run with one parameter at an end, and those at the defaults beside each parameter.

    Returns
    -------
    DataFrame
        Columns ``program``, ``parameter``, ``level`` and ``seconds``.
    """
    rows = [
        (name, parameter, level, seconds)
        for name, one in tuned.items()
        for parameter, times in _times(one.levels).items()
        for level, all_seconds in times.items()
        for seconds in all_seconds
    ]
    return pd.DataFrame(rows, columns=["program", "parameter", "level", "seconds"])


def variations(tuned):
    """How much each tuned parameter changes the time (CounterMiner, Fig. 14).

    Returns
    -------
    DataFrame
        Columns ``program``, ``parameter`` and those of :func:`cmlib.tuning.variation`.
    """
    rows = []
    for name, one in tuned.items():
        for parameter, times in _times(one.levels).items():
            rows.append({"program": name, "parameter": parameter, **tuning.variation(times)})
    return pd.DataFrame(rows, columns=["program", "parameter", "variation", "low", "high", "p"])


def beside(one, other):
    """Two rankings of the same pairs side by side.

    Parameters
    ----------
    one, other : DataFrame
        Of :func:`cmlib.tuning.couple`, by Friedman's H and by Eq. 12.

    Returns
    -------
    DataFrame
        Columns ``event``, ``parameter``, ``H [%]``, ``Eq. 12 [%]``, ``place by Eq. 12``; in the order of the first.
    """
    places = other.assign(place=range(1, len(other) + 1)).set_index("pair")[["importance", "place"]]
    both = one.join(places, on="pair", rsuffix=" as printed")
    names = {
        "event_a": "event",
        "event_b": "parameter",
        "importance": "H [%]",
        "importance as printed": "Eq. 12 [%]",
        "place": "place by Eq. 12",
    }
    return both.rename(columns=names)[list(names.values())]


def short(events, table):
    """An event's abbreviation, or a tracepoint without its family, for figures."""
    return [name.rpartition(":")[2].removeprefix("sys_enter_") for name in abbreviate(events, table)]


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
    sizes = ", ".join(f"{len(each.runs)} runs of {name}" for name, each in tuned.items())
    return f"{sizes}; {counted}; {one.machine['model_name']}, {one.machine['processors']} processors."


def say_tuning(program, ranked, varied, needed):
    """What was found of one program, in plain words.

    Parameters
    ----------
    program : str
    ranked : DataFrame
        Importances of the parameters (:func:`cmlib.stability.importance_spread`).
    varied : DataFrame
        Of :func:`variations`.
    needed : Series
        Runs by way of asking, of :func:`enough`.

    Returns
    -------
    str
    """
    leading = ranked.iloc[0]
    name = TABLE_IV[leading["parameter"]].name
    said = [
        f"The time depends most on {name}: {leading['mean']:.0f} % of the importance "
        f"({leading['low']:.0f} to {leading['high']:.0f})."
    ]
    for row in varied[varied["program"] == program].to_dict("records"):
        said.append(
            f"{TABLE_IV[row['parameter']].name} from end to end changes it by {row['variation']:.0f} % "
            f"({row['low']:.0f} to {row['high']:.0f}, p = {row['p']:.3f})."
        )
    runs = ", ".join(
        f"{way}: {'more runs than there are' if pd.isna(count) else f'{count:.0f} runs'}"
        for way, count in needed.items()
    )
    return " ".join([*said, f"To name that first parameter nearly always it takes, {runs}."])


def _times(levels):
    default = levels.loc[levels["parameter"] == "", "seconds"].to_list()
    found = {}
    for (parameter, level), group in levels[levels["parameter"] != ""].groupby(["parameter", "level"]):
        found.setdefault(parameter, {"default": default})[level] = group["seconds"].to_list()
    return found


def _tuned(name, recorded):
    _, first, scale, _ = recorded[0]
    for file, meta, other, _ in recorded:
        if other != scale or _where(meta) != _where(first):
            raise CmlibError(
                f"{file}: {name} at scale {other:g} on {' '.join(_where(meta))}, others at {scale:g} on "
                f"{' '.join(_where(first))}: times can't be compared. Move one kind out of the recordings."
            )
    random, levels = [], []
    for file, meta, _, options in recorded:
        kind = meta["program"].removeprefix(f"{name}-").split("-")
        if kind[0].isdigit():
            random.append((file, meta, options))
        else:
            parameter, level = kind if len(kind) == 2 else ("", "default")
            levels.append({"parameter": parameter, "level": level, "seconds": meta["duration_s"]})
    shown = pd.DataFrame(levels, columns=["parameter", "level", "seconds"])
    counts = {meta["program"]: read_counts(file, meta)[0] for file, meta, _ in random}
    runs, per = _runs(
        counts,
        pd.DataFrame({meta["program"]: settings_of(options) for _, meta, options in random}).T,
        pd.Series({meta["program"]: meta["duration_s"] for _, meta, _ in random}, name="seconds"),
    )
    return Tuned(runs, shown, per, first["machine"], scale)


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


def _models(runs):
    return {
        "parameters": (runs.parameters, runs.seconds),
        "events": (runs.examples, runs.performance),
        "events and parameters": (runs.mixed, runs.seconds),
    }


def _curve(job):
    program, model, X, y, sizes, draws, seed = job
    found = tuning.learning_curve(X, y, sizes, draws=draws, seed=seed)
    return found.assign(program=program, model=model)


def _found(job):
    program, way, runs, first, size, draws, seed = job
    found = tuning.found_first(runs, RANKINGS[way], first, [size], draws=draws, seed=seed)
    return found.assign(program=program, way=way)
