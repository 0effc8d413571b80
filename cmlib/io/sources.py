"""Read the recordings in files of perf and other tools, and check that they are plausible.

:func:`read_recordings` takes paths and gives a list of :class:`FileRecording`: counts, running shares and metadata.
RecordError, which names the file, for one that cannot be read.
"""

import codecs
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cmlib.io import events
from cmlib.io.archive import decompress, errors_as, read_file, reading_errors_as
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import RUNS
from cmlib.io.events import base_name
from cmlib.io.formats import unsupported
from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, Run
from cmlib.io.formats.registry import read_counts, recognize
from cmlib.io.marks import Mark
from cmlib.io.meaning.doubts import Measured, find_doubtful
from cmlib.io.meaning.event_names import find_mode, map_events
from cmlib.io.meaning.facts import describe_recording, measure_cpus, parse_start
from cmlib.io.meaning.plausibility import check_number_of_counts, check_plausible, check_size
from cmlib.io.meaning.processors import find_machine
from cmlib.io.meaning.program_names import name_programs
from cmlib.io.meaning.selection import Selection, find_events_of_unknown_kind, find_kinds, select
from cmlib.io.meaning.stored import Derived, as_text, derive_series, join_programs
from cmlib.io.meaning.tool_metrics import IPC, collect_metrics
from cmlib.terminal import abridged

NO_SHARES = (
    "The file has no running shares: for how much of the time an event was counted, and how much was extrapolated, "
    "is not known."
)
_MOST_PROGRAMS = 1000
_HEAD = 1 << 16  # bytes that say what a binary file is
_PLAIN_UNITS = ("", "msec", "ns", "%")
_ARE_MEANS = "Counts are means of"


@dataclass(frozen=True)
class FileRecording:
    """One recording in a file: a run by interval, or whole runs of a program.

    Attributes
    ----------
    file : pathlib.Path
    raw : bytes
        The whole file, uncompressed; of whole runs in several files, these one behind the other.
    facts : dict
        Metadata that the file gives: format, selection (what of the file it is), mode ("ocoe", "mlpx" or "unknown"),
        pinned (list of events), groups (list of lists of events), modifier, interval_ms, encodings (dict), date,
        duration_s, running_shares (bool), names (dict of the file's names of events to those used here), printed (dict
        of what the tool computed), cpus (CPUs used on average), doubtful (dict of event to the reason why nothing is
        concluded from it), machine, and further ones where they apply.
    counts, running : DataFrame, shape (n_intervals, n_events)
        Counts (NaN where not counted) and running shares (0 to 1, NaN where not known). The index time_s [s] is the
        interval's end; columns are events under their names in the event tables.
    note : str
        Sentences on what was left out, added up or assumed.
    name : str
        What tells it from the other recordings of the file: program, kind of core, mark; "" if it is the only one.
    """

    file: Path
    raw: bytes
    facts: dict
    counts: pd.DataFrame
    running: pd.DataFrame
    note: str
    name: str = ""


@dataclass(frozen=True)
class _Piece:
    """Rows of a file that become one recording, or are joined with those of other files to one."""

    file: Path
    raw: bytes
    format: str
    selection: Selection
    program: Program
    levels: frozenset[str]
    machine: dict
    notes: tuple[str, ...]
    labels: tuple[str, ...]
    others: tuple["_Piece", ...] = field(default=())

    @property
    def name(self) -> str:
        return "-".join(label for label in self.labels if label)

    @property
    def is_by_interval(self) -> bool:
        return bool(self.program.counts["time_s"].notna().any())


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
    """Read all recordings in some files.

    A run by interval is a recording; whole runs of one program with the same events are joined into one recording with
    one interval per run, over all files.

    Parameters
    ----------
    files : iterable of path
        Plain, or packed by gzip, xz, bzip2 or Zstandard.
    machine : mapping
        Description of the machine, as in metadata; {} if it is not known.
    format : str, optional
        Name of the files' format. Default: the only one that recognizes each.
    options : ReadOptions, optional
    place : str, default ""
        CPU, core, socket, node or kind of core of which the counts are taken, such as ``CPU3``.
    marks : sequence of Mark, default ()
        If given, only the whole intervals within them are read, as a recording each.
    mode : {"ocoe", "mlpx"}, optional
        Default: by the running shares.

    Returns
    -------
    list of FileRecording

    Raises
    ------
    RecordError
        If a file cannot be read, or holds counts that cannot be true; the message names the file.
    """
    options = options or ReadOptions()
    pieces = []
    for file in map(Path, files):
        pieces += _read_file(file, machine, format, options, place, marks)
    joined = _join_whole_runs(pieces)
    recordings = []
    measured = []
    for piece in joined:
        with _errors_of(piece.file):
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


def _read_file(
    file: Path,
    machine: Mapping,
    format: str | None,
    options: ReadOptions,
    place: str,
    marks: Sequence[Mark],
) -> list[_Piece]:
    """Read a file, and cut it into the pieces that become recordings."""
    with errors_as(RecordError, file):
        raw = _as_utf8(decompress(read_file(file), file))
    check_size(file, raw)
    with _errors_of(file):
        format_name, readings = _read_bytes(raw, format, options)
        if not readings.programs:
            raise RecordError(f"{file} holds no counts.")
        if len(readings.programs) > _MOST_PROGRAMS:
            raise RecordError(f"{file} holds more than {_MOST_PROGRAMS:,} programs. Split it.")
        check_number_of_counts(file, sum(len(program.counts) for program in readings.programs))
        found = find_machine(machine, readings.processor)
        pieces = []
        names = name_programs([program.name for program in readings.programs])
        for number, name in enumerate(names):
            for selection, labels, notes in _find_selections(readings, number, place, marks, file):
                program = select(readings, selection)
                piece = _Piece(
                    file,
                    raw,
                    format_name,
                    selection,
                    program,
                    readings.levels,
                    found.description,
                    (*readings.notes, *found.notes, *notes),
                    (name, *labels),
                )
                pieces.append(piece)
    return pieces


def _read_bytes(raw: bytes, format: str | None, options: ReadOptions) -> tuple[str, Readings]:
    """Read the content of a file; of a binary one of an unknown format, say what it is."""
    text = as_text(raw)
    if format is None and not options.columns:
        format = _recognize_bytes(raw, text)
    return read_counts(text, format, options)


def _recognize_bytes(raw: bytes, text: str) -> str:
    """Return the name of the format of a file; the text of a binary file no longer shows what it is."""
    try:
        return recognize(text)
    except FormatError:
        advice = unsupported.explain(raw[:_HEAD].decode("utf-8", "surrogateescape"))
        if advice:
            raise FormatError(f"the file {advice}") from None
        raise


def _find_selections(
    readings: Readings, number: int, place: str, marks: Sequence[Mark], file: Path
) -> list[tuple[Selection, tuple[str, ...], tuple[str, ...]]]:
    """List what each recording of a program selects, with its labels and notes."""
    whole = select(readings, Selection(program=number))
    kinds = find_kinds(whole.counts)
    kind_place = place if place in kinds else ""
    if kind_place:
        kinds = (kind_place,)
        place = ""
    selections = []
    for kind in kinds or ("",):
        base = Selection(program=number, kind=kind, place=place)
        rows = select(readings, base)
        labels = (kind,) if len(kinds) > 1 else ()
        notes = _notes_on_kind(whole.counts, kind)
        if marks:
            selections += _select_marks(base, rows, marks, readings.begin_ns, labels, notes, file)
        else:
            for runs in _group_runs(rows):
                selections.append((replace(base, runs=runs), labels, notes))
    return selections


def _notes_on_kind(counts: pd.DataFrame, kind: str) -> tuple[str, ...]:
    """Write sentences on a recording of one kind of core."""
    if not kind:
        return ()
    notes = [f"The file counts several kinds of core; these are the counts of {kind}."]
    left_out = find_events_of_unknown_kind(counts)
    if left_out:
        notes.append(f"Events that do not name their kind of core are left out: {', '.join(left_out)}.")
    return tuple(notes)


def _group_runs(program: Program) -> list[tuple[int, ...]]:
    """Group the runs of a program: each run by interval alone, whole runs by their list of events.

    One group of all runs is an empty tuple.
    """
    counts = program.counts
    numbers = list(dict.fromkeys(counts["run"]))
    if len(numbers) < 2:
        return [()]
    groups = {}
    for number, rows in counts.groupby("run", sort=False):
        is_by_interval = rows["time_s"].notna().any()
        key = number if is_by_interval else frozenset(rows["event"].unique())
        groups.setdefault(key, []).append(int(number))
    if len(groups) == 1:
        return [()]
    return [tuple(runs) for runs in groups.values()]


def _select_marks(base, program, marks, begin_ns, labels, notes, file):
    """List the selections of the whole intervals within each mark; RecordError if there are none."""
    counts = program.counts
    if counts["time_s"].isna().all():
        raise RecordError(f"{file} has no times that marks could refer to.")
    runs = list(dict.fromkeys(counts["run"]))
    selections = []
    found = set()
    for run in runs:
        ends = np.unique(counts.loc[counts["run"] == run, "time_s"].dropna())
        begins = np.concatenate([[0.0], ends[:-1]])
        for mark in marks:
            if mark.is_since_1970() and begin_ns is None:
                raise RecordError(
                    f"{file} does not say when it began, so that the mark {mark.name}, in time since 1970, has no "
                    "place in it. Give marks in seconds since the recording began."
                )
            start_s, end_s = mark.convert_to_seconds(begin_ns)
            inside = (begins >= start_s) & (ends <= end_s)
            if not inside.any():
                continue
            found.add(mark.name)
            piece = replace(
                base,
                runs=(int(run),) if len(runs) > 1 else (),
                start_s=float(begins[inside][0]),
                end_s=float(ends[inside][-1]),
            )
            selections.append((piece, (*labels, mark.name), notes))
    if not selections:
        raise RecordError(f"{file}: no whole interval lies within any of the {len(marks)} marks.")
    missed = [mark.name for mark in marks if mark.name not in found]
    if not missed:
        return selections
    note = f"No whole interval lies within {', '.join(dict.fromkeys(missed))}."
    return [(piece, piece_labels, (*piece_notes, note)) for piece, piece_labels, piece_notes in selections]


def _join_whole_runs(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Join the pieces of whole runs with the same name and events, in several files, to one piece each."""
    groups = {}
    for number, piece in enumerate(pieces):
        if piece.is_by_interval:
            key = number
        else:
            key = (piece.name, piece.program.repeats, piece.program.per, _list_events(piece.program))
        groups.setdefault(key, []).append(piece)
    joined = []
    for group in groups.values():
        distinct = list({(piece.raw, piece.selection): piece for piece in group}.values())
        first = distinct[0]
        if len(distinct) > 1:
            program = join_programs([piece.program for piece in distinct])
            notes = tuple(dict.fromkeys(note for piece in distinct for note in piece.notes))
            first = replace(first, program=program, notes=notes, others=tuple(distinct[1:]))
        joined.append(first)
    return joined


def _list_events(program: Program) -> tuple[str, ...]:
    """List the events of a program; its metrics, if nothing was counted."""
    rows = program.counts["event"] if len(program.counts) else program.metrics["name"]
    return tuple(rows.unique())


def _make_recording(piece: _Piece, derived: Derived, options: ReadOptions, mode: str | None) -> FileRecording:
    """Make the recording of a piece, with names of events by its machine."""
    start_s = piece.selection.start_s or 0.0
    counts, running = derived.counts, derived.running
    times = counts.index - start_s
    names = events.translate(counts, piece.machine)
    counts = counts.rename(columns=names).set_axis(times)
    running = running.rename(columns=names).set_axis(times)
    facts = describe_recording(derived.table.rows, counts, running, names)
    facts |= {"date": _find_date(piece.program), "names": names, **_describe_storage(piece, options)}
    if mode is not None:
        facts["mode"] = mode
    if derived.table.of_whole_runs:
        facts |= {"axis": RUNS, "interval_ms": 1000}
    if options.interval_ms is not None and not derived.table.of_whole_runs:
        facts["interval_ms"] = options.interval_ms
    derived_facts = {
        "printed": collect_metrics(piece.program.metrics),
        "cpus": None if derived.table.of_whole_runs else measure_cpus(piece.program.counts),
        "zeros_uncounted": bool(derived.hidden),
        "machine": piece.machine,
    }
    facts |= {key: value for key, value in derived_facts.items() if value}
    facts |= _list_cpu_times(piece.program)
    note = _write_note(piece, derived, counts, names)
    raw = piece.raw + b"".join(other.raw for other in piece.others)
    return FileRecording(piece.file, raw, facts, counts, running, note, piece.name)


def _describe_storage(piece: _Piece, options: ReadOptions) -> dict:
    """Return the entries of metadata that say how to read the recording again from its file."""
    entries: dict[str, Any] = {"format": piece.format}
    selection = piece.selection.as_metadata()
    if piece.others:
        entries["parts"] = [
            {"bytes": len(part.raw), "format": part.format, "selection": part.selection.as_metadata()}
            for part in (piece, *piece.others)
        ]
    elif selection:
        entries["selection"] = selection
    if options.columns:
        entries["columns"] = dict(options.columns)
    if options.interval_ms is not None:
        entries["read_interval_ms"] = options.interval_ms
    return entries


def _list_cpu_times(program: Program) -> dict[str, list[float]]:
    """List the processor times of the selected runs in user mode and in the kernel [s], if the file has them."""
    runs = _selected_runs(program)
    times = {"user_s": [run.user_s for run in runs], "system_s": [run.system_s for run in runs]}
    return {name: values for name, values in times.items() if values and np.isfinite(values).all()}


def _selected_runs(program: Program) -> list[Run]:
    """List what the file says about each run of which rows were selected."""
    rows = program.counts if len(program.counts) else program.metrics
    numbers = dict.fromkeys(rows["run"])
    return [program.runs[number - 1] for number in numbers if number <= len(program.runs)]


def _find_date(program: Program) -> str | None:
    """Find the date of the first selected run (ISO 8601); None if the file does not say."""
    runs = _selected_runs(program)
    return parse_start(runs[0].started) if runs else None


def _write_note(piece: _Piece, derived: Derived, counts: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Write the sentences on what was left out, added up or assumed."""
    table = derived.table
    sentences = [*_describe_runs(piece.program, len(counts), table.of_whole_runs), *piece.notes, *table.notes]
    rows = table.rows
    if (rows["running"].isna() & rows["value"].notna()).any():
        sentences.append(NO_SHARES)
    if derived.n_copies:
        sentences.append(f"{derived.n_copies:,} rows came twice, with equal counts: the copies are left out.")
    if derived.hidden:
        sentences.append(
            f"Zeros that run from one event to the list's end had no turn, and are taken for not counted: "
            f"{', '.join(derived.hidden)}."
        )
    unit_by_event = rows.drop_duplicates("event").set_index("event")["unit"]
    for event, unit in unit_by_event.items():
        if unit not in _PLAIN_UNITS:
            sentences.append(f"{event} is in {unit}.")
    for written, name in names.items():
        if "#" not in written and written.lower() != name:
            sentences.append(f"{written} is taken for {name}.")
    note = " ".join(abridged(sentence) for sentence in dict.fromkeys(sentences))
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in note)


def _describe_runs(program: Program, n_rows: int, of_whole_runs: bool) -> list[str]:
    """Say what one count is of: a run, the mean of several, or an operation."""
    if program.per == "operation":
        return ["Counts and times are those of one operation, in the mean."]
    if program.repeats > 1:
        return [f"{_ARE_MEANS} {program.repeats} runs."]
    if program.repeats == 0:
        return [f"{_ARE_MEANS} several runs."]
    if not of_whole_runs:
        return []
    kind = "Shares" if program.counts.empty else "Counts are totals"
    return [f"{kind} of {n_rows} run{'s' if n_rows > 1 else ''}."]


def _measure(piece: _Piece, derived: Derived, recording: FileRecording) -> Measured:
    """Collect what is compared between the recordings of a file."""
    program = piece.program
    runs = _selected_runs(program)
    cpu_s = np.nan
    if runs:
        seconds = [run.user_s if _is_user_only(program) else run.user_s + run.system_s for run in runs]
        cpu_s = float(np.sum(seconds))
    return Measured(
        recording.counts, recording.running, derived.table.are_lengths_known, cpu_s, piece.selection.kind
    )


def _is_user_only(program: Program) -> bool:
    """Return whether all cycles were counted in user mode only."""
    is_cycles = map_events(program.counts["event"], lambda event: "cycles" in base_name(event))
    names = program.counts["event"][is_cycles.astype(bool)].unique()
    modes = [find_mode(event) for event in names]
    return bool(modes) and all(mode is not None and mode.mode == "u" for mode in modes)


def _mark_doubtful(recordings: Sequence[FileRecording], measured: Sequence[Measured]) -> list[FileRecording]:
    """Add to the facts of each recording which counts nothing is concluded from, compared within its file."""
    doubtful = {}
    for file in dict.fromkeys(recording.file for recording in recordings):
        numbers = [k for k, recording in enumerate(recordings) if recording.file == file]
        found = find_doubtful([measured[k] for k in numbers])
        doubtful |= dict(zip(numbers, found, strict=True))
    marked = []
    for number, recording in enumerate(recordings):
        if doubtful[number]:
            facts = recording.facts | {"doubtful": doubtful[number]}
            printed = {name: value for name, value in facts.get("printed", {}).items() if name != IPC}
            recording = replace(recording, facts=facts | {"printed": printed})
        marked.append(recording)
    return marked


def _as_utf8(raw: bytes) -> bytes:
    """Convert UTF-16 to UTF-8, and remove a byte order mark."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raw = raw.decode("utf-16", "replace").encode()
    return raw.removeprefix(codecs.BOM_UTF8)


def _errors_of(file: Path):
    """Turn whatever is raised during a ``with`` block into a RecordError that names the file."""
    return reading_errors_as(RecordError, f"{file} cannot be read")
