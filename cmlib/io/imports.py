"""Import counts that were recorded elsewhere.

:func:`import_files` copies files of perf or other tools, unchanged, into the folder of recordings, and writes metadata
beside each copy. All files are read and checked before anything is written.
"""

import contextlib
import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path

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

# Mode of runs in which each event was counted all the time; also the usual name of their set.
_ONE_COUNTER_ONE_EVENT = "ocoe"
_DAY_MS = 24 * 3600 * 1000


def import_notes(metas: Iterable[Mapping]) -> list[str]:
    """List the distinct notes that were made when runs were imported.

    Runs that cmlib recorded itself have no notes. The note that running shares are missing is left out.

    Parameters
    ----------
    metas : iterable of mapping
        Metadata of the runs.
    """
    notes = []
    for meta in metas:
        if meta.get("imported"):
            note = meta.get("note", "").replace(NO_SHARES, "")
            notes.append(" ".join(note.split()))
    return [note for note in dict.fromkeys(notes) if note]


def printed_shares(metas: Iterable[Mapping]) -> dict[str, float]:
    """Average over runs the shares and ratios that the recording tool itself computed.

    Some runs may have shares of fewer top-down categories of level 1 than others. Such a run contributes only the
    values that no run with the most categories has, so that all categories of level 1 come from the same runs.

    Parameters
    ----------
    metas : iterable of mapping
        Metadata of the runs.

    Returns
    -------
    dict of str to float
        Share of the slots (0 to 1) by category, such as ``front end``; other ratios that
        :func:`cmlib.io.meaning.tool_metrics.collect_metrics` finds; and ``CPUs``, the median number of CPUs that a run
        used (NaN if unknown).
    """
    metas = list(metas)
    metrics = pd.DataFrame([meta["printed"] for meta in metas if "printed" in meta])
    n_cpus = pd.Series([meta.get("cpus") for meta in metas], dtype=float).median()
    n_categories = metrics.reindex(columns=[*SHARE_EVENTS]).count(axis=1)
    has_most_categories = n_categories == n_categories.max()
    means_of_complete_runs = metrics[has_most_categories].mean().dropna()
    return {"CPUs": n_cpus} | metrics.mean().to_dict() | means_of_complete_runs.to_dict()


def import_files(
    name,
    files,
    *,
    format=None,
    mode=None,
    set_name=None,
    interval_ms=None,
    columns=None,
    place="",
    marks=None,
    condition="",
    command="",
    note="",
    about=None,
    processor=None,
    folder=None,
):
    """Import files of counts as recordings of a program. A file holds one run or several.

    All files are read and checked before the first is stored. The new runs are sorted into sets. A run with the same
    events as another run of its set becomes a further pass (a repetition). A run with different events becomes a
    further part, because the events of a set may be spread over several runs.

    Facts that a file does not contain stay unknown, with two exceptions. An event is taken as pinned (counted all the
    time) if its modifier says so. Events are taken as one group if they were on the counters for the same share of
    every interval.

    Parameters
    ----------
    name : str
        Name of the program, and of its folder among the recordings.
    files : sequence of path
        Plain, or packed by gzip, xz, bzip2 or Zstandard, as perf wrote them.
    format : str, optional
        Name of the files' format; by default the only one that recognizes each.
    mode : {"ocoe", "mlpx"}, optional
        ``ocoe`` (one counter, one event) if each event was counted all the time, ``mlpx`` (multiplexed) if they took
        turns. Default: derived from the running shares, or ``unknown`` if the file has none.
    set_name : str, optional
        Name of the set. By default ``ocoe``, ``mlpx12`` (multiplexed, twelve events in a run), or ``counts`` if the
        file has no running shares. The prefix ``totals_`` is added if the counts are totals of whole runs.
    interval_ms : int, optional
        Time between samples [ms], 1 to 86,400,000. Default: the shortest interval in the file, except the last one,
        which the program's end cuts short.
    columns : mapping of str to {"count", "level"}, optional
        Further columns to import from a wide table (one column per event): columns without an event's name, such as
        power or a latency, which the events are to explain.
    place : str, default ""
        The CPU, core, socket or node to import, such as ``CPU3``, from a file with separate counts for each. If empty,
        their counts are added up. A place is also the default of `condition`.
    marks : path, optional
        File of marks (:func:`cmlib.io.marks.read_marks`), which cut each recording into programs or phases. Each piece
        is stored as program NAME-MARK.
    condition : str, default ""
        How the runs differ from others of the program, such as ``collocated``. They are stored as program
        NAME-CONDITION, so that they are never combined with the others.
    command : str, default ""
        The command that was measured.
    note : str, default ""
        Remark to store in the metadata.
    about : dict, optional
        Output of ``cmlib doctor --json`` on the machine of the recording.
    processor : str, optional
        The machine's processor, as :func:`cmlib.processors.find` names it.
    folder : path, optional
        Folder of all recordings. Default: `data/recordings`.

    Returns
    -------
    list of pathlib.Path
        Metadata files of the new runs.

    Raises
    ------
    RecordError
        If an argument is not allowed; if a file can't be read, has no known format, has no counts or was imported
        before; if a new run can't be compared with the runs of its program; or if the runs can't be written.
    """
    if interval_ms is not None and not 1 <= interval_ms <= _DAY_MS:
        got = reprlib.repr(interval_ms)
        raise RecordError(f"an interval has 1 to {_DAY_MS:,} ms, which is a day; got {got}.")
    recordings = Path(folder or places.recordings_dir())
    condition = condition or place
    programs.check_names(_name_program(name, "", condition), set_name or _ONE_COUNTER_ONE_EVENT)
    origin = _describe_origin(about, processor, command, note) | {"condition": condition}
    file_recordings = read_recordings(
        files,
        origin["machine"],
        format=format,
        options=ReadOptions(columns=columns or {}, interval_ms=interval_ms),
        place=place,
        marks=read_marks(marks) if marks else (),
        mode=mode,
    )
    recordings_by_program = {}
    for recording in file_recordings:
        program = _name_program(name, recording.name, condition)
        recordings_by_program.setdefault(program, []).append(recording)
    with errors_as(RecordError, recordings):
        recordings.mkdir(parents=True, exist_ok=True)
    # Locked until the files are written, so that no other import takes the same names of runs.
    with errors_as(RecordError, recordings), locked(recordings):
        new_runs = []
        for program, program_recordings in recordings_by_program.items():
            new_runs += _prepare_runs(recordings / program, program_recordings, set_name, origin)
        with contextlib.ExitStack() as folders:
            for target in dict.fromkeys(target for target, _, _ in new_runs):
                folders.enter_context(program_folder(target))
            return _add_runs(new_runs)


def _add_runs(new_runs: Iterable[tuple[Path, dict, FileRecording]]) -> list[Path]:
    """Write runs, and return the paths of their metadata. After an error, remove those that were written.

    Each run is the folder of its program, its metadata and its recording. A file with several runs is stored once per
    program: the content of the further runs is a link to that of the first.
    """
    metadata_files = []
    first_run_by_content = {}
    try:
        for target, meta, recording in new_runs:
            metadata_file = programs.add_run(target, meta, recording.raw)
            metadata_files.append(metadata_file)
            first_run = first_run_by_content.setdefault((target, recording.raw), metadata_file)
            if first_run != metadata_file:
                programs.share_content(first_run, metadata_file)
    except BaseException:
        for metadata_file in metadata_files:
            programs.remove_run(metadata_file)
        raise
    return metadata_files


def _name_program(name, mark, condition):
    """Return the name ``NAME-MARK-CONDITION`` of a run's program, without the parts that are empty."""
    return "-".join(filter(None, [name, mark, condition]))


def _prepare_runs(
    target: Path, recordings: Iterable[FileRecording], set_name: str | None, origin: dict
) -> list[tuple[Path, dict, FileRecording]]:
    """Make the metadata of new runs of a program, and check each run against all runs before it.

    Parameters
    ----------
    target : Path
        Folder of the program.
    recordings : iterable of FileRecording
    set_name : str or None
        None for the usual name.
    origin : dict
        Entries of metadata that files do not contain, as :func:`_describe_origin` returns them.

    Returns
    -------
    list of (Path, dict, FileRecording)
        `target`, metadata and recording of each run.

    Raises
    ------
    RecordError
        If a run exists already, or can't be compared with the program's other runs.
    """
    metas = dict(programs.existing_runs(target))
    identities = {run: _identify(programs.read_raw(target, run), meta) for run, meta in metas.items()}
    new_runs = []
    for recording in recordings:
        meta = _make_metadata(target.name, recording, set_name, origin, metas)
        identity = _identify(recording.raw, meta)
        for run, other_identity in identities.items():
            if identity == other_identity:
                raise RecordError(f"{recording.file} is {target.name}/{run} already; nothing was imported.")
        check_run(meta, target / f"{meta['run']}.json")
        programs.check_comparable(metas.values(), meta)
        metas[meta["run"]] = meta
        identities[meta["run"]] = identity
        new_runs.append((target, meta, recording))
    return new_runs


def _identify(raw: bytes, meta: Mapping) -> tuple[bytes, str]:
    """Return the file of a run and the selection from it: if both are equal, so are two runs."""
    selected = {key: meta[key] for key in ("selection", "parts") if key in meta}
    return raw, repr(selected)


def _make_metadata(
    program: str,
    recording: FileRecording,
    set_name: str | None,
    origin: dict,
    existing: Mapping[str, dict],
) -> dict:
    """Make the metadata of a run: facts of its file, its position in the set, its groups of events, and its origin.

    `existing` is the metadata of the program's runs by name.
    """
    facts = recording.facts
    set_name = set_name or _choose_set_name(facts)
    position, same_events_metas = programs.next_place(program, set_name, events_of(facts), existing)
    meta = position | facts
    if same_events_metas:
        meta["groups"] = same_events_metas[0]["groups"]
    meta |= origin
    meta["note"] = " ".join(filter(None, [origin["note"], recording.note]))
    core = events.core_pmu([*events_of(meta), *meta.get("names", {})])
    machine = meta["machine"] | facts.get("machine", {})
    meta["machine"] = machine | machine_with(core and events.find_microarchitecture(machine, core))
    return meta


def _choose_set_name(facts: Mapping) -> str:
    """Return the usual name of a run's set, such as ``ocoe``, ``mlpx12``, ``counts`` or ``totals_ocoe``."""
    names = events_of(facts)
    # Neither pinned events nor second readings of an event take turns on the counters.
    n_multiplexed = len(names) - len(events.second_readings(names)) - len(facts["pinned"])
    if facts["mode"] == _ONE_COUNTER_ONE_EVENT:
        set_name = _ONE_COUNTER_ONE_EVENT
    elif facts["mode"] == UNKNOWN:
        set_name = "counts"
    else:
        set_name = f"mlpx{n_multiplexed}"
    return f"totals_{set_name}" if are_totals(facts) else set_name


def _describe_origin(about, processor, command, note):
    """Make the entries of metadata that files do not contain: machine, counters, command and note.

    `about` is the output of ``cmlib doctor --json``, or None if the machine is unknown. RecordError if it is anything
    else.
    """
    about = {"machine": {}, "offered_counters": None, "good_counters": None} if about is None else about
    problem = "the description of the machine is not the output of `cmlib doctor --json`"
    with reading_errors_as(RecordError, problem, errors=(KeyError, TypeError)):
        counters = {"offered": about["offered_counters"], "good": about["good_counters"]}
        machine = unknown_machine() | about["machine"] | machine_with(processor)
    origin = {"counters": counters, "machine": machine, "command": command, "note": note}
    with errors_as(RecordError, ""):
        as_text(origin, "the description of the machine, the command or the note")
    return origin | {"exit_code": None, "imported": True}
