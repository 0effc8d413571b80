from .blocks import heads
from .core_kinds import by_kind_of_core, is_counted, without_kind
from .cutting import begin_ns, cut
from .grammar import NoCountsError, ParseError, whose
from .layout import series, without_copies
from .modes import add_modes
from .printed import printed, shares_alone, shares_left_out
from .reading import (
    apart,
    at_place,
    counts_a_line,
    cpus_utilized,
    parse_stat,
    read_run,
    remarks,
    split_runs,
    without_uncounted_zeros,
)
from .transcript import NOTE, extract, plain_lines
from .whole_runs import (
    MOST_PROGRAMS,
    as_intervals,
    events_of,
    holds_tables,
    joined,
    program_names,
    totals,
    with_shares,
)
