"""Import files of perf and other tools into the folder of recordings.

:func:`import_files` copies the files unchanged, and writes metadata for each run. All files are read and checked before
anything is written.
"""

import contextlib
import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from cmlib import places
from cmlib.io import events
from cmlib.io.archive import as_text, errors_as, locked, program_folder, programs, reading_errors_as
from cmlib.io.archive.metadata import unknown_machine
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import UNKNOWN, are_totals, check_run, events_of
from cmlib.io.formats.readings import ReadOptions
from cmlib.io.marks import read_marks
from cmlib.io.meaning.tool_metrics import SHARE_EVENTS
from cmlib.io.sources import NO_SHARES, FileRecording, read_recordings
from cmlib.processors import machine_with

# Mode of runs in which each event was counted all the time, and default name of their set.
_ONE_COUNTER_ONE_EVENT = "ocoe"
_DAY_MS = 24 * 3600 * 1000


class _NewRun(NamedTuple):
    """A run to be written."""

    folder: Path
    meta: dict
    recording: FileRecording


def import_notes(metas: Iterable[Mapping]) -> list[str]:
    """Return the notes of imported runs, without duplicates.

    A note says which values of the file were left out, added up or assumed. The frequent note that the file has no
    running shares is not returned.

    Parameters
    ----------
    metas : iterable of mapping
        Metadata of the runs.

    Returns
    -------
    list of str
        Empty if no run was imported.
    """
    notes = []
    for meta in metas:
        if meta.get("imported"):
            note = meta.get("note", "").replace(NO_SHARES, "")
            notes.append(" ".join(note.split()))
    return [note for note in dict.fromkeys(notes) if note]


def printed_shares(metas: Iterable[Mapping]) -> dict[str, float]:
    """Average the shares and ratios that the recording tool computed.

    If runs have different categories, only the runs with the most categories are averaged. Values that these runs lack
    are averaged over the other runs.

    Parameters
    ----------
    metas : iterable of mapping
        Metadata of the runs.

    Returns
    -------
    dict of str to float
        Values keyed by name:

        - Share of the pipeline slots of each top-down category, 0 to 1. For example, ``front end``.
        - Other ratios that :func:`cmlib.io.meaning.tool_metrics.collect_metrics` finds. For example, ``IPC``.
        - ``CPUs`` : median number of CPUs used. NaN if unknown.
    """
    metas = list(metas)
    metrics = pd.DataFrame([meta["printed"] for meta in metas if "printed" in meta])
    n_cpus = pd.Series([meta.get("cpus") for meta in metas], dtype=float).median()
    n_categories = metrics.reindex(columns=[*SHARE_EVENTS]).count(axis=1)
    has_most_categories = n_categories == n_categories.max()
    means_of_complete_runs = metrics[has_most_categories].mean().dropna()
    return {"CPUs": n_cpus} | metrics.mean().to_dict() | means_of_complete_runs.to_dict()


def import_files(
    name: str,
    files: Iterable[str | Path],
    *,
    format: str | None = None,
    mode: str | None = None,
    set_name: str | None = None,
    interval_ms: int | None = None,
    columns: Mapping | None = None,
    place: str = "",
    marks: str | Path | None = None,
    condition: str = "",
    command: str = "",
    note: str = "",
    about: Mapping | None = None,
    processor: str | None = None,
    folder: str | Path | None = None,
) -> list[Path]:
    """Import files of counts as recordings of a program.

    Each run in the files is added to a set (a named plan of events). If the set already has a run with the same events,
    the new run repeats it (it begins another pass). Otherwise, the new run adds its events to the set.

    Parameters
    ----------
    name : str
        Name of the program, and of its folder among the recordings.
    files : sequence of path
        Output of perf or another tool. Files can be compressed by gzip, xz, bzip2 or Zstandard.
    format : str, optional
        Name of the files' format. Default: it is recognized.
    mode : {"ocoe", "mlpx"}, optional
        ``ocoe`` (one counter, one event) if each event was counted all the time. ``mlpx`` (multiplexed) if events took
        turns on the counters. Default: derived from the running shares, or ``unknown`` if the file has none.
    set_name : str, optional
        Name of the set. Default: chosen by the mode. For example, ``ocoe``, or ``mlpx12`` for twelve multiplexed
        events.
    interval_ms : int, optional
        Time between samples [ms], 1 to 86,400,000. Default: the shortest interval in the file except the last.
    columns : mapping of str to {"count", "level"}, optional
        Further columns to import from a table with one column per event. Use ``level`` for values that are not counts.
        For example, ``{"power": "level"}``.
    place : str, default ""
        CPU, core, socket or node to import from a file with separate counts. For example, ``CPU3``. Default: the counts
        of all are added up.
    marks : path, optional
        File of marks (named time ranges), as :func:`cmlib.io.marks.read_marks` reads them. Each mark becomes a program
        NAME-MARK.
    condition : str, default ""
        Condition that distinguishes the runs from other runs of the program. For example, ``collocated``. The program
        is named NAME-CONDITION. Default: `place`.
    command : str, default ""
        Measured command, for the metadata.
    note : str, default ""
        Remark for the metadata.
    about : dict, optional
        Output of ``cmlib doctor --json`` on the measured machine.
    processor : str, optional
        Processor of the measured machine. For example, ``amd_zen5``.
    folder : path, optional
        Folder of all recordings. Default: `data/recordings`.

    Returns
    -------
    list of pathlib.Path
        Metadata files of the new runs.

    Raises
    ------
    RecordError
        If a file cannot be read, was imported before, or cannot be compared with the existing runs of the program. Also
        if an argument is not valid, or a file cannot be written.
    """
    if interval_ms is not None and not 1 <= interval_ms <= _DAY_MS:
        raise RecordError(
            f"an interval has 1 to {_DAY_MS:,} ms, which is a day; got {reprlib.repr(interval_ms)}."
        )
    recordings = Path(folder or places.recordings_dir())
    condition = condition or place
    programs.check_names(_name_program(name, "", condition), set_name or _ONE_COUNTER_ONE_EVENT)
    origin = _describe_origin(about, processor, command, note) | {"condition": condition}
    file_recordings = read_recordings(
        map(Path, files),
        origin["machine"],
        format=format,
        options=ReadOptions(columns=columns or {}, interval_ms=interval_ms),
        place=place,
        marks=read_marks(marks) if marks else (),
        mode=mode,
    )
    recordings_by_program: dict[str, list[FileRecording]] = {}
    for recording in file_recordings:
        program = _name_program(name, recording.name, condition)
        recordings_by_program.setdefault(program, []).append(recording)
    with errors_as(RecordError, recordings):
        recordings.mkdir(parents=True, exist_ok=True)
    # The lock is held until the files are written. No other import can choose the same names of runs.
    with errors_as(RecordError, recordings), locked(recordings):
        new_runs = []
        for program, program_recordings in recordings_by_program.items():
            new_runs += _prepare_runs(recordings / program, program_recordings, set_name, origin)
        with contextlib.ExitStack() as folders:
            for program_path in dict.fromkeys(run.folder for run in new_runs):
                folders.enter_context(program_folder(program_path))
            return _write_runs(new_runs)


def _write_runs(new_runs: Iterable[_NewRun]) -> list[Path]:
    """Write new runs.

    After an error, the runs that were written are removed. If a file contains several runs of a program, its content is
    stored once. The other runs have links to it.
    """
    metadata_files = []
    first_run_by_content: dict[tuple[Path, bytes], Path] = {}
    try:
        for new_run in new_runs:
            raw = new_run.recording.raw
            metadata_file = programs.add_run(new_run.folder, new_run.meta, raw)
            metadata_files.append(metadata_file)
            first_run = first_run_by_content.setdefault((new_run.folder, raw), metadata_file)
            if first_run != metadata_file:
                programs.share_content(first_run, metadata_file)
    except BaseException:
        for metadata_file in metadata_files:
            programs.remove_run(metadata_file)
        raise
    return metadata_files


def _name_program(name: str, mark: str, condition: str) -> str:
    """Return the name of a run's program: ``NAME-MARK-CONDITION``.

    Empty parts are omitted.
    """
    return "-".join(filter(None, [name, mark, condition]))


def _prepare_runs(
    folder: Path, recordings: Iterable[FileRecording], set_name: str | None, origin: dict
) -> list[_NewRun]:
    """Make the metadata of a program's new runs, and check each run against all runs before it.

    Parameters
    ----------
    folder : Path
        Folder of the program.
    recordings : iterable of FileRecording
        New recordings of the program.
    set_name : str or None
        Name of the set. None to choose it by the mode.
    origin : dict
        Metadata that the files do not contain, from :func:`_describe_origin`.

    Returns
    -------
    list of _NewRun

    Raises
    ------
    RecordError
        If a run was imported before, or cannot be compared with the other runs.
    """
    metas = dict(programs.existing_runs(folder))
    identities = {run: _identify(programs.read_raw(folder, run), meta) for run, meta in metas.items()}
    new_runs = []
    for recording in recordings:
        meta = _make_metadata(folder.name, recording, set_name, origin, metas)
        identity = _identify(recording.raw, meta)
        for run, existing_identity in identities.items():
            if identity == existing_identity:
                raise RecordError(f"{recording.file} is {folder.name}/{run} already; nothing was imported.")
        check_run(meta, folder / f"{meta['run']}.json")
        programs.check_comparable(metas.values(), meta)
        metas[meta["run"]] = meta
        identities[meta["run"]] = identity
        new_runs.append(_NewRun(folder, meta, recording))
    return new_runs


def _identify(raw: bytes, meta: Mapping) -> tuple[bytes, str]:
    """Return the identity of a run: the content of its file and the selected rows."""
    selected = {key: meta[key] for key in ("selection", "parts") if key in meta}
    return raw, repr(selected)


def _make_metadata(
    program: str,
    recording: FileRecording,
    set_name: str | None,
    origin: dict,
    existing: Mapping[str, dict],
) -> dict:
    """Make the metadata of a new run.

    `existing` has the metadata of the program's other runs, keyed by name.
    """
    facts = recording.facts
    set_name = set_name or _choose_set_name(facts)
    position, same_events_metas = programs.next_place(program, set_name, events_of(facts), existing)
    meta = position | facts
    if same_events_metas:
        meta["groups"] = same_events_metas[0]["groups"]
    meta |= origin
    meta["note"] = " ".join(filter(None, [origin["note"], recording.note]))
    machine = meta["machine"] | facts.get("machine", {})
    core = events.core_pmu([*events_of(meta), *meta.get("names", {})])
    microarchitecture = events.find_microarchitecture(machine, core) if core else core
    meta["machine"] = machine | machine_with(microarchitecture)
    return meta


def _choose_set_name(facts: Mapping) -> str:
    """Return the default name of a run's set.

    For example, ``ocoe``, ``mlpx12``, ``counts`` or ``totals_ocoe``.
    """
    names = events_of(facts)
    if facts["mode"] == _ONE_COUNTER_ONE_EVENT:
        set_name = _ONE_COUNTER_ONE_EVENT
    elif facts["mode"] == UNKNOWN:
        set_name = "counts"
    else:
        # Pinned events and second readings of an event are not multiplexed events of their own.
        n_multiplexed = len(names) - len(events.second_readings(names)) - len(facts["pinned"])
        set_name = f"mlpx{n_multiplexed}"
    return f"totals_{set_name}" if are_totals(facts) else set_name


def _describe_origin(about: Mapping | None, processor: str | None, command: str, note: str) -> dict:
    """Make the metadata that files do not contain: machine, counters, command and note.

    `about` is the output of ``cmlib doctor --json``, or None if the machine is unknown. RecordError is raised if it is
    anything else.
    """
    if about is None:
        about = {"machine": {}, "offered_counters": None, "good_counters": None}
    problem = "the description of the machine is not the output of `cmlib doctor --json`"
    with reading_errors_as(RecordError, problem, errors=(KeyError, TypeError)):
        counters = {"offered": about["offered_counters"], "good": about["good_counters"]}
        machine = unknown_machine() | about["machine"] | machine_with(processor)
    origin = {"counters": counters, "machine": machine, "command": command, "note": note}
    with errors_as(RecordError, ""):
        # Checks that the entries are JSON-serializable.
        as_text(origin, "the description of the machine, the command or the note")
    return origin | {"exit_code": None, "imported": True}
