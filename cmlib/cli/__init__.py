"""The command line: a module a command, each one call into the package."""

import contextlib
import os
import sys
import traceback

import click

from cmlib import places
from cmlib.cli.compare import compare
from cmlib.cli.diagnose import diagnose
from cmlib.cli.doctor import doctor
from cmlib.cli.importing import import_
from cmlib.cli.record import record
from cmlib.cli.record_all import record_all
from cmlib.cli.run import run
from cmlib.cli.sampling import compress
from cmlib.cli.store import store
from cmlib.errors import CmlibError


class _Commands(click.Group):
    """Exits with 0 when all went well and with 2 when anything failed; 1 is left to what a command found."""

    def main(self, *args, **extra):
        try:
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
        try:
            with places.compiling():
                return super().invoke(ctx)
        except (CmlibError, ValueError, OSError, EOFError) as error:
            raise click.ClickException(str(error)) from error


def _show(error):
    """Tell on standard error what went wrong; only what nobody expected comes with a traceback."""
    if isinstance(error, click.ClickException):
        error.show()
    elif isinstance(error, OSError):
        click.echo(f"Error: standard output: {error}", err=True)
    elif isinstance(error, (click.Abort, KeyboardInterrupt)):
        click.echo("Aborted!", err=True)
    else:
        traceback.print_exception(error)


def _drop_unwritten():
    """Python would write what is left in the buffers when it ends, and fail with an exit code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cmlib")
def main():
    """Answers out of hardware performance counters: record, clean, rank, explain."""


for command in (doctor, record, record_all, import_, run, store, compress, compare, diagnose):
    main.add_command(command)
