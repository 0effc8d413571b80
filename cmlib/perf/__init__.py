"""`perf stat`: the command that counts, what it writes, and the series in it."""

from cmlib.perf.command import stat_command
from cmlib.perf.grammar import ParseError, run_starts
from cmlib.perf.pivot import series
from cmlib.perf.reading import parse_stat, tells_shares

__all__ = ["ParseError", "parse_stat", "run_starts", "series", "stat_command", "tells_shares"]
