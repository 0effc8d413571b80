"""What goes wrong with files, as an error that a user can read."""

import contextlib

from cmlib.errors import CmlibError


class ArchiveError(CmlibError, ValueError):
    """A file that can't be read or written, or is not what it should be."""


@contextlib.contextmanager
def errors_as(kind, folder, *, hint=""):
    """Turn the errors of files in a block into one kind of error.

    Parameters
    ----------
    kind : type
        Of a :class:`CmlibError`, such as ``RecordError``.
    folder : path
        Where the block writes, told where the error does not say it.
    hint : str, optional
        What to do, after an error of the disk.

    Raises
    ------
    kind
        For an :class:`ArchiveError` or an OSError.
    """
    try:
        yield
    except ArchiveError as error:
        raise kind(str(error)) from error
    except OSError as error:
        where, reason = error.filename or folder, error.strerror or error
        raise kind(f"could not write to {where}: {reason}. {hint}".strip()) from error
