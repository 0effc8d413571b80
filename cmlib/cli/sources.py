"""Declare options of commands that can count in several ways ("sources"): each option names the sources it goes with.

The help lists options by source. An option that does not go with the chosen source is refused. A source is a str:
:data:`COUNTED` (by perf, the default), or the option that chooses it, such as :data:`SIMULATED` (under Valgrind).
"""

import functools

import click
from click.core import ParameterSource

# Names of sources in help and messages. Each is the option that chooses the source, except for the default.
COUNTED, SIMULATED = "counting by perf", "--simulate"
# By Valgrind's name of a cache: its name in our options (--cache-l1i), and in words.
_CACHES = {
    "I1": ("l1i", "first-level instruction"),
    "D1": ("l1d", "first-level data"),
    "L2": ("l2", "second-level"),
    "LL": ("ll", "last-level"),
}


class BySource(click.Command):
    """A click command whose help has a section of options for each source, and one for options of several sources.

    `sources` is a tuple of str: all sources that the command has.
    """

    def __init__(self, *args, sources, **settings):
        super().__init__(*args, **settings)
        self.sources = sources

    def format_options(self, ctx, formatter):
        """Write the options into the help, in sections.

        There is a section for the options of each source, one for options of several sources, and one for all other
        options.
        """
        sections = {"Options": [], "Options of several": []}
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for option in options:
            sources = getattr(option, "sources", ())
            if not sources:
                heading = "Options"
            elif len(sources) == 1:
                heading = f"Options of {sources[0]}"
            else:
                heading = "Options of several"
            sections.setdefault(heading, []).append(option.get_help_record(ctx))
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class _SourceOption(click.Option):
    """A click option that goes with some sources only."""

    def __init__(self, *names, sources, **settings):
        super().__init__(*names, **settings)
        self.sources = sources

    def get_help_record(self, ctx):
        """Return the option's names and help (two str).

        The help of an option of several sources names the sources that do not take it.
        """
        names, text = super().get_help_record(ctx)
        if len(self.sources) > 1:
            excluded = [source for source in ctx.command.sources if source not in self.sources]
            text = f"{text}  [not with {', '.join(excluded)}]"
        return names, text


def option(*names, sources, **settings):
    """Make a decorator like :func:`click.option` for an option that goes only with `sources` (tuple of str).

    `names` and `settings` are the arguments of click.option.
    """
    return click.option(*names, cls=_SourceOption, sources=sources, **settings)


def choose_source(context, asked):
    """Return the source (str) that the options on the command line ask for; :data:`COUNTED` if none does.

    `context` is click's. `asked` maps each source but COUNTED to whether its option was given. Raises
    click.UsageError if two were given, or an option that does not go with the source.
    """
    chosen = [source for source, is_asked in asked.items() if is_asked]
    if len(chosen) > 1:
        raise click.UsageError(f"{chosen[0]} and {chosen[1]} are two ways to count: give one of them.")
    source = chosen[0] if chosen else COUNTED
    for param in context.command.params:
        sources = getattr(param, "sources", (source,))
        if source not in sources and context.get_parameter_source(param.name) == ParameterSource.COMMANDLINE:
            allowed = ", or ".join(sources)
            raise click.UsageError(f"{param.opts[0]} does not go with {source}: it is for {allowed}.")
    return source


def simulating_options(command):
    """Add the options of simulation (--simulate and the caches) to a function that becomes a click command.

    The function gets the argument `simulated`: None without --simulate, else a dict of Valgrind's names of caches
    (I1, D1, L2, LL) to ``SIZE,WAYS,LINE`` (None for this machine's).
    """

    @functools.wraps(command)
    def with_simulation(*, simulate, **others):
        """Call the command with `simulated` in place of the options of simulation."""
        caches = {name: others.pop(name.lower()) for name in _CACHES}
        return command(simulated=caches if simulate else None, **others)

    for name, (option_name, description) in reversed(_CACHES.items()):
        text = f"Simulate this {description} cache, as 32K,8,64, instead of this machine's."
        settings = {"sources": (SIMULATED,), "metavar": "SIZE,WAYS,LINE", "help": text}
        with_simulation = option(f"--cache-{option_name}", name.lower(), **settings)(with_simulation)
    text = "Simulate under Valgrind instead of counting with perf."
    return click.option("--simulate", is_flag=True, help=text)(with_simulation)
