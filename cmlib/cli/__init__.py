"""The command line ``cmlib``, with one module per command or group of related commands.

Each command is a function. Its parameters are the arguments and options of the command, and its docstring is
the help text. Results are printed on standard output, and errors on standard error. The exit code is 0, or 2
after an error. Only ``cmlib compare`` has further exit codes.
"""

import contextlib
import os
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

import click

from cmlib import __version__, places, plugins
from cmlib.cli.compare import compare
from cmlib.cli.diagnose import diagnose
from cmlib.cli.machine import doctor
from cmlib.cli.record import record
from cmlib.cli.recordings import fetch, import_, store
from cmlib.cli.run import run
from cmlib.cli.stored import list_, remove
from cmlib.cli.summarize import summarize
from cmlib.errors import CmlibError
from cmlib.passwords import hide
from cmlib.shell import spell_calls
from cmlib.terminal import abridged, printable, say

_COMMANDS = doctor, record, import_, fetch, run, summarize, store, list_, remove, compare, diagnose
_OURS = ("cmlib.", "cmlib_workloads.")


class _Commands(click.Group):
    """Group of all commands, which prints errors and ends the process.

    Other packages add commands by entry points of the group ``cmlib.commands``. Such a package is imported
    when its command is called.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *plugins.commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with a name, or None if it does not exist."""
        return super().get_command(ctx, cmd_name) or plugins.load_command(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, without importing other packages."""
        helps = {name: _find_first_sentence(command) for name, command in self.commands.items()}
        helps |= {name: command.help for name, command in plugins.commands().items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(helps.items()))

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run a command and end the process.

        Errors are printed without a traceback. The exit code is one of the following:

        - 0: the command succeeded
        - 2: an error occurred
        - another number: set by the command

        Parameters
        ----------
        *args, **extra
            Arguments of click's ``Group.main``.
        """
        try:
            with _signals_as_interrupts():
                code = super().main(*args, **extra | {"standalone_mode": False}) or 0
            if sys.stdout is not None:
                sys.stdout.flush()
        except SystemExit as end:
            code = 2 if end.code else 0
        except BaseException as error:
            code = 2
            with contextlib.suppress(OSError, ValueError):
                _show_error(error)
        _flush_output()
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and convert its expected errors to ClickException.

        The expected errors are CmlibError, OSError and EOFError. Other errors are bugs.
        """
        try:
            with places.compiling():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (CmlibError, OSError, EOFError) as error:
            raise click.ClickException(str(error) or type(error).__name__) from error


@contextlib.contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """End the process as Ctrl-C does on SIGTERM and SIGHUP, in a ``with`` block.

    The process then removes its temporary files and ends its child processes. Ignored signals (for example,
    under nohup) remain ignored.
    """
    numbers = []
    if threading.current_thread() is threading.main_thread():
        candidates = (signal.SIGTERM, signal.SIGHUP)
        numbers = [number for number in candidates if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _find_first_sentence(command: click.Command) -> str:
    """Return the first sentence of a command's help."""
    paragraph = " ".join((command.help or "").split("\n\n")[0].split())
    return paragraph.partition(". ")[0].removesuffix(".") + "."


def _name_module(frame: FrameType) -> str:
    """Return the name of the module of a stack frame."""
    return frame.f_globals.get("__name__", "?")


def _show_error(error: BaseException) -> None:
    """Print an error on standard error.

    An unexpected error is printed with its location, so that it can be reported. An error of a closed pipe is
    not printed.
    """
    if isinstance(error, BrokenPipeError):
        return
    if isinstance(error, click.ClickException):
        error.message = printable(spell_calls(abridged(error.message)))  # type: ignore[misc]
        error.show()
    elif isinstance(error, OSError):
        say(f"Error: standard output: {error}", err=True)
    elif isinstance(error, (click.Abort, KeyboardInterrupt)):
        say("Aborted!", err=True)
    else:
        say(_describe_bug(error), err=True)


def _describe_bug(error: BaseException) -> str:
    """Describe an unexpected error for a bug report: message, last lines of code and command."""
    steps = [(_name_module(frame), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own_steps = [(module, line) for module, line in steps if module.startswith(_OURS)]
    lines = dict.fromkeys(f"{module}:{line}" for module, line in (*own_steps[-3:], steps[-1]))
    reason = abridged("".join(traceback.format_exception_only(error)).strip())
    command = shlex.join(["cmlib", *map(hide, sys.argv[1:])])
    return (
        f"Error: this is a bug in cmlib {__version__}, and no mistake of yours: {reason}\n"
        f"At {' → '.join(lines)}, in `{command}`. Please report these lines as CONTRIBUTING.md says, under Bugs."
    )


def _flush_output() -> None:
    """Flush standard output and error.

    An output that cannot be written is redirected to /dev/null. Otherwise, Python would try to flush it again
    and change the exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@click.group(
    cls=_Commands,
    commands=_COMMANDS,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "color": False if os.environ.get("NO_COLOR") else None,  # no-color.org
    },
)
@click.version_option(package_name="cmlib")
def main():
    """Analyze programs with hardware performance counters."""
