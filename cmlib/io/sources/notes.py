"""Write the note of a recording: sentences on values that were left out, added up, converted or assumed."""

from collections.abc import Mapping

import pandas as pd

from cmlib.io.formats.readings import Program
from cmlib.io.meaning.stored import Derived
from cmlib.io.sources.pieces import Piece
from cmlib.terminal import abridged

NO_SHARES = (
    "The file has no running shares: for how much of the time an event was counted, and how much was extrapolated, "
    "is not known."
)
_PLAIN_UNITS = ("", "msec", "ns", "%")


def write_note(piece: Piece, derived: Derived, counts: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Write the note of a recording.

    Parameters
    ----------
    piece : Piece
        Rows of the recording.
    derived : Derived
        Counts that were derived from the rows.
    counts : DataFrame
        One row per interval or run.
    names : mapping of str to str
        Name of each renamed event, keyed by its name in the file.

    Returns
    -------
    str
        Sentences. Empty if there is nothing to note.
    """
    table = derived.table
    rows = table.rows
    sentences = [
        *_describe_runs(piece.program, len(counts), table.of_whole_runs),
        *piece.notes,
        *table.notes,
    ]
    if (rows["running"].isna() & rows["value"].notna()).any():
        sentences.append(NO_SHARES)
    if derived.n_copies:
        sentences.append(f"{derived.n_copies:,} rows came twice, with equal counts: the copies are left out.")
    if derived.hidden:
        sentences.append(
            f"Zeros that run from one event to the list's end had no turn, and are taken for not counted: "
            f"{', '.join(derived.hidden)}."
        )
    sentences += _describe_units(rows)
    sentences += _describe_renamed_events(names)
    note = " ".join(abridged(sentence) for sentence in dict.fromkeys(sentences))
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in note)


def _describe_runs(program: Program, n_rows: int, of_whole_runs: bool) -> list[str]:
    """Describe whether counts are totals, means or counts per operation."""
    if program.per == "operation":
        return ["Counts and times are those of one operation, in the mean."]
    if program.repeats > 1:
        return [f"Counts are means of {program.repeats} runs."]
    if program.repeats == 0:
        return ["Counts are means of several runs."]
    if not of_whole_runs:
        return []
    kind = "Shares" if program.counts.empty else "Counts are totals"
    runs = "run" if n_rows == 1 else "runs"
    return [f"{kind} of {n_rows} {runs}."]


def _describe_units(rows: pd.DataFrame) -> list[str]:
    """Name the events with an unusual unit."""
    unit_by_event = rows.drop_duplicates("event").set_index("event")["unit"]
    return [f"{event} is in {unit}." for event, unit in unit_by_event.items() if unit not in _PLAIN_UNITS]


def _describe_renamed_events(names: Mapping[str, str]) -> list[str]:
    """Name the events that were renamed.

    Repeated readings and changes of case are not named.
    """
    return [
        f"{name_in_file} is taken for {name}."
        for name_in_file, name in names.items()
        if "#" not in name_in_file and name_in_file.lower() != name
    ]
