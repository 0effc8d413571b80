"""Declare options of commands that can count in several ways.

A source is a way to count. For example, :data:`COUNTED` (perf, the default) and :data:`SIMULATED` (Valgrind).
:func:`option` declares an option for some sources. :func:`choose_source` finds the source of a command line
and refuses options of other sources. The help of :class:`BySource` commands lists the options by source.
"""

import functools
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

# Names of sources in help and messages. Except for the default, each is the option that chooses the source.
COUNTED, SIMULATED = "counting by perf", "--simulate"
# Name in options (--cache-l1i) and description of a cache, keyed by Valgrind's name
_CACHES = {
    "I1": ("l1i", "first-level instruction"),
    "D1": ("l1d", "first-level data"),
    "L2": ("l2", "second-level"),
    "LL": ("ll", "last-level"),
}


class BySource(click.Command):
    """Click command whose help groups the options by source.

    Parameters
    ----------
    sources : tuple of str
        All sources of the command.
    *args, **settings
        Arguments of click.Command.
    """

    def __init__(self, *args: Any, sources: tuple[str, ...], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.sources = sources

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options into the help.

        There is one section per source, one for options of several sources, and one for all other options.
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
    """Click option that is valid only for some sources."""

    def __init__(self, *names: Any, sources: tuple[str, ...], **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.sources = sources

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names and the help of the option.

        The help of an option of several sources lists the sources for which it is not valid.
        """
        record: Any = super().get_help_record(ctx)
        names, text = record
        command: Any = ctx.command
        if len(self.sources) > 1:
            excluded = [source for source in command.sources if source not in self.sources]
            text = f"{text}  [not with {', '.join(excluded)}]"
        return names, text


def option(*names: str, sources: tuple[str, ...], **settings: Any) -> Callable:
    """Declare an option that is valid only for some sources.

    Parameters
    ----------
    *names, **settings
        Arguments of :func:`click.option`.
    sources : tuple of str
        Sources for which the option is valid.

    Returns
    -------
    callable
        Decorator for the function of the command.
    """
    return click.option(*names, cls=_SourceOption, sources=sources, **settings)


def choose_source(context: click.Context, is_chosen: dict[str, Any]) -> str:
    """Return the source that the command line chooses.

    Parameters
    ----------
    context : click.Context
        Context of the command.
    is_chosen : dict
        True if the option of a source was given, keyed by source.

    Returns
    -------
    str
        The chosen source. The default is COUNTED.

    Raises
    ------
    click.UsageError
        If two sources are chosen, or an option is not valid for the source.
    """
    chosen = [source for source, was_given in is_chosen.items() if was_given]
    if len(chosen) > 1:
        raise click.UsageError(f"{chosen[0]} and {chosen[1]} are two ways to count. Give only one of them.")
    source = chosen[0] if chosen else COUNTED
    for param in context.command.params:
        sources = getattr(param, "sources", (source,))
        if source not in sources and context.get_parameter_source(param.name) == ParameterSource.COMMANDLINE:
            allowed = ", or ".join(sources)
            raise click.UsageError(f"{param.opts[0]} is not valid with {source}. It is valid with {allowed}.")
    return source


def simulating_options(command: Callable) -> Callable:
    """Add the options of simulation to the function of a command.

    The function gets the additional argument `simulated_caches`:

    - None if ``--simulate`` was not given
    - otherwise a dict of cache shapes ``SIZE,WAYS,LINE``, keyed by Valgrind's name of the cache. A shape is
      None if the cache has the shape of this machine's cache.

    Parameters
    ----------
    command : callable
        Function of the command.

    Returns
    -------
    callable
        Function with the additional options.
    """

    @functools.wraps(command)
    def with_simulation(*, simulate: bool, **settings: Any) -> Any:
        """Call the command with the argument `simulated_caches` in place of the options."""
        caches = {name: settings.pop(name.lower()) for name in _CACHES}
        return command(simulated_caches=caches if simulate else None, **settings)

    for name, (option_name, description) in reversed(_CACHES.items()):
        text = f"Shape of the {description} cache, for example 32K,8,64.  [default: this machine's]"
        settings: dict[str, Any] = {"sources": (SIMULATED,), "metavar": "SIZE,WAYS,LINE", "help": text}
        with_simulation = option(f"--cache-{option_name}", name.lower(), **settings)(with_simulation)
    text = "Simulate under Valgrind instead of counting with perf."
    return click.option("--simulate", is_flag=True, help=text)(with_simulation)
