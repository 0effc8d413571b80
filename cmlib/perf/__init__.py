"""`perf stat`: the command that counts, what it writes, and the series in it."""

from cmlib.perf.command import attached_command, stat_command
from cmlib.perf.cutting import begin_ns, cut
from cmlib.perf.grammar import ParseError
from cmlib.perf.pivot import series
from cmlib.perf.reading import about, at_place, parse_stat, read_run, split_runs

__all__ = [
    "ParseError",
    "about",
    "at_place",
    "attached_command",
    "begin_ns",
    "cut",
    "parse_stat",
    "read_run",
    "series",
    "split_runs",
    "stat_command",
]
