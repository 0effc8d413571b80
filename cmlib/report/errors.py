"""What can go wrong in a run of notebooks."""

from cmlib.errors import CmlibError


class NotebookError(CmlibError):
    """A notebook, or several, failed: a cell raised, or its kernel died."""


class ResultsBusyError(CmlibError):
    """Another run writes to the same results."""
