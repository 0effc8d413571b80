"""Write the note of a recording: sentences on values that were left out, added up, converted or assumed."""

from collections.abc import Mapping

import pandas as pd

from cmlib.io.formats.readings import Program
from cmlib.io.meaning.stored import Derived
from cmlib.io.sources.pieces import Piece
from cmlib.terminal import abridged

# Do not change this sentence. `cmlib.io.imports` removes it from the notes of recordings, also of those that were
# imported earlier.
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
        sentences.append(f"Duplicate rows are left out: {derived.n_copies:,}.")
    if derived.hidden:
        sentences.append(
            "Some zeros of the last events in the list are treated as not counted, because an interval can end before "
            f"these events are put on a counter: {', '.join(derived.hidden)}."
        )
    sentences += _describe_units(rows)
    sentences += _describe_renamed_events(names)
    note = " ".join(abridged(sentence) for sentence in dict.fromkeys(sentences))
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in note)


def _describe_runs(program: Program, n_rows: int, of_whole_runs: bool) -> list[str]:
    """Describe whether counts are totals, means or counts per operation."""
    if program.per == "operation":
        return ["Counts and times are means per operation."]
    if program.repeats > 1:
        return [f"Counts are means of {program.repeats} runs."]
    if program.repeats == 0:  # the file contains means, but does not say of how many runs
        return ["Counts are means of several runs."]
    if not of_whole_runs:
        return []
    runs = "1 run" if n_rows == 1 else f"{n_rows} runs"
    if program.counts.empty:
        return [f"The file contains shares of slots of {runs}, but no counts."]
    return [f"Counts are totals of {runs}."]


def _describe_units(rows: pd.DataFrame) -> list[str]:
    """Write the unit of each event that is not a count, a time in ms or ns, or a percentage."""
    unit_by_event = rows.drop_duplicates("event").set_index("event")["unit"]
    return [f"{event} is in {unit}." for event, unit in unit_by_event.items() if unit not in _PLAIN_UNITS]


def _describe_renamed_events(names: Mapping[str, str]) -> list[str]:
    """Name the events that were renamed.

    Repeated readings (``EVENT#2``) are omitted, because they get the new name of the first reading. Names that were
    only converted to lower case are omitted, too.
    """
    return [
        f"{name_in_file} is taken for {name}."
        for name_in_file, name in names.items()
        if "#" not in name_in_file and name_in_file.lower() != name
    ]
