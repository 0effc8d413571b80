"""Read the recordings of Spark programs that ran under different settings (parameters of Spark drawn at random).

:func:`load_tuned` reads a folder of recordings, and gives a dict from program to its :class:`TuningRuns`:
parameters, rates of events and run times [s], DataFrames with a row per run. :func:`load_levels` gives the run times of
all sessions in which a single parameter was changed. A NothingRecordedError if there are none; a CmlibError if the
recordings of a program are of several machines or scales.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from cmlib import places, tuning
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.experiments.folders import hardware_first
from cmlib.experiments.requested import resolve_names
from cmlib.experiments.tuning.labels import parse_program_label
from cmlib.experiments.tuning.settings import FOLDER, LEVELS_FOLDER, emitted_of, settings_of
from cmlib.intervals import lengths_by_ends, whole_intervals
from cmlib.io.archive import readable
from cmlib.io.archive.runs import read_run_metadata
from cmlib.io.provenance import OWN_HARDWARE, SOFTWARE_EVENTS, Provenance, note_read, provenance_of_run
from cmlib.io.store.raw import read_run

__all__ = ["describe_tuned", "load_levels", "load_tuned"]

RECORD = "cmlib record-tuning"


@dataclass(frozen=True)
class TuningRuns:
    """Recordings of one program under different settings of Spark.

    `runs` (:class:`cmlib.tuning.Runs`): under settings drawn at random. `levels`: DataFrame of parameter, level and
    seconds, a row per run with all parameters at their defaults but one, at that level ("default": all). `per`: event
    that rates are divided by ("cycles" or "task-clock"), and `pace`, its count per second in each run (Series).
    `machine`: metadata (dict). `scale`: size of the input (float). `usual`: dict from setting ("default",
    "PARAMETER-LEVEL") to mean rates (Series by event). `emitted`: dict from such a setting to the Runs under it, while
    another program caused events at set rates.
    """

    runs: tuning.Runs
    levels: pd.DataFrame
    per: str
    machine: dict
    scale: float
    pace: pd.Series
    usual: dict = field(default_factory=dict)
    emitted: dict = field(default_factory=dict)

    def provenance(self, program: str) -> Provenance:
        """Return the provenance of the counts of `program` (name); only hardware counters count cycles."""
        kind = OWN_HARDWARE if self.per == "cycles" else SOFTWARE_EVENTS
        return Provenance(kind, (program,), (self.per, *self.runs.rates))


def load_tuned(folder: str | Path = "", wanted: str = "all") -> dict[str, TuningRuns]:
    """Dict from program (name) to its TuningRuns.

    `folder` holds the recordings (path; by default those of the data, with hardware counters before others); `wanted`
    is "all" or names separated by commas. Recordings that can't be read are left out with a warning. A
    NothingRecordedError if there are none, or none of a named program; a CmlibError if a named one's are of several
    machines or scales.
    """
    rows = _recorded(Path(folder or hardware_first(places.recordings_dir() / FOLDER)))
    if not rows:
        raise NothingRecordedError(f"nothing recorded yet: run `{RECORD}`, which takes programs on Spark")
    about = "the programs recorded under other settings of Spark"
    todo = f"If it runs on Spark: `{RECORD} --program NAME`"
    names = resolve_names(wanted, rows, about=about, todo=todo)
    if len(names) == 1:
        tuned = {names[0]: _tuned(names[0], rows[names[0]])}
    else:
        tuned = readable(lambda name: _tuned(name, rows[name]), names)
    for name, of_program in tuned.items():
        note_read(of_program.provenance(name))
    return tuned


def describe_tuned(tuned: dict[str, TuningRuns]) -> pd.DataFrame:
    """Describe the runs of each program with random settings, and the machine that recorded them.

    Parameters
    ----------
    tuned : dict of str to TuningRuns
        Result of :func:`load_tuned`.

    Returns
    -------
    DataFrame
        One row per program (index): ``runs`` and ``events`` (numbers), ``counted`` (such as "software events"),
        ``rates per`` (unit by which counts are divided), ``processor`` (name), ``processors`` (number of them) and
        ``virtual machine`` ("no" if there is none).
    """
    rows = {}
    for name, recorded in tuned.items():
        rows[name] = {
            "runs": len(recorded.runs),
            "events": recorded.runs.rates.shape[1],
            "counted": recorded.provenance(name).kind,
            "rates per": "cycle" if recorded.per == "cycles" else "ms of processor time",
            "processor": recorded.machine.get("model_name"),
            "processors": recorded.machine.get("processors"),
            "virtual machine": recorded.machine.get("virtual") or "no",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("program")


def load_levels(folder: str | Path = "", wanted: str = "all") -> pd.DataFrame:
    """Read the times of runs at the defaults, and of runs in which a single parameter was changed.

    A session is a set of runs that were made in turn on one machine, and only times of one session can be compared.
    There are two sessions: one with the runs under random settings, and one in the folder ``tuning-levels``.

    Parameters
    ----------
    folder : path
        Folder of the recordings, with a folder for each session; by default that of the data.
    wanted : str, default "all"
        Programs, names separated by commas.

    Returns
    -------
    DataFrame
        Columns program, session ("DATE, PROCESSOR"), parameter (abbreviation of Table IV), level ("low", "default" or
        "high"), pass (number of the repetition: each run is made once in a pass), date (text) and seconds. One row
        per run and parameter: a run at the defaults has a row for every parameter of its session.

    Raises
    ------
    NothingRecordedError
        If there are no such runs, or none of a named program.
    CmlibError
        If the runs of a session are of several machines or scales.
    """
    frames, kinds = {}, {}
    for session in (FOLDER, LEVELS_FOLDER):
        place = hardware_first(Path(folder or places.recordings_dir()) / session)
        for name, recorded in _recorded(place).items():
            frames.setdefault(name, []).append(_session_levels(name, recorded))
            kinds.setdefault(name, set()).update(provenance_of_run(meta).kind for _, meta, _, _ in recorded)
    frames = {name: pd.concat(sessions) for name, sessions in frames.items()}
    frames = {name: levels for name, levels in frames.items() if len(levels)}
    if not frames:
        raise NothingRecordedError(f"no run with one parameter changed is recorded yet: run `{RECORD}`")
    about = "the programs of which one parameter of Spark was changed"
    names = resolve_names(wanted, frames, about=about, todo=f"If it runs on Spark: `{RECORD} --program NAME`")
    for name in names:
        for kind in kinds[name]:
            note_read(Provenance(kind, (name,)))  # only times are read, no events
    return pd.concat([frames[name] for name in names], ignore_index=True)


def _session_levels(name, recorded):
    """Rows of :func:`load_levels` of one program in one session, from its (file, metadata, scale, options)."""
    _check_comparable(name, recorded)
    changed, defaults = [], []
    for _, meta, _, _ in recorded:
        match meta["program"].removeprefix(f"{name}-").split("-"):
            case ["default"]:
                defaults.append(meta)
            case [parameter, level]:
                changed.append((parameter, level, meta))
    for parameter in dict.fromkeys(parameter for parameter, _, _ in changed):
        changed += [(parameter, "default", meta) for meta in defaults]
    first_date = min((meta["date"] for *_, meta in changed), default="")
    session = f"{first_date[:10]}, {recorded[0][1]['machine'].get('model_name')}"
    rows = [
        (name, session, parameter, level, meta["pass"], meta["date"], meta["duration_s"])
        for parameter, level, meta in changed
    ]
    columns = ["program", "session", "parameter", "level", "pass", "date", "seconds"]
    return pd.DataFrame(rows, columns=columns)


def _recorded(folder):
    """Return the runs below a folder (Path): dict from program to list of (file, metadata, scale, options)."""
    metas, rows = readable(read_run_metadata, sorted(folder.glob("*/*.json"))), {}
    labels = readable(lambda file: parse_program_label(metas[file]["command"]), metas)
    for file, (program, scale, options) in labels.items():
        rows.setdefault(program, []).append((file, metas[file], scale, options))
    return rows


def _check_comparable(name, recorded):
    """Raise a CmlibError unless all runs are of one machine and one scale."""
    _, first, scale, _ = recorded[0]
    for file, meta, other, _ in recorded:
        if other != scale or _where(meta) != _where(first):
            raise CmlibError(
                f"{file}: {name} at scale {other:g} on {' '.join(_where(meta))}, others at {scale:g} on "
                f"{' '.join(_where(first))}: times can't be compared. Move one kind out of the recordings."
            )


def _tuned(name, recorded):
    """TuningRuns of a program, from its (file, metadata, scale, options)."""
    _check_comparable(name, recorded)
    _, first, scale, _ = recorded[0]
    random, ends, defaults, settings, emitted = [], [], [], {}, {}
    by_file = {file: (meta, options) for file, meta, _, options in recorded}
    readings = readable(lambda file: _reading(file, *by_file[file]), by_file)
    for file, (counts, rates, chosen) in readings.items():
        meta = by_file[file][0]
        kind = meta["program"].removeprefix(f"{name}-")
        match kind.split("-"):
            case ["emit", *at, _]:
                emitted.setdefault("-".join(at), []).append((meta, counts, rates))
            case ["default"]:
                defaults.append(meta["duration_s"])
                settings.setdefault(kind, []).append(counts)
            case [parameter, level]:
                ends.append((parameter, level, meta["duration_s"]))
                settings.setdefault(kind, []).append(counts)
            case _:
                random.append((meta, counts, chosen))
    if not random:
        raise NothingRecordedError(
            f"nothing recorded yet of {name} under settings drawn at random: run `{RECORD} --program {name}`"
        )
    tried = dict.fromkeys(parameter for parameter, _, _ in ends)
    ends += [(parameter, "default", seconds) for parameter in tried for seconds in defaults]
    levels = pd.DataFrame(ends, columns=["parameter", "level", "seconds"])
    runs, per, pace = _runs(random)
    emitters = {at: _runs(some)[0] for at, some in emitted.items()}
    usual = {kind: _rates(_totals(dict(enumerate(some))), per).mean() for kind, some in settings.items()}
    return TuningRuns(runs, levels, per, first["machine"], scale, pace, usual, emitters)


def _reading(file, meta, options):
    """(Counts of a run, rates at which events were caused meanwhile, values of the parameters)."""
    counts = read_run(file, meta).counts
    if "task-clock" not in counts and not {"cycles", "instructions"} <= {*counts}:
        raise CmlibError(f"{file} counts neither task-clock nor cycles and instructions.")
    return counts, emitted_of(options), settings_of(options)


def _runs(recorded):
    """(Runs, name of the event that rates are divided by, its count per second in each run).

    `recorded` has (metadata, counts, values of parameters) of each run.
    """
    names = [
        meta["program"] if meta["pass"] == 0 else f"{meta['program']}/{meta['run']}"
        for meta, _, _ in recorded
    ]
    counts = {name: of_run for name, (_, of_run, _) in zip(names, recorded, strict=True)}
    parameters = pd.DataFrame([values for *_, values in recorded], names).fillna(0.0)
    seconds = pd.Series([meta["duration_s"] for meta, _, _ in recorded], names, name="seconds")
    totals = _totals(counts)
    if "cycles" not in totals:
        rates, pace = _rates(totals, "task-clock"), totals["task-clock"] / seconds
        return tuning.Runs(parameters, rates, seconds, rates, seconds), "task-clock", pace
    whole = {name: each[whole_intervals(lengths_by_ends(each.index))] for name, each in counts.items()}
    intervals = pd.concat(whole).droplevel(1)
    examples, rates = _rates(intervals, "cycles"), _rates(totals, "cycles")
    ipc = intervals["instructions"] / intervals["cycles"]
    runs = tuning.Runs(parameters, rates, seconds, examples, ipc.rename("IPC"))
    return runs, "cycles", totals["cycles"] / seconds


def _totals(counts):
    """Sums of each run's counts, a row per run."""
    return pd.DataFrame({name: each.sum() for name, each in counts.items()}).T


def _rates(totals, per):
    """Totals divided by those of the event `per`, without it and instructions."""
    return totals.drop(columns=[per, "instructions"], errors="ignore").div(totals[per], axis=0)


def _where(meta):
    """Processor and kernel of a run."""
    return tuple(str(meta["machine"].get(fact)) for fact in ("model_name", "kernel"))
