"""Read, check and write metadata: JSON objects that describe recordings.

:func:`read_object` reads a metadata file and checks it with the schemas in ``metadata.yaml``.
"""

import functools
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from cmlib.errors import InputError
from cmlib.io.archive.errors import ArchiveError
from cmlib.io.archive.files import read_file
from cmlib.places import read_yaml

_MOST_BYTES = 64 << 20  # of a JSON file


def read_object(file: str | Path, description: str, hint: str, *kinds: str) -> dict:
    """Read and check the JSON object in a file.

    Parameters
    ----------
    file : path
    description : str
        Expected content, for messages. For example, ``the metadata of a run``.
    hint : str
        Advice at the end of messages.
    *kinds : str
        Names of schemas in ``metadata.yaml``. The object must be valid under all of them.

    Returns
    -------
    dict

    Raises
    ------
    ArchiveError
        If the file cannot be read or is not a valid object. Also if a number is not finite.
    """
    text = read_file(file, most=_MOST_BYTES)
    try:
        content = json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_finite)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{file} is not JSON: {error}. {hint}") from error
    if not isinstance(content, dict):
        raise ArchiveError(
            f"{file} is not {description}: it contains a {type(content).__name__}, not an object. {hint}"
        )
    for kind in kinds:
        problem = find_problem(content, kind)
        if problem:
            raise ArchiveError(f"{file} is not {description}: {problem}. {hint}")
    return content


def as_text(meta: Mapping, file: str | Path) -> str:
    """Convert an object to the text of a JSON file.

    Parameters
    ----------
    meta : mapping
    file : path
        Path for error messages.

    Returns
    -------
    str

    Raises
    ------
    ArchiveError
        If the object is not JSON-serializable.
    """
    try:
        text = json.dumps(meta, indent=1, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ArchiveError(f"{file} cannot be written, its content is not JSON: {error}.") from error
    return f"{text}\n"


def now() -> str:
    """Return the current time in UTC. For example, ``2026-11-21T03:00:46``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def unknown_machine() -> dict:
    """Return the description of an unknown machine.

    Returns
    -------
    dict
        All entries of a machine's description, with the value None.
    """
    return dict.fromkeys(_read_schemas()["run"]["properties"]["machine"]["properties"])


def find_problem(meta: Mapping, kind: str) -> str | None:
    """Describe the first problem in metadata.

    Parameters
    ----------
    meta : mapping
    kind : str
        Name of a schema in ``metadata.yaml``. For example, ``run``.

    Returns
    -------
    str or None
        None if the metadata are valid.
    """
    import fastjsonschema

    schema = _read_schemas()[kind]
    try:
        _compile_schema(kind)(meta)
    except fastjsonschema.JsonSchemaValueException as error:
        if not error.path[1:]:
            missing_key = next(key for key in schema["required"] if key not in meta)
            return f"it has no {missing_key!r}"
        key = error.path[1]
        expected = schema["properties"][key].get("description", error.message)
        return f"{key} is {shortened(meta[key])} instead of {expected}"
    return None


def is_text(value: object) -> bool:
    """Return True if a value is a str that databases can store.

    Databases cannot store NUL characters and lone surrogates.

    Parameters
    ----------
    value : object

    Returns
    -------
    bool
    """
    if not isinstance(value, str):
        return False
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in value)


def shortened(value: object) -> str:
    """Return the repr of a value, shortened to at most 120 characters.

    Parameters
    ----------
    value : object

    Returns
    -------
    str
    """
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


@functools.cache
def _read_schemas() -> dict[str, dict]:
    """Read the JSON schemas in metadata.yaml, keyed by name."""
    schemas = read_yaml(Path(__file__).with_name("metadata.yaml"))
    del schemas["kinds"]
    return schemas


@functools.cache
def _compile_schema(kind):
    """Compile the schema of this name to a function that checks metadata."""
    import fastjsonschema

    return fastjsonschema.compile(_read_schemas()[kind])


def _refuse_constant(name: str) -> float:
    """Raise InputError for the constant ``NaN`` or ``Infinity`` in JSON."""
    raise InputError(f"{name} is not a finite number")


def _parse_finite(text: str) -> float:
    """Parse a number, and raise InputError if it is infinite."""
    number = float(text)
    return number if math.isfinite(number) else _refuse_constant(text)
