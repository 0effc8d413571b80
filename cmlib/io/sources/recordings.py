"""Convert the pieces of files to recordings: counts, running shares and metadata."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cmlib.io import events
from cmlib.io.archive.runs import RUNS
from cmlib.io.events import base_name
from cmlib.io.formats.readings import Program, ReadOptions, Run
from cmlib.io.marks import Mark
from cmlib.io.meaning.doubts import Measured, find_doubtful
from cmlib.io.meaning.event_names import find_mode, map_events
from cmlib.io.meaning.facts import describe_recording, measure_cpus, parse_start
from cmlib.io.meaning.plausibility import check_plausible
from cmlib.io.meaning.stored import Derived, derive_series
from cmlib.io.meaning.tool_metrics import IPC, collect_metrics
from cmlib.io.sources.notes import write_note
from cmlib.io.sources.pieces import Piece, join_totals, read_pieces, reading_errors_in


@dataclass(frozen=True)
class FileRecording:
    """One recording in a file.

    A recording has the counts of one run per interval, or the totals of several runs of a program.

    Attributes
    ----------
    file : pathlib.Path
        File of the recording. The first file if totals were joined from several files.
    raw : bytes
        Decompressed content of the file, or the joined content of several files.
    facts : dict
        Metadata. The keys are described in ``metadata.yaml`` of :mod:`cmlib.io.archive`.
    counts : DataFrame, shape (n_intervals, n_events)
        Counts per interval, NaN if not counted. Index ``time_s``: end of the interval [s]. Columns: names of events in
        cmlib's event tables.
    running : DataFrame, shape (n_intervals, n_events)
        Running share of each event: the fraction of the interval in which the event was counted, 0 to 1. NaN if
        unknown.
    note : str
        Sentences on values that were left out, added up or assumed.
    name : str
        Program, kind of core and mark, joined by dashes. Empty if the file has only one recording.
    """

    file: Path
    raw: bytes
    facts: dict
    counts: pd.DataFrame
    running: pd.DataFrame
    note: str
    name: str = ""


def read_recordings(
    files: Iterable[Path],
    machine: Mapping,
    *,
    format: str | None = None,
    options: ReadOptions | None = None,
    place: str = "",
    marks: Sequence[Mark] = (),
    mode: str | None = None,
) -> list[FileRecording]:
    """Read all recordings in files.

    Each run with counts per interval is a recording. Totals of runs with the same program and events are joined into
    one recording, with one row per run.

    Parameters
    ----------
    files : iterable of path
        Plain files, or files that gzip, xz, bzip2 or Zstandard compressed.
    machine : mapping
        Description of the machine, as in metadata. Empty if unknown.
    format : str, optional
        Name of the format of all files. Default: the format of each file is recognized.
    options : ReadOptions, optional
        Options of the formats.
    place : str, default ""
        CPU, core, socket, node or kind of core to read. For example, ``CPU3``. Default: all.
    marks : sequence of Mark, default ()
        Named periods of time. If given, the complete intervals within each mark become a recording.
    mode : {"ocoe", "mlpx"}, optional
        ``ocoe`` if each event was counted all the time, ``mlpx`` if events took turns on the counters. Default: derived
        from the running shares.

    Returns
    -------
    list of FileRecording

    Raises
    ------
    RecordError
        If a file cannot be read or has impossible counts. The message names the file.
    """
    options = options or ReadOptions()
    pieces = []
    for file in map(Path, files):
        pieces += read_pieces(file, machine, format, options, place, marks)
    recordings = []
    measured = []
    for piece in join_totals(pieces):
        with reading_errors_in(piece.file):
            derived = derive_series(piece.program, piece.levels)
            check_plausible(
                piece.file,
                derived.table.rows,
                whole_runs=derived.table.of_whole_runs,
                chosen=options.columns,
            )
            recording = _make_recording(piece, derived, options, mode)
        recordings.append(recording)
        measured.append(_measure(piece, derived, recording))
    return _mark_doubtful(recordings, measured)


def _make_recording(piece: Piece, derived: Derived, options: ReadOptions, mode: str | None) -> FileRecording:
    """Make the recording of a piece, and translate the names of its events."""
    times = derived.counts.index - (piece.selection.start_s or 0.0)
    names = events.translate(derived.counts, piece.machine)
    counts = derived.counts.rename(columns=names).set_axis(times)
    running = derived.running.rename(columns=names).set_axis(times)
    facts = describe_recording(derived.table.rows, counts, running, names)
    facts |= {"date": _find_date(piece.program), "names": names}
    facts |= _describe_storage(piece, options)
    if mode is not None:
        facts["mode"] = mode
    facts |= _describe_axis(derived, options)
    facts |= _describe_measurement(piece, derived)
    note = write_note(piece, derived, counts, names)
    raw = piece.raw + b"".join(further_piece.raw for further_piece in piece.further_pieces)
    return FileRecording(piece.file, raw, facts, counts, running, note, piece.name)


def _describe_storage(piece: Piece, options: ReadOptions) -> dict:
    """Return the metadata for reading the recording again from its file."""
    entries: dict[str, Any] = {"format": piece.format}
    selection = piece.selection.as_metadata()
    if piece.further_pieces:
        entries["parts"] = [
            {"bytes": len(part.raw), "format": part.format, "selection": part.selection.as_metadata()}
            for part in (piece, *piece.further_pieces)
        ]
    elif selection:
        entries["selection"] = selection
    if options.columns:
        entries["columns"] = dict(options.columns)
    if options.interval_ms is not None:
        entries["read_interval_ms"] = options.interval_ms
    return entries


def _describe_axis(derived: Derived, options: ReadOptions) -> dict:
    """Return the metadata that :func:`describe_recording` cannot derive from the times in the file.

    The axis is runs if each interval is a complete run. The user can give the length of the intervals. Otherwise, the
    result is empty.
    """
    if derived.table.of_whole_runs:
        return {"axis": RUNS, "interval_ms": 1000}
    if options.interval_ms is not None:
        return {"interval_ms": options.interval_ms}
    return {}


def _describe_measurement(piece: Piece, derived: Derived) -> dict:
    """Return the metadata that not all files contain.

    The result has the metrics of the recording tool, the number of used CPUs, the machine and the processor times.
    """
    n_cpus = None if derived.table.of_whole_runs else measure_cpus(piece.program.counts)
    entries = {
        "printed": collect_metrics(piece.program.metrics),
        "cpus": n_cpus,
        "zeros_uncounted": bool(derived.hidden),
        "machine": piece.machine,
    }
    known_entries = {key: value for key, value in entries.items() if value}
    return known_entries | _list_cpu_times(piece.program)


def _list_cpu_times(program: Program) -> dict[str, list[float]]:
    """Return the processor times of the selected runs [s].

    The key ``user_s`` has the times in user mode, and ``system_s`` the times in the kernel. Empty if unknown.
    """
    runs = _select_runs(program)
    times = {"user_s": [run.user_s for run in runs], "system_s": [run.system_s for run in runs]}
    return {name: values for name, values in times.items() if values and np.isfinite(values).all()}


def _select_runs(program: Program) -> list[Run]:
    """Return the description of each run with selected rows. Runs that the file does not describe are omitted."""
    rows = program.counts if len(program.counts) else program.metrics
    numbers = dict.fromkeys(rows["run"])
    return [program.runs[number - 1] for number in numbers if number <= len(program.runs)]


def _find_date(program: Program) -> str | None:
    """Return the date of the first selected run (ISO 8601).

    Returns None if unknown.
    """
    runs = _select_runs(program)
    return parse_start(runs[0].started) if runs else None


def _measure(piece: Piece, derived: Derived, recording: FileRecording) -> Measured:
    """Collect the values that are compared between the recordings of a file."""
    program = piece.program
    runs = _select_runs(program)
    cpu_s = np.nan
    if runs:
        seconds = [run.user_s if _is_user_only(program) else run.user_s + run.system_s for run in runs]
        cpu_s = float(np.sum(seconds))
    return Measured(
        recording.counts, recording.running, derived.table.are_lengths_known, cpu_s, piece.selection.kind
    )


def _is_user_only(program: Program) -> bool:
    """Return True if cycles were counted only in user mode."""
    is_cycles = map_events(program.counts["event"], lambda event: "cycles" in base_name(event))
    names = program.counts["event"][is_cycles.astype(bool)].unique()
    modes = [find_mode(event) for event in names]
    return bool(modes) and all(mode is not None and mode.mode == "u" for mode in modes)


def _mark_doubtful(recordings: Sequence[FileRecording], measured: Sequence[Measured]) -> list[FileRecording]:
    """Add the doubtful counts to the metadata of each recording.

    See :func:`find_doubtful`. It compares the recordings of the same file.
    """
    doubtful_by_number: dict[int, dict[str, str]] = {}
    for file in dict.fromkeys(recording.file for recording in recordings):
        numbers = [number for number, recording in enumerate(recordings) if recording.file == file]
        doubtful = find_doubtful([measured[number] for number in numbers])
        doubtful_by_number |= dict(zip(numbers, doubtful, strict=True))
    return [_add_doubts(recording, doubtful_by_number[number]) for number, recording in enumerate(recordings)]


def _add_doubts(recording: FileRecording, doubtful: dict[str, str]) -> FileRecording:
    """Add the reasons for doubt to a recording.

    The IPC that the tool computed is removed, because the tool computed it from the doubtful counts.
    """
    if not doubtful:
        return recording
    metrics = {name: value for name, value in recording.facts.get("printed", {}).items() if name != IPC}
    return replace(recording, facts=recording.facts | {"doubtful": doubtful, "printed": metrics})
