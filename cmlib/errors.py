"""Errors whose messages are written for users.

:class:`CmlibError` is the base of all. The command line shows the messages of these errors, of OSError and of
EOFError without a traceback. All other errors, such as a library's ValueError, are bugs. cmlib raises
:class:`InputError` in place of ValueError. :class:`NothingRecordedError` and :class:`UnfitRecordingError` (also a
ValueError) are about recordings.
"""

__all__ = [
    "CmlibError",
    "InputError",
    "NotebookError",
    "NotebookStopped",
    "NothingRecordedError",
    "UnfitRecordingError",
]


class CmlibError(Exception):
    """An expected failure: says what happened, where, and what to do; shown without a traceback."""


class InputError(CmlibError, ValueError):
    """A value, a file or a recording that a user gave is wrong: says what is wrong, and what would be right."""


class NotebookError(CmlibError):
    """Raised when notebooks failed: a cell raised an error, the kernel died, or results could not be written."""


class NothingRecordedError(CmlibError):
    """There is no recording yet of what was asked for; the message says what to run."""

    def _render_traceback_(self):
        """Show the message alone in Jupyter, without a traceback."""
        return [f"{type(self).__name__}: {self}"]


class UnfitRecordingError(NothingRecordedError, ValueError):
    """The recordings can't answer the question of a notebook: they are too short, lack events, or can't be compared.

    It is a kind of :class:`NothingRecordedError`, because the notebook is left out of a report for either reason.
    """


class InterpreterError(CmlibError):
    """Python, which runs cmlib, can't be started as another process: `program` is its path, `reason` says why."""

    def __init__(self, program, reason):
        super().__init__(
            f"Python can't be started: {program}: {reason}. cmlib runs notebooks and recordings with the Python "
            "that it was started with. Let this user execute it, or set up the environment again: make setup."
        )


class NotebookStopped(Exception):  # noqa: N818 - no error
    """A notebook has kept what it can say of a recording, and the cells that follow need more than was recorded."""


def last_lines(text):
    """Return the last ten lines of a program's output (`text`, str), which show why it failed."""
    return "\n".join(text.strip().splitlines()[-10:])


def text_of(file):
    """Read what a program wrote to a file (Path), without surrounding blanks; "" if there is no such file."""
    return file.read_text(encoding="utf-8", errors="replace").strip() if file.exists() else ""
