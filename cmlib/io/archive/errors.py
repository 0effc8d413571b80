"""Report errors of reading and writing files as one class of error, with a message that names the file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cmlib.errors import CmlibError, InputError


class ArchiveError(CmlibError, ValueError):
    """Raised for a file that cannot be read or written, or has the wrong content."""


@contextlib.contextmanager
def errors_as(kind: type[Exception], folder: str | Path, *, hint: str = "") -> Iterator[None]:
    """Convert OSError and ArchiveError to another class during a ``with`` block.

    Parameters
    ----------
    kind : class of exception
        Class of the new error.
    folder : path
        Path for the message if the OSError has none.
    hint : str, default ""
        Advice at the end of the message.

    Raises
    ------
    kind
        If the block raises OSError or ArchiveError.
    """
    try:
        yield
    except ArchiveError as error:
        raise kind(str(error)) from error
    except OSError as error:
        path = error.filename or folder
        reason = error.strerror or error
        raise kind(f"could not write to {path}: {reason}. {hint}".strip()) from error


@contextlib.contextmanager
def reading_errors_as(
    kind: type[Exception],
    problem: str,
    *,
    hint: str = "",
    errors: type[Exception] | tuple[type[Exception], ...] = Exception,
) -> Iterator[None]:
    """Convert the errors of a parser to another class during a ``with`` block.

    The new message consists of `problem`, the message of the error, and `hint`. Messages of ArchiveError and `kind` are
    not changed, because they already name the file.

    Parameters
    ----------
    kind : class of exception
        Class of the new error.
    problem : str
        Beginning of the message. For example, ``counts.csv cannot be read``.
    hint : str, default ""
        Advice at the end of the message.
    errors : class of exception or tuple of classes, default Exception
        Classes that are converted.

    Raises
    ------
    kind
        If the block raises one of `errors`.
    """
    parser_errors = errors if isinstance(errors, tuple) else (errors,)
    caught: tuple[type[Exception], ...] = (kind, ArchiveError, *parser_errors)
    try:
        yield
    except caught as error:
        names_file = isinstance(error, (kind, ArchiveError)) and not isinstance(error, InputError)
        if names_file:
            raise kind(str(error)) from error
        reason = str(error) or type(error).__name__
        raise kind(f"{problem}: {reason}. {hint}".removesuffix(". ")) from error


def in_recording(file: str | Path, read: Callable, *content: object, **settings: object) -> Any:
    """Call a parser, and convert its errors to ArchiveError.

    Parameters
    ----------
    file : path
        Path of the recording, for the message.
    read : callable
        Parser.
    *content, **settings
        Arguments of `read`.

    Returns
    -------
    object
        Result of `read`.

    Raises
    ------
    ArchiveError
        If `read` raises an error.
    """
    with reading_errors_as(ArchiveError, f"{file}: its content cannot be read"):
        return read(*content, **settings)
