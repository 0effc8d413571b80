"""The command line: a module a command, each one call into the package."""

import click

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
    """Tells expected failures on standard error, without a traceback, and exits with 1."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except (CmlibError, ValueError, OSError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cmlib")
def main():
    """Answers out of hardware performance counters: record, clean, rank, explain."""


for command in (doctor, record, record_all, import_, run, store, compress, compare, diagnose):
    main.add_command(command)
