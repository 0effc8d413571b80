"""The command line `cmlib`: a module for each command, or for a few that belong together.

A command's function takes the values of its arguments and options by name; its docstring is the command's help. It
prints results on standard output, and errors on standard error without a traceback. The exit code is 0 if all went
well and 2 after an error; only `cmlib compare` has others. Wrong values are refused by click's UsageError or
BadParameter.
"""

import contextlib
import os
import shlex
import signal
import sys
import threading
import traceback

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
    """The group of all commands: it ends the process with an exit code, and prints errors.

    Other packages add commands by entry points of the group ``cmlib.commands``. These are imported when they are
    called, since that can take seconds.
    """

    def list_commands(self, ctx):
        """List the names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *plugins.commands()})

    def get_command(self, ctx, cmd_name):
        """Return the click command named `cmd_name`; None if there is none."""
        return super().get_command(ctx, cmd_name) or plugins.load_command(cmd_name)

    def format_commands(self, ctx, formatter):
        """Write the list of commands for `cmlib --help`, without importing those of other packages."""
        helps = {name: _find_first_sentence(command) for name, command in self.commands.items()}
        helps |= {name: command.help for name, command in plugins.commands().items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(helps.items()))

    def main(self, *args, **extra):
        """Run the command line and end the process with the exit code; errors are printed without a traceback.

        Arguments are those of click's ``Group.main``. Never returns: 0 if all went well, 2 after an error, or the
        code with which a command ended its context.
        """
        try:
            with _ended_as_by_ctrl_c():
                code = super().main(*args, **extra | {"standalone_mode": False}) or 0
            if sys.stdout is not None:
                sys.stdout.flush()
        except SystemExit as end:
            code = 2 if end.code else 0
        except BaseException as error:
            code = 2
            with contextlib.suppress(OSError, ValueError):
                _show(error)
        _drop_unwritten()
        sys.exit(code)

    def invoke(self, ctx):
        """Run a command; errors that are meant for users become click's ClickException, with their message only."""
        try:
            with places.compiling():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (CmlibError, OSError, EOFError) as error:
            raise click.ClickException(str(error) or type(error).__name__) from error


@contextlib.contextmanager
def _ended_as_by_ctrl_c():
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does, during a ``with`` block.

    Ctrl-C raises KeyboardInterrupt, on which files are removed and programs are ended. Signals that are ignored, as
    SIGHUP is under nohup, stay ignored.
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


def _find_first_sentence(command):
    """Return the first sentence (str) of a command's help, however long it is."""
    paragraph = " ".join(command.help.split("\n\n")[0].split())
    return paragraph.partition(". ")[0].removesuffix(".") + "."


def _name_module(frame):
    """Return the name of the module whose code a frame of a traceback runs."""
    return frame.f_globals.get("__name__", "?")


def _show(error):
    """Print an error on standard error; of an unexpected one, where it happened and how to report it.

    Nothing is printed for a closed pipe, which nobody reads.
    """
    if isinstance(error, BrokenPipeError):
        return
    if isinstance(error, click.ClickException):
        error.message = printable(spell_calls(abridged(error.message)))
        error.show()
    elif isinstance(error, OSError):
        say(f"Error: standard output: {error}", err=True)
    elif isinstance(error, (click.Abort, KeyboardInterrupt)):
        say("Aborted!", err=True)
    else:
        say(_describe_bug(error), err=True)


def _describe_bug(error):
    """Describe an unexpected error for a report: the error, the modules and lines that it passed, and the command."""
    steps = [(_name_module(frame), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own_steps = [(module, line) for module, line in steps if module.startswith(_OURS)]
    lines = dict.fromkeys(f"{module}:{line}" for module, line in (*own_steps[-3:], steps[-1]))
    reason = abridged("".join(traceback.format_exception_only(error)).strip())
    command = shlex.join(["cmlib", *map(hide, sys.argv[1:])])
    return (
        f"Error: this is a bug in cmlib {__version__}, and no mistake of yours: {reason}\n"
        f"At {' → '.join(lines)}, in `{command}`. Please report these lines as CONTRIBUTING.md says, under Bugs."
    )


def _drop_unwritten():
    """Flush standard output and error; where that fails, send them to /dev/null.

    Python flushes them at its end, and would fail with an exit code of its own.
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
    """Answer questions with hardware performance counters: record, clean, rank, explain."""
