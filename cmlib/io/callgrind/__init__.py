"""Read the output of Valgrind's Callgrind, which simulates caches and branches and counts their events.

:func:`read_series` reads the counts of a run per interval. :func:`read_intervals` also reads the counts of each
function. Both raise CallgrindError if the text is damaged or was not written by Callgrind.
"""

from cmlib.io.callgrind.functions import REPETITIONS, read_functions
from cmlib.io.callgrind.names import display_name, find_interpreter, has_python_names
from cmlib.io.callgrind.series import (
    INSTRUCTIONS_PER_SECOND,
    LARGEST_DIFFERENCE,
    as_events,
    join_levels,
    measure_difference,
    read_intervals,
    read_series,
)
from cmlib.io.callgrind.totals import CallgrindError, Parts, count_threads, read_parts, read_second_level
