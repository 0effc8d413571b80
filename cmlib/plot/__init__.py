"""Draw figures of results with seaborn and matplotlib.

Functions take results, mostly pandas objects, and compute nothing. A function that is named after a figure makes a
new figure and returns it with its Axes (one, or an array). It neither shows nor saves the figure. Input is not
checked, but a missing column raises a KeyError or a ValueError.
"""

from cmlib.plot.comparing import (
    by_case,
    counts,
    dots_by_program,
    grouped_bars,
    heat,
    parts_across,
    points,
    ranges_by_case,
    run_times,
)
from cmlib.plot.compression import samples_and_lines
from cmlib.plot.flow import flow
from cmlib.plot.interactions import dots_by_pair, pair_surfaces
from cmlib.plot.ranking import UNDECIDED, ranking, refinement
from cmlib.plot.series import series, series_by_program, simulated_phases
from cmlib.plot.slots import CATEGORIES, NOT_DECIDED, shares_by_program, shares_by_progress
from cmlib.plot.style import legend_below, palette, panels, styled

__all__ = [
    "CATEGORIES",
    "NOT_DECIDED",
    "UNDECIDED",
    "by_case",
    "counts",
    "dots_by_pair",
    "dots_by_program",
    "flow",
    "grouped_bars",
    "heat",
    "legend_below",
    "pair_surfaces",
    "palette",
    "panels",
    "parts_across",
    "points",
    "ranges_by_case",
    "ranking",
    "refinement",
    "run_times",
    "samples_and_lines",
    "series",
    "series_by_program",
    "shares_by_program",
    "shares_by_progress",
    "simulated_phases",
    "styled",
]
