"""What is recorded: a command as it is given, or a program that must be got ready for every run."""

import contextlib
import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from cmlib.archive.metadata import is_text
from cmlib.record.archive import RecordError
from cmlib.record.execute import check_perf, resolve


@dataclass(frozen=True)
class Counted:
    """What to put under ``perf stat``, ready to run.

    Attributes
    ----------
    command : list of str
        Counted with all its children if there are no `pids`; else the load
        generator, which runs while they are counted: ``perf stat -p PID,PID -- COMMAND``.
    pids : tuple of int
        Servers, every process of them.
    environment : mapping of str to str
        Added to that of the command.
    """

    command: list[str]
    pids: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A program to record.

    Attributes
    ----------
    command : str
        Noted with every run: the same wherever the program is recorded, so that runs can be compared by it.
    prepare : callable
        ``prepare()`` is a context manager of `Counted`; entered anew for every run. What it starts it stops.
    """

    command: str
    prepare: Callable[[], AbstractContextManager[Counted]]


def as_program(command):
    """What is to be recorded, checked as far as it can be before anything is made ready.

    Parameters
    ----------
    command : sequence of str, or Program
        A command line is a program that is ready as it stands.

    Returns
    -------
    Program

    Raises
    ------
    RecordError
        If there is no such command, or no perf to run it under.
    """
    if isinstance(command, Program):
        check_perf()
        return command
    resolve(command)
    return Program(noted(command), lambda: contextlib.nullcontext(Counted(list(command))))


def noted(command):
    """A command line as text, as it is noted with its runs; a RecordError if it can't be."""
    if not all(map(is_text, command)):
        raise RecordError(
            f"the command {shlex.join(command)!r} holds bytes that are not UTF-8, and could not be "
            "noted with its runs: "
            "rename what it names, or put it into a script."
        )
    return shlex.join(command)
