from .cutting import begin_ns, cut
from .formats.lines import as_intervals, joined
from .grammar import ParseError
from .modes import add_modes
from .printed import printed, shares_alone
from .reading import (
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
from .transcript import NOTE, extract
