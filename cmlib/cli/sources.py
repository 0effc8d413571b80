"""Options of commands that take counts from several sources: help and refusals say which option goes with which."""

import functools

import click
from click.core import ParameterSource

# As help and messages call them: each, but the first, by the options that choose it.
COUNTED, SIMULATED = "counting by perf", "--simulate"
# By Valgrind's name of a cache: ours, and what it is called.
_CACHES = {
    "I1": ("l1i", "first-level instruction"),
    "D1": ("l1d", "first-level data"),
    "L2": ("l2", "second-level"),
    "LL": ("ll", "last-level"),
}


class BySource(click.Command):
    """A command whose help lists apart the options of one source, and those of several."""

    def __init__(self, *args, sources, **settings):
        super().__init__(*args, **settings)
        self.sources = sources

    def format_options(self, ctx, formatter):
        sections = {"Options": [], "Options of several": []}
        for option in (param for param in self.get_params(ctx) if isinstance(param, click.Option)):
            sources = getattr(option, "sources", None)
            heading = f"Options of {sources[0] if len(sources) == 1 else 'several'}" if sources else "Options"
            sections.setdefault(heading, []).append(option.get_help_record(ctx))
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class _SourceOption(click.Option):
    """An option that goes with some sources of counts only, as its help says."""

    def __init__(self, *names, sources, **settings):
        super().__init__(*names, **settings)
        self.sources = sources

    def get_help_record(self, ctx):
        names, text = super().get_help_record(ctx)
        others = [source for source in ctx.command.sources if source not in self.sources]
        return names, text if len(self.sources) == 1 else f"{text}  [not with {', '.join(others)}]"


def option(*names, sources, **settings):
    """As :func:`click.option`, of an option that goes with some sources only."""
    return click.option(*names, cls=_SourceOption, sources=sources, **settings)


def choose_source(context, asked):
    """The one source that options ask for, else :data:`COUNTED`; options that don't go with it are refused."""
    source, *others = [*(source for source, is_asked in asked.items() if is_asked), COUNTED]
    if len(others) > 1:
        raise click.UsageError(f"{source} and {others[0]} are two ways to count: give one of them.")
    for param in context.command.params:
        sources = getattr(param, "sources", (source,))
        if source not in sources and context.get_parameter_source(param.name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{param.opts[0]} does not go with {source}: it is for {', or '.join(sources)}."
            )
    return source


_SIMULATION = [
    click.option("--simulate", is_flag=True, help="Simulate under Valgrind instead of counting with perf."),
    *(
        option(
            f"--cache-{ours}",
            name.lower(),
            sources=(SIMULATED,),
            metavar="SIZE,WAYS,LINE",
            help=f"Simulate this {called} cache, as 32K,8,64, instead of this machine's.",
        )
        for name, (ours, called) in _CACHES.items()
    ),
]


def simulating_options(command):
    """Give a command the options of a simulation; it gets them as `simulated`: caches to simulate, or None."""

    @functools.wraps(command)
    def with_simulation(*, simulate, **others):
        caches = {name: others.pop(name.lower()) for name in _CACHES}
        return command(simulated=caches if simulate else None, **others)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_SIMULATION), with_simulation)
