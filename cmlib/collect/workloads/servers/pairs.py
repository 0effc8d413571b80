"""Two programs at once on one machine, counted together, as CounterMiner's Fig. 16 has them."""

import shlex
from contextlib import contextmanager

from cmlib.collect.workloads.recipe import Counted

# The first load is repeated until the second ends; if it fails before, so does all.
_BOTH = """
(while {first}; do :; done; exit 1) & repeated=$!
{second}; code=$?
kill $repeated || exit 1
exit $code
"""


@contextmanager
def prepare(first, second, scale, options):
    """Get two servers ready, which are counted together while both have their load."""
    with first(scale, {}) as one, second(scale, options) as other:
        script = _BOTH.format(first=shlex.join(one.command), second=shlex.join(other.command))
        environment = {**one.environment, **other.environment}
        yield Counted(["/bin/sh", "-c", script], (*one.pids, *other.pids), environment)
