"""Read the recordings of Spark programs that ran with different settings.

:func:`load_tuned` returns the :class:`TuningRuns` of each program: settings, event rates and run times. Most runs
had settings drawn at random. :func:`load_levels` returns the times of runs in which a single parameter was changed.

``cmlib record-tuning`` makes these recordings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

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


class _RecordedRun(NamedTuple):
    """Metadata of one run.

    Attributes
    ----------
    file : Path
        File of the metadata.
    meta : dict
        Metadata.
    scale : float
        Factor of the amount of work.
    options : dict of str to str
        Settings of the run.
    """

    file: Path
    meta: dict[str, Any]
    scale: float
    options: dict[str, str]


@dataclass(frozen=True)
class TuningRuns:
    """Runs of one program with different settings of Spark.

    Attributes
    ----------
    runs : cmlib.tuning.Runs
        Runs with settings drawn at random.
    levels : DataFrame
        Times of runs in which a single parameter was changed. Columns: parameter, level ("low", "default" or
        "high") and seconds.
    per : {"cycles", "task-clock"}
        Event by which counts are divided.
    machine : dict
        Metadata of the machine.
    scale : float
        Factor of the amount of work.
    pace : Series
        Cycles or milliseconds of processor time per second, depending on `per`. One value per run.
    usual : dict of str to Series
        Mean event rates of runs with default settings (key "default"), and of runs with a single changed parameter. For
        example, the key "exc-high" is the parameter "exc" at its level "high".
    emitted : dict of str to cmlib.tuning.Runs
        Runs with such settings, during which a second program caused events on purpose. The parameters of a run are the
        rates of the caused events [1/s]. The keys have the same form as in `usual`.
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
        """Describe where the counts come from.

        Parameters
        ----------
        program : str
            Name of the program.

        Returns
        -------
        cmlib.io.provenance.Provenance
            Kind of the counts (hardware or software events), program and event names.
        """
        kind = OWN_HARDWARE if self.per == "cycles" else SOFTWARE_EVENTS
        return Provenance(kind, (program,), (self.per, *self.runs.rates))


def load_tuned(folder: str | Path = "", wanted: str = "all") -> dict[str, TuningRuns]:
    """Load the runs of programs with different settings.

    Unreadable recordings are skipped with a warning.

    Parameters
    ----------
    folder : path, optional
        Folder of the recordings. Default: the data folder, where recordings of hardware events are preferred to
        recordings of software events.
    wanted : str, default "all"
        Names of programs, separated by commas, or ``"all"``.

    Returns
    -------
    dict of str to TuningRuns
        Runs of each program.

    Raises
    ------
    NothingRecordedError
        If no recording was found, or a named program is not recorded.
    CmlibError
        If a single program is wanted, and its recordings cannot be compared.
    """
    runs_by_program = _read_metadata(Path(folder or hardware_first(places.recordings_dir() / FOLDER)))
    if not runs_by_program:
        raise NothingRecordedError(f"nothing recorded yet: run `{RECORD}`, which records programs on Spark")
    about = "the programs recorded under other settings of Spark"
    todo = f"If it runs on Spark: `{RECORD} --program NAME`"
    names = resolve_names(wanted, runs_by_program, about=about, todo=todo)
    if len(names) == 1:
        tuned = {names[0]: _read_program(names[0], runs_by_program[names[0]])}
    else:
        tuned = readable(lambda name: _read_program(name, runs_by_program[name]), names)
    for name, tuning_runs in tuned.items():
        note_read(tuning_runs.provenance(name))
    return tuned


def describe_tuned(tuned: dict[str, TuningRuns]) -> pd.DataFrame:
    """Describe the runs and the machine of each program.

    Parameters
    ----------
    tuned : dict of str to TuningRuns
        Result of :func:`load_tuned`.

    Returns
    -------
    DataFrame
        One row per program (index), with these columns:

        - ``runs``, ``events``: number of runs with random settings, and number of events.
        - ``counted``: kind of the events. For example, "software events".
        - ``rates per``: unit by which counts are divided.
        - ``processor``, ``processors``: name and number of the processors.
        - ``virtual machine``: name of the hypervisor, or "no".
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
    """Load the times of runs in which a single parameter was changed.

    Only times of the same session can be compared. A session is a series of runs on one machine.

    Parameters
    ----------
    folder : path, optional
        Folder with the subfolders ``tuning`` and ``tuning-levels``. Each contains the recordings of one session.
        Default: the data folder.
    wanted : str, default "all"
        Names of programs, separated by commas, or ``"all"``.

    Returns
    -------
    DataFrame
        One row per run, with these columns. A run with default settings has one row for each parameter.

        - ``program``: name of the program.
        - ``session``: date and processor.
        - ``parameter``: abbreviation in Table IV of the CounterMiner paper.
        - ``level``: "low", "default" or "high".
        - ``pass``: number of the repetition in the session.
        - ``date``: date and time (str).
        - ``seconds``: run time [s].

    Raises
    ------
    NothingRecordedError
        If no such run was found, or a named program has none.
    CmlibError
        If the runs of a session are from different machines, or differ in the amount of work.
    """
    tables = {}  # key: program; one table per session
    kinds = {}  # key: program; kinds of the counts
    for session in (FOLDER, LEVELS_FOLDER):
        session_folder = hardware_first(Path(folder or places.recordings_dir()) / session)
        for name, runs in _read_metadata(session_folder).items():
            table = _tabulate_session(name, runs)
            if len(table):
                tables.setdefault(name, []).append(table)
            kinds.setdefault(name, set()).update(provenance_of_run(run.meta).kind for run in runs)
    if not tables:
        raise NothingRecordedError(f"no run with a single changed parameter is recorded yet: run `{RECORD}`")
    about = "the programs recorded with one parameter of Spark changed"
    names = resolve_names(wanted, tables, about=about, todo=f"If it runs on Spark: `{RECORD} --program NAME`")
    for name in names:
        for kind in kinds[name]:
            note_read(Provenance(kind, (name,)))  # without events, because only times are read
    return pd.concat([table for name in names for table in tables[name]], ignore_index=True)


def _tabulate_session(name: str, runs: Sequence[_RecordedRun]) -> pd.DataFrame:
    """Return the rows of :func:`load_levels` for one program and one session."""
    _check_comparable(name, runs)
    default_runs = []
    changed_runs = []  # (parameter, level, metadata)
    for run in runs:
        match run.meta["program"].removeprefix(f"{name}-").split("-"):
            case ["default"]:
                default_runs.append(run.meta)
            case [parameter, level]:
                changed_runs.append((parameter, level, run.meta))
    all_runs = list(changed_runs)
    for parameter in dict.fromkeys(parameter for parameter, _, _ in changed_runs):
        all_runs += [(parameter, "default", meta) for meta in default_runs]
    first_date = min((meta["date"] for *_, meta in all_runs), default="")
    session = f"{first_date[:10]}, {runs[0].meta['machine'].get('model_name')}"
    rows = [
        (name, session, parameter, level, meta["pass"], meta["date"], meta["duration_s"])
        for parameter, level, meta in all_runs
    ]
    columns = ["program", "session", "parameter", "level", "pass", "date", "seconds"]
    return pd.DataFrame(rows, columns=columns)


def _read_metadata(folder: Path) -> dict[str, list[_RecordedRun]]:
    """Read the metadata of all runs in a folder.

    The keys are the names of the programs.
    """
    metas = readable(read_run_metadata, sorted(folder.glob("*/*.json")))
    labels = readable(lambda file: parse_program_label(metas[file]["command"]), metas)
    runs_by_program = {}
    for file, (program, scale, options) in labels.items():
        runs_by_program.setdefault(program, []).append(_RecordedRun(file, metas[file], scale, options))
    return runs_by_program


def _check_comparable(name: str, runs: Sequence[_RecordedRun]) -> None:
    """Raise an error if runs differ in the machine or in the amount of work."""
    first_machine = _identify_machine(runs[0].meta)
    first_scale = runs[0].scale
    for run in runs:
        machine = _identify_machine(run.meta)
        if run.scale != first_scale or machine != first_machine:
            raise CmlibError(
                f"{run.file}: {name} at scale {run.scale:g} on {' '.join(machine)}, others at {first_scale:g} on "
                f"{' '.join(first_machine)}: times cannot be compared. Move one kind out of the recordings."
            )


class _CountedRun(NamedTuple):
    """One run with its counts.

    Attributes
    ----------
    meta : dict
        Metadata.
    counts : DataFrame
        Counts of each interval.
    parameters : dict of str to float
        Values of Spark's parameters. If a second program caused events, their rates [1/s].
    """

    meta: dict[str, Any]
    counts: pd.DataFrame
    parameters: dict[str, float]


@dataclass
class _SortedRuns:
    """The runs of one program, sorted by the choice of their settings.

    Attributes
    ----------
    random : list of _CountedRun
        Runs with random settings.
    emitted : dict of str to list of _CountedRun
        Runs during which a second program caused events. Keyed by setting: "default" or "PARAMETER-LEVEL".
    counts : dict of str to list of DataFrame
        Counts of the other runs without random settings, keyed by setting.
    levels : list of (str, str, float)
        Parameter, level and time [s] of the runs in which a single parameter was changed.
    default_seconds : list of float
        Times of the runs with default settings [s].
    """

    random: list[_CountedRun] = field(default_factory=list)
    emitted: dict[str, list[_CountedRun]] = field(default_factory=dict)
    counts: dict[str, list[pd.DataFrame]] = field(default_factory=dict)
    levels: list[tuple[str, str, float]] = field(default_factory=list)
    default_seconds: list[float] = field(default_factory=list)


def _read_program(name: str, recorded_runs: Sequence[_RecordedRun]) -> TuningRuns:
    """Read the TuningRuns of a program."""
    _check_comparable(name, recorded_runs)
    sorted_runs = _sort_runs(name, recorded_runs)
    if not sorted_runs.random:
        raise NothingRecordedError(
            f"no run of {name} with random settings is recorded yet: run `{RECORD} --program {name}`"
        )
    runs, per, pace = _make_runs(sorted_runs.random)
    mean_rates = {}
    for setting, counts_of_runs in sorted_runs.counts.items():
        totals = _sum_counts(dict(enumerate(counts_of_runs)))
        mean_rates[setting] = _compute_rates(totals, per).mean()
    return TuningRuns(
        runs=runs,
        levels=_tabulate_levels(sorted_runs),
        per=per,
        machine=recorded_runs[0].meta["machine"],
        scale=recorded_runs[0].scale,
        pace=pace,
        usual=mean_rates,
        emitted={setting: _make_runs(emitted)[0] for setting, emitted in sorted_runs.emitted.items()},
    )


def _sort_runs(name: str, recorded_runs: Sequence[_RecordedRun]) -> _SortedRuns:
    """Read the runs of a program and sort them by their names.

    The name of a run is the program followed by one of these:

    - ``-default``: default settings.
    - ``-PARAMETER-LEVEL``: a single parameter was changed.
    - ``-emit-SETTING-NUMBER``: a second program caused events at fixed rates.
    - ``-NUMBER``: settings drawn at random.
    """
    run_by_file = {run.file: run for run in recorded_runs}
    counts_by_file = readable(lambda file: _read_counts(run_by_file[file]), run_by_file)
    sorted_runs = _SortedRuns()
    for file, counts in counts_by_file.items():
        meta = run_by_file[file].meta
        options = run_by_file[file].options
        label = meta["program"].removeprefix(f"{name}-")
        match label.split("-"):
            case ["emit", *setting, _]:
                run = _CountedRun(meta, counts, emitted_of(options))
                sorted_runs.emitted.setdefault("-".join(setting), []).append(run)
            case ["default"]:
                sorted_runs.default_seconds.append(meta["duration_s"])
                sorted_runs.counts.setdefault(label, []).append(counts)
            case [parameter, level]:
                sorted_runs.levels.append((parameter, level, meta["duration_s"]))
                sorted_runs.counts.setdefault(label, []).append(counts)
            case _:
                sorted_runs.random.append(_CountedRun(meta, counts, settings_of(options)))
    return sorted_runs


def _read_counts(run: _RecordedRun) -> pd.DataFrame:
    """Read the counts of a run, and check its options.

    Raises CmlibError if neither task-clock nor cycles and instructions were counted.
    """
    counts = read_run(run.file, run.meta).counts
    if "task-clock" not in counts and not {"cycles", "instructions"} <= {*counts}:
        raise CmlibError(f"{run.file} counts neither task-clock nor cycles and instructions.")
    # These raise an error if an option is unreadable. The caller skips the run, as if its counts were unreadable.
    emitted_of(run.options)
    settings_of(run.options)
    return counts


def _tabulate_levels(sorted_runs: _SortedRuns) -> pd.DataFrame:
    """Return the table `levels` of TuningRuns."""
    rows = list(sorted_runs.levels)
    for parameter in dict.fromkeys(parameter for parameter, _, _ in sorted_runs.levels):
        rows += [(parameter, "default", seconds) for seconds in sorted_runs.default_seconds]
    return pd.DataFrame(rows, columns=["parameter", "level", "seconds"])


def _make_runs(counted_runs: Sequence[_CountedRun]) -> tuple[tuning.Runs, str, pd.Series]:
    """Join several runs to the input of the tuning models.

    The models learn performance from the event rates of examples. If cycles were counted, an example is an interval,
    and its performance is IPC. Otherwise, an example is a run, and its performance is the run time.

    Parameters
    ----------
    counted_runs : sequence of _CountedRun

    Returns
    -------
    runs : cmlib.tuning.Runs
    per : str
        Event by which counts are divided.
    pace : Series
        Count of this event divided by the run time [1/s], one value per run.
    """
    names = []
    for run in counted_runs:
        is_first_pass = run.meta["pass"] == 0
        names.append(run.meta["program"] if is_first_pass else f"{run.meta['program']}/{run.meta['run']}")
    counts_by_run = {name: run.counts for name, run in zip(names, counted_runs, strict=True)}
    # Runs may differ in the events that a second program caused. The rate of a missing event is 0.
    parameters = pd.DataFrame([run.parameters for run in counted_runs], names).fillna(0.0)
    seconds = pd.Series([run.meta["duration_s"] for run in counted_runs], names, name="seconds")
    totals = _sum_counts(counts_by_run)
    per = "cycles" if "cycles" in totals else "task-clock"
    rates = _compute_rates(totals, per)
    examples = rates
    performance = seconds
    if per == "cycles":
        intervals = _join_complete_intervals(counts_by_run)
        examples = _compute_rates(intervals, per)
        performance = (intervals["instructions"] / intervals["cycles"]).rename("IPC")
    runs = tuning.Runs(
        parameters=parameters, rates=rates, seconds=seconds, examples=examples, performance=performance
    )
    return runs, per, totals[per] / seconds


def _join_complete_intervals(counts_by_run: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join the intervals of all runs, without shortened last intervals. The index is the name of the run."""
    complete = {}
    for name, counts in counts_by_run.items():
        complete[name] = counts[whole_intervals(lengths_by_ends(counts.index))]
    return pd.concat(complete).droplevel(1)


def _sum_counts(counts_by_run: Mapping[Any, pd.DataFrame]) -> pd.DataFrame:
    """Return the total counts of each run, one row per run."""
    return pd.DataFrame({name: counts.sum() for name, counts in counts_by_run.items()}).T


def _compute_rates(counts: pd.DataFrame, per: str) -> pd.DataFrame:
    """Divide counts by the event `per`.

    Instructions are left out, because IPC would follow from them.
    """
    return counts.drop(columns=[per, "instructions"], errors="ignore").div(counts[per], axis=0)


def _identify_machine(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the processor name and the kernel version of a run."""
    return tuple(str(meta["machine"].get(fact)) for fact in ("model_name", "kernel"))
