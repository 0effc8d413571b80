"""Recordings of many runs: all that regions wrote in one compressed file, and beside it what it is a recording of."""

from pathlib import Path

from cmlib.anomaly.profiles import read_runs
from cmlib.archive import errors_as, now, pack, read_content, read_object, write_recording
from cmlib.archive.metadata import first_problem, is_text
from cmlib.errors import CmlibError

SCHEMA = 1
_HOW = "Recordings of regions are made by `cmlib compare --keep FOLDER` and `cmlib record-kernels`."


def load_recording(file):
    """Read a recording of many runs, as ``cmlib record-kernels`` and `cmlib compare`
    make it.

    Parameters
    ----------
    file : path-like
        The ``.json`` of the recording; ``.csv.gz`` lies beside it.

    Returns
    -------
    about : dict
        What the JSON says: program, form, sharing, events, machine and so on.
    runs : dict of str to DataFrame
        As from `read_runs`.

    Raises
    ------
    CmlibError
        If `file` is no recording, or the samples aren't those that were recorded.
    """
    about, text = read_recording(file)
    return about, in_recording(file, read_runs, text, per=about.get("per", "instructions"))


def read_recording(file):
    """Read a recording of many runs as it was written.

    Parameters, errors: as of :func:`load_recording`.

    Returns
    -------
    about : dict
    text : str
        What the regions wrote in all executions.
    """
    about = read_about(file)
    with errors_as(CmlibError, file):
        return about, read_content(file, about["sha256"]).decode(errors="replace")


def in_recording(file, read, text, **how):
    """Read something in a recording's text; what is wrong with it becomes a CmlibError that names the file."""
    try:
        return read(text, **how)
    except (ValueError, IndexError) as error:
        raise CmlibError(f"{file}: its samples can't be read: {error}") from error


def read_about(file):
    """Read what a recording is of, without its samples.

    Parameters
    ----------
    file : path-like
        The ``.json``.

    Returns
    -------
    dict

    Raises
    ------
    CmlibError
        If `file` is no recording.
    """
    with errors_as(CmlibError, file):
        about = read_object(file, "a recording of regions", _HOW)
    checks = [
        ("schema", lambda schema: schema == SCHEMA, f"{SCHEMA}, which this cmlib reads"),
        ("program", is_text, "text"),
        ("events", _are_parts, "a list of objects: names with their encodings, for each part"),
        ("machine", lambda machine: isinstance(machine, dict), "an object"),
        ("sha256", is_text, "text"),
        ("per", lambda per: per in ("instructions", "work"), "instructions or work"),
    ]
    if problem := first_problem({"per": "instructions"} | about, checks):
        raise CmlibError(f"{file} is no recording of regions: {problem}. {_HOW}")
    return about


def save_recording(target, pieces, about):
    """Write a recording: first the samples, then the JSON, so that a recording exists if its JSON does.

    Parameters
    ----------
    target : path-like
        The ``.json``.
    pieces : list of str
        What the regions wrote in each execution, unchanged, under a line ``# run=NAME part=NUMBER …``.
    about : dict
        Of plain values; schema, date (UTC) and checksum are added.

    Returns
    -------
    Path
        `target`.

    Raises
    ------
    CmlibError
        If it can't be written.
    """
    target = Path(target)
    with errors_as(CmlibError, target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        write_recording(target, pack("".join(pieces).encode()), {**about, "date": now()}, schema=SCHEMA)
    return target


def _are_parts(value):
    return isinstance(value, list) and all(
        isinstance(part, dict) and all(map(is_text, [*part, *part.values()])) for part in value
    )
