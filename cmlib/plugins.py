"""Commands and programs that other packages add to cmlib, found by entry points.

A package adds commands by an entry point of the group ``cmlib.commands`` that names a dict from a command's name to a
:class:`Command`, and programs for ``cmlib record --program`` by one of the group ``cmlib.programs`` that names a module
with a function ``to_record(name, *, scale, options)``.
"""

import importlib
from dataclasses import dataclass
from importlib.metadata import entry_points

from cmlib.errors import CmlibError


@dataclass(frozen=True)
class Command:
    """A command of another package.

    Attributes
    ----------
    help : str
        Its line in ``cmlib --help``.
    target : str
        Where the click command is, as ``package.module:name``.
    """

    help: str
    target: str


def commands():
    """Find the commands that other packages add.

    Returns
    -------
    dict of str to Command
        By name of the command.
    """
    found = {}
    for entry_point in entry_points(group="cmlib.commands"):
        found.update(entry_point.load())
    return found


def load_command(name):
    """Import the click command of another package; None if no package has one of this name (str)."""
    command = commands().get(name)
    if command is None:
        return None
    module, _, attribute = command.target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def load_programs():
    """Import the catalog of programs that ``cmlib record --program`` takes.

    Returns
    -------
    module
        With a function ``to_record``.

    Raises
    ------
    CmlibError
        If no installed package has programs.
    """
    for entry_point in entry_points(group="cmlib.programs"):
        return entry_point.load()
    raise CmlibError(
        "--program needs the package cmlib_workloads, which is not installed here. Record a command of your own: "
        "cmlib record NAME -- COMMAND."
    )
