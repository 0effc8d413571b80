"""The options of a simulation, which several commands share."""

import functools

import click

_CACHES = {
    "I1": click.option(
        "--cache-l1i",
        metavar="SIZE,WAYS,LINE",
        help="Simulate this first-level instruction cache, as 32K,8,64, instead of this machine's.",
    ),
    "D1": click.option(
        "--cache-l1d", metavar="SIZE,WAYS,LINE", help="The same of the first-level data cache."
    ),
    "LL": click.option("--cache-ll", metavar="SIZE,WAYS,LINE", help="The same of the last-level cache."),
}
_OPTIONS = [
    click.option("--simulate", is_flag=True, help="Simulate under Valgrind instead of counting with perf."),
    *_CACHES.values(),
]


def simulating_options(command):
    """Give a command the options of a simulation; it gets them as `simulated`: caches to simulate, or None."""

    @functools.wraps(command)
    def with_simulation(*, simulate, cache_l1i, cache_l1d, cache_ll, **others):
        caches = dict(zip(_CACHES, (cache_l1i, cache_l1d, cache_ll), strict=True))
        if not simulate and any(caches.values()):
            raise click.UsageError("--cache-l1i, --cache-l1d and --cache-ll belong to --simulate.")
        return command(simulated=caches if simulate else None, **others)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), with_simulation)
