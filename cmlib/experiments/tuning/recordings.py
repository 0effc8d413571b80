"""Read the recordings of Spark programs that ran under different settings (parameters of Spark drawn at random).

:func:`load_tuned` reads a folder of recordings, and returns a dict from program to its :class:`TuningRuns`: parameters,
rates of events and run times [s] with one row per run. :func:`load_levels` reads the run times of all sessions in which
a single parameter was changed. NothingRecordedError if there are no recordings, CmlibError if the recordings of a
program are from several machines or scales.
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

    Attributes
    ----------
    runs : cmlib.tuning.Runs
        Runs under settings drawn at random.
    levels : DataFrame
        One row per run and parameter: parameter, level ("low", "default" or "high") and seconds. All other parameters
        were at their defaults.
    per : {"cycles", "task-clock"}
        Event by which rates are divided.
    machine : dict
        Metadata of the machine.
    scale : float
        Size of the input.
    pace : Series
        Count of `per` per second in each run.
    usual : dict of str to Series
        Mean rates by event, for each setting ("default" or "PARAMETER-LEVEL").
    emitted : dict of str to cmlib.tuning.Runs
        For each such setting, the runs during which another program caused events at set rates.
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
        """Return the provenance of the counts.

        Parameters
        ----------
        program : str
            Name of the program.

        Returns
        -------
        cmlib.io.provenance.Provenance
            Its kind is hardware events if cycles were counted, else software events.
        """
        kind = OWN_HARDWARE if self.per == "cycles" else SOFTWARE_EVENTS
        return Provenance(kind, (program,), (self.per, *self.runs.rates))


def load_tuned(folder: str | Path = "", wanted: str = "all") -> dict[str, TuningRuns]:
    """Read the recordings of programs under different settings.

    Recordings that can't be read are left out with a warning.

    Parameters
    ----------
    folder : path, optional
        Folder of the recordings. Default: that of the data, with recordings of hardware events if there are any.
    wanted : str, default "all"
        Names of programs separated by commas, or ``"all"``.

    Returns
    -------
    dict of str to TuningRuns
        By program.

    Raises
    ------
    NothingRecordedError
        If there are no recordings, or none of a named program.
    CmlibError
        If the recordings of the only wanted program are from several machines or scales.
    """
    rows = _read_metadata(Path(folder or hardware_first(places.recordings_dir() / FOLDER)))
    if not rows:
        raise NothingRecordedError(f"nothing recorded yet: run `{RECORD}`, which takes programs on Spark")
    about = "the programs recorded under other settings of Spark"
    todo = f"If it runs on Spark: `{RECORD} --program NAME`"
    names = resolve_names(wanted, rows, about=about, todo=todo)
    if len(names) == 1:
        tuned = {names[0]: _collect_program(names[0], rows[names[0]])}
    else:
        tuned = readable(lambda name: _collect_program(name, rows[name]), names)
    for name, tuning_runs in tuned.items():
        note_read(tuning_runs.provenance(name))
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
        Folder of the recordings, with a folder for each session. Default: that of the data.
    wanted : str, default "all"
        Names of programs separated by commas, or ``"all"``.

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
        If the runs of a session are from several machines or scales.
    """
    frames, kinds = {}, {}
    for session in (FOLDER, LEVELS_FOLDER):
        place = hardware_first(Path(folder or places.recordings_dir()) / session)
        for name, recorded in _read_metadata(place).items():
            frames.setdefault(name, []).append(_list_session_levels(name, recorded))
            kinds.setdefault(name, set()).update(provenance_of_run(meta).kind for _, meta, _, _ in recorded)
    frames = {name: pd.concat(sessions) for name, sessions in frames.items()}
    frames = {name: levels for name, levels in frames.items() if len(levels)}
    if not frames:
        raise NothingRecordedError(f"no run with one parameter changed is recorded yet: run `{RECORD}`")
    about = "the programs recorded with one parameter of Spark changed"
    names = resolve_names(wanted, frames, about=about, todo=f"If it runs on Spark: `{RECORD} --program NAME`")
    for name in names:
        for kind in kinds[name]:
            note_read(Provenance(kind, (name,)))  # only times are read, no events
    return pd.concat([frames[name] for name in names], ignore_index=True)


def _list_session_levels(name, recorded):
    """Return the rows of :func:`load_levels` of one program and session, from its (file, metadata, scale, options)."""
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


def _read_metadata(folder):
    """List the runs below a folder (Path): a dict from program to a list of (file, metadata, scale, options)."""
    metas = readable(read_run_metadata, sorted(folder.glob("*/*.json")))
    labels = readable(lambda file: parse_program_label(metas[file]["command"]), metas)
    rows = {}
    for file, (program, scale, options) in labels.items():
        rows.setdefault(program, []).append((file, metas[file], scale, options))
    return rows


def _check_comparable(name, recorded):
    """Raise a CmlibError unless all runs are from one machine and one scale."""
    _, first, scale, _ = recorded[0]
    machine = _identify_machine(first)
    for file, meta, other_scale, _ in recorded:
        other_machine = _identify_machine(meta)
        if other_scale != scale or other_machine != machine:
            raise CmlibError(
                f"{file}: {name} at scale {other_scale:g} on {' '.join(other_machine)}, others at {scale:g} on "
                f"{' '.join(machine)}: times can't be compared. Move one kind out of the recordings."
            )


@dataclass
class _SortedRuns:
    """The runs of one program, sorted by how their settings were chosen.

    Attributes
    ----------
    random : list of (dict, DataFrame, dict)
        Metadata, counts and values of the parameters of the runs under settings drawn at random.
    emitted : dict of str to list of (dict, DataFrame, dict)
        For each setting, metadata, counts and rates of the caused events of the runs with such events.
    counts : dict of str to list of DataFrame
        For each setting with at most one parameter changed ("default" or "PARAMETER-LEVEL"), the counts of its runs.
    levels : list of (str, str, float)
        Parameter, level and seconds of the runs with one parameter changed.
    default_seconds : list of float
        Seconds of the runs at the defaults.
    """

    random: list = field(default_factory=list)
    emitted: dict = field(default_factory=dict)
    counts: dict = field(default_factory=dict)
    levels: list = field(default_factory=list)
    default_seconds: list = field(default_factory=list)


def _collect_program(name, recorded):
    """Read the TuningRuns of a program, from its (file, metadata, scale, options)."""
    _check_comparable(name, recorded)
    _, first, scale, _ = recorded[0]
    sorted_runs = _sort_runs(name, recorded)
    if not sorted_runs.random:
        raise NothingRecordedError(
            f"nothing recorded yet of {name} under settings drawn at random: run `{RECORD} --program {name}`"
        )
    runs, per, pace = _make_runs(sorted_runs.random)
    usual = {
        setting: _compute_rates(_sum_counts(dict(enumerate(counts))), per).mean()
        for setting, counts in sorted_runs.counts.items()
    }
    return TuningRuns(
        runs=runs,
        levels=_tabulate_levels(sorted_runs),
        per=per,
        machine=first["machine"],
        scale=scale,
        pace=pace,
        usual=usual,
        emitted={setting: _make_runs(emitted)[0] for setting, emitted in sorted_runs.emitted.items()},
    )


def _sort_runs(name, recorded):
    """Read the runs of a program, and sort them by their labels, such as ``PROGRAM-PARAMETER-LEVEL``: _SortedRuns."""
    by_file = {file: (meta, options) for file, meta, _, options in recorded}
    readings = readable(lambda file: _read_run(file, *by_file[file]), by_file)
    sorted_runs = _SortedRuns()
    for file, (counts, rates, parameters) in readings.items():
        meta, _ = by_file[file]
        label = meta["program"].removeprefix(f"{name}-")
        match label.split("-"):
            case ["emit", *setting, _]:
                sorted_runs.emitted.setdefault("-".join(setting), []).append((meta, counts, rates))
            case ["default"]:
                sorted_runs.default_seconds.append(meta["duration_s"])
                sorted_runs.counts.setdefault(label, []).append(counts)
            case [parameter, level]:
                sorted_runs.levels.append((parameter, level, meta["duration_s"]))
                sorted_runs.counts.setdefault(label, []).append(counts)
            case _:
                sorted_runs.random.append((meta, counts, parameters))
    return sorted_runs


def _read_run(file, meta, options):
    """Read (counts of a run, rates at which events were caused meanwhile, values of the parameters)."""
    counts = read_run(file, meta).counts
    if "task-clock" not in counts and not {"cycles", "instructions"} <= {*counts}:
        raise CmlibError(f"{file} counts neither task-clock nor cycles and instructions.")
    return counts, emitted_of(options), settings_of(options)


def _tabulate_levels(sorted_runs):
    """Return the `levels` of TuningRuns: runs with one parameter changed, and for each parameter those at defaults."""
    rows = list(sorted_runs.levels)
    for parameter in dict.fromkeys(parameter for parameter, _, _ in sorted_runs.levels):
        rows += [(parameter, "default", seconds) for seconds in sorted_runs.default_seconds]
    return pd.DataFrame(rows, columns=["parameter", "level", "seconds"])


def _make_runs(recorded):
    """Return (Runs, name of the event that rates are divided by, its count per second in each run).

    `recorded` has (metadata, counts, values of parameters) of each run.
    """
    names = [
        meta["program"] if meta["pass"] == 0 else f"{meta['program']}/{meta['run']}"
        for meta, _, _ in recorded
    ]
    counts_by_run = {name: counts for name, (_, counts, _) in zip(names, recorded, strict=True)}
    parameters = pd.DataFrame([values for *_, values in recorded], names).fillna(0.0)
    seconds = pd.Series([meta["duration_s"] for meta, _, _ in recorded], names, name="seconds")
    totals = _sum_counts(counts_by_run)
    per = "cycles" if "cycles" in totals else "task-clock"
    rates = _compute_rates(totals, per)
    pace = totals[per] / seconds
    if per == "task-clock":
        return tuning.Runs(parameters, rates, seconds, rates, seconds), per, pace
    intervals = _join_whole_intervals(counts_by_run)
    ipc = intervals["instructions"] / intervals["cycles"]
    runs = tuning.Runs(parameters, rates, seconds, _compute_rates(intervals, per), ipc.rename("IPC"))
    return runs, per, pace


def _join_whole_intervals(counts_by_run):
    """Join the intervals of full length of all runs to one DataFrame, indexed by the name of the run."""
    whole = {
        name: counts[whole_intervals(lengths_by_ends(counts.index))] for name, counts in counts_by_run.items()
    }
    return pd.concat(whole).droplevel(1)


def _sum_counts(counts_by_run):
    """Return the sums of each run's counts, one row per run."""
    return pd.DataFrame({name: counts.sum() for name, counts in counts_by_run.items()}).T


def _compute_rates(totals, per):
    """Divide totals by those of the event `per`, and drop this event and instructions."""
    return totals.drop(columns=[per, "instructions"], errors="ignore").div(totals[per], axis=0)


def _identify_machine(meta):
    """Return the processor and the kernel of a run."""
    return tuple(str(meta["machine"].get(fact)) for fact in ("model_name", "kernel"))
