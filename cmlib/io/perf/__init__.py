"""What `perf stat` and other tools write, and the series in it."""

from cmlib.io.perf.cutting import begin_ns, cut
from cmlib.io.perf.formats.lines import as_intervals, joined
from cmlib.io.perf.grammar import ParseError
from cmlib.io.perf.modes import add_modes
from cmlib.io.perf.printed import printed, shares_alone
from cmlib.io.perf.reading import (
    at_place,
    by_kind_of_core,
    counts_a_line,
    parse_stat,
    program_names,
    read_run,
    remarks,
    series,
    split_runs,
    totals,
    without_copies,
    without_uncounted_zeros,
)
from cmlib.io.perf.transcript import NOTE, extract
