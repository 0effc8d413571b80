"""Read files of perf and other tools, and cut them into pieces.

:func:`read_pieces` reads one file, and :func:`join_totals` joins pieces of several files. A :class:`Piece` has the rows
that become one recording. A file has several pieces if it contains several programs, runs, kinds of core or marks.
"""

import codecs
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.io.archive import decompress, errors_as, read_file, reading_errors_as
from cmlib.io.archive.programs import RecordError
from cmlib.io.formats import unsupported
from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions
from cmlib.io.formats.registry import read_counts, recognize
from cmlib.io.marks import Mark
from cmlib.io.meaning.plausibility import check_number_of_counts, check_size
from cmlib.io.meaning.processors import find_machine
from cmlib.io.meaning.program_names import name_programs
from cmlib.io.meaning.selection import Selection, find_events_of_unknown_kind, find_kinds, select
from cmlib.io.meaning.stored import as_text, join_programs

_MOST_PROGRAMS = 1000
_N_FIRST_BYTES = 1 << 16  # the type of a binary file is recognized from its first bytes


@dataclass(frozen=True)
class Piece:
    """Rows that become one recording.

    Attributes
    ----------
    file : Path
        File that contains the rows.
    raw : bytes
        Content of the file.
    format : str
        Name of the file's format.
    selection : Selection
        Choice of the rows of the file.
    program : Program
        The selected rows.
    levels : frozenset of str
        Events that are not counts. For example, a temperature.
    machine : dict
        Description of the machine.
    notes : tuple of str
        Sentences on values that were left out, converted or assumed.
    labels : tuple of str
        Names of the program, the kind of core and the mark. Empty strings if the file contains only one.
    further_pieces : tuple of Piece
        Pieces of other files with totals of the same program. `program` also contains the rows of these pieces.
    """

    file: Path
    raw: bytes
    format: str
    selection: Selection
    program: Program
    levels: frozenset[str]
    machine: dict
    notes: tuple[str, ...]
    labels: tuple[str, ...]
    further_pieces: tuple["Piece", ...] = field(default=())

    @property
    def name(self) -> str:
        """Labels joined by dashes. Empty if the file has only one piece."""
        return "-".join(label for label in self.labels if label)

    @property
    def has_times(self) -> bool:
        """True for counts per interval. False for totals of complete runs."""
        return bool(self.program.counts["time_s"].notna().any())


@dataclass(frozen=True)
class _Choice:
    """Selection of one piece, with its labels and notes."""

    selection: Selection
    labels: tuple[str, ...]
    notes: tuple[str, ...]


def read_pieces(
    file: Path,
    machine: Mapping,
    format: str | None,
    options: ReadOptions,
    place: str,
    marks: Sequence[Mark],
) -> list[Piece]:
    """Read a file, and cut it into pieces.

    Parameters
    ----------
    file : Path
    machine : mapping
        Description of the machine. Empty if unknown.
    format : str or None
        Name of the format. None to recognize it.
    options : ReadOptions
    place : str
        CPU, core, socket, node or kind of core to select. Empty for all.
    marks : sequence of Mark
        If not empty, a piece is read for each mark.

    Returns
    -------
    list of Piece

    Raises
    ------
    RecordError
        If the file cannot be read or has no counts.
    """
    with errors_as(RecordError, file):
        raw = _convert_to_utf8(decompress(read_file(file), file))
    check_size(file, raw)
    with reading_errors_in(file):
        format_name, readings = _parse(raw, format, options)
        _check_programs(readings.programs, file)
        found_machine = find_machine(machine, readings.processor)
        names = name_programs([program.name for program in readings.programs])
        pieces = []
        for number, name in enumerate(names):
            for choice in _choose_rows(readings, number, place, marks, file):
                piece = Piece(
                    file=file,
                    raw=raw,
                    format=format_name,
                    selection=choice.selection,
                    program=select(readings, choice.selection),
                    levels=readings.levels,
                    machine=found_machine.description,
                    notes=(*readings.notes, *found_machine.notes, *choice.notes),
                    labels=(name, *choice.labels),
                )
                pieces.append(piece)
    return pieces


def reading_errors_in(file: Path) -> AbstractContextManager[None]:
    """Convert errors in a ``with`` block to RecordError.

    The message names the file.

    Parameters
    ----------
    file : Path

    Returns
    -------
    context manager
    """
    return reading_errors_as(RecordError, f"{file} cannot be read")


def _convert_to_utf8(raw: bytes) -> bytes:
    """Convert UTF-16 to UTF-8, and remove a byte order mark."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raw = raw.decode("utf-16", "replace").encode()
    return raw.removeprefix(codecs.BOM_UTF8)


def _parse(raw: bytes, format: str | None, options: ReadOptions) -> tuple[str, Readings]:
    """Parse the content of a file.

    Returns the name of the format and the counts.
    """
    text = as_text(raw)
    if format is None and not options.columns:
        format = _recognize_format(raw, text)
    return read_counts(text, format, options)


def _recognize_format(raw: bytes, text: str) -> str:
    """Return the name of the format of a file."""
    try:
        return recognize(text)
    except FormatError:
        # The type of a binary file is recognized from its bytes. In `text`, bytes that are not UTF-8 are replaced.
        advice = unsupported.explain(raw[:_N_FIRST_BYTES].decode("utf-8", "surrogateescape"))
        if advice:
            raise FormatError(f"the file {advice}") from None
        raise


def _check_programs(programs: Sequence[Program], file: Path) -> None:
    """Check the number of programs and counts in a file."""
    if not programs:
        raise RecordError(f"{file} contains no counts.")
    if len(programs) > _MOST_PROGRAMS:
        raise RecordError(f"{file} contains more than {_MOST_PROGRAMS:,} programs. Split it.")
    check_number_of_counts(file, sum(len(program.counts) for program in programs))


def _choose_rows(
    readings: Readings, number: int, place: str, marks: Sequence[Mark], file: Path
) -> list[_Choice]:
    """Choose the rows of each piece of a program.

    There is a piece for each kind of core. If marks are given, there is a piece for each mark. Otherwise, there is a
    piece for each group of runs (see :func:`_group_runs`).
    """
    counts = select(readings, Selection(program=number)).counts
    kinds = find_kinds(counts)
    if place and place in kinds:
        kinds = (place,)
        place = ""
    choices = []
    for kind in kinds or ("",):
        selection = Selection(program=number, kind=kind, place=place)
        program = select(readings, selection)
        labels = (kind,) if len(kinds) > 1 else ()
        notes = _write_notes_on_kind(counts, kind)
        # Pieces for marks consist of intervals. Without marks, the runs are grouped into pieces.
        if marks:
            selection_by_mark = _select_marks(selection, program, marks, readings.begin_ns, file)
            notes = (*notes, *_write_notes_on_marks(marks, selection_by_mark))
            for mark_name, marked in selection_by_mark:
                choices.append(_Choice(marked, (*labels, mark_name), notes))
        else:
            for runs in _group_runs(program):
                choices.append(_Choice(replace(selection, runs=runs), labels, notes))
    return choices


def _write_notes_on_kind(counts: pd.DataFrame, kind: str) -> tuple[str, ...]:
    """Write sentences on a recording of one kind of core."""
    if not kind:
        return ()
    notes = [f"The file counts several kinds of core, and this recording has the counts of {kind}."]
    left_out = find_events_of_unknown_kind(counts)
    if left_out:
        notes.append(f"Events that do not name their kind of core are left out: {', '.join(left_out)}.")
    return tuple(notes)


def _group_runs(program: Program) -> list[tuple[int, ...]]:
    """Group the runs of a program into recordings.

    A run with counts per interval is a group of its own. Runs with totals of the same events are one group. A single
    group is written as an empty tuple, which selects all runs.
    """
    counts = program.counts
    if counts["run"].nunique() < 2:
        return [()]
    runs_by_key: dict = {}
    for run, rows in counts.groupby("run", sort=False):
        has_times = rows["time_s"].notna().any()
        key = run if has_times else frozenset(rows["event"].unique())
        runs_by_key.setdefault(key, []).append(int(run))
    if len(runs_by_key) == 1:
        return [()]
    return [tuple(runs) for runs in runs_by_key.values()]


def _select_marks(
    selection: Selection, program: Program, marks: Sequence[Mark], begin_ns: int | None, file: Path
) -> list[tuple[str, Selection]]:
    """Select the complete intervals within each mark in each run.

    Returns pairs of a mark's name and a selection.
    """
    counts = program.counts
    if counts["time_s"].isna().all():
        raise RecordError(f"{file} has no times that marks could refer to.")
    _check_clock(marks, begin_ns, file)
    runs = list(dict.fromkeys(counts["run"]))
    selection_by_mark = []
    for run in runs:
        ends = np.unique(counts.loc[counts["run"] == run, "time_s"].dropna())
        begins = np.concatenate([[0.0], ends[:-1]])
        for mark in marks:
            start_s, end_s = mark.convert_to_seconds(begin_ns)
            is_inside = (begins >= start_s) & (ends <= end_s)
            if is_inside.any():
                marked = replace(
                    selection,
                    runs=(int(run),) if len(runs) > 1 else (),
                    start_s=float(begins[is_inside][0]),
                    end_s=float(ends[is_inside][-1]),
                )
                selection_by_mark.append((mark.name, marked))
    if not selection_by_mark:
        raise RecordError(f"{file}: no complete interval is within any of the {len(marks)} marks.")
    return selection_by_mark


def _check_clock(marks: Sequence[Mark], begin_ns: int | None, file: Path) -> None:
    """Check that the times of marks can be converted.

    Marks relative to 1970 need the start of the recording.
    """
    for mark in marks:
        if mark.is_since_1970() and begin_ns is None:
            raise RecordError(
                f"{file} contains no start time. The mark {mark.name} needs it, because its times are relative "
                "to 1970. Give marks in seconds since the recording began."
            )


def _write_notes_on_marks(
    marks: Sequence[Mark], selection_by_mark: Sequence[tuple[str, Selection]]
) -> tuple[str, ...]:
    """Write a sentence on the marks that contain no complete interval."""
    found_names = {name for name, _ in selection_by_mark}
    missed_names = dict.fromkeys(mark.name for mark in marks if mark.name not in found_names)
    if not missed_names:
        return ()
    return (f"No complete interval is within {', '.join(missed_names)}.",)


def join_totals(pieces: Sequence[Piece]) -> list[Piece]:
    """Join pieces with totals of the same program and events.

    Pieces with counts per interval are returned unchanged. Duplicate pieces are dropped.

    Parameters
    ----------
    pieces : sequence of Piece
        Pieces of all files.

    Returns
    -------
    list of Piece
    """
    groups: dict = {}
    for number, piece in enumerate(pieces):
        if piece.has_times:
            key = number
        else:
            program = piece.program
            key = (piece.name, program.repeats, program.per, _list_events(program))
        groups.setdefault(key, []).append(piece)
    return [_join_pieces(group) for group in groups.values()]


def _join_pieces(group: Sequence[Piece]) -> Piece:
    """Join the rows and notes of pieces into the first piece."""
    first, *further_pieces = {(piece.raw, piece.selection): piece for piece in group}.values()
    if not further_pieces:
        return first
    distinct_pieces = [first, *further_pieces]
    program = join_programs([piece.program for piece in distinct_pieces])
    notes = tuple(dict.fromkeys(note for piece in distinct_pieces for note in piece.notes))
    return replace(first, program=program, notes=notes, further_pieces=tuple(further_pieces))


def _list_events(program: Program) -> tuple[str, ...]:
    """Return the names of a program's events.

    If nothing was counted, the names of its metrics.
    """
    rows = program.counts["event"] if len(program.counts) else program.metrics["name"]
    return tuple(rows.unique())
