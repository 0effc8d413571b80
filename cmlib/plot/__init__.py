"""Draw figures: each function takes results, computes nothing, and returns ``(figure, axes)`` of matplotlib."""

from cmlib.plot.comparing import (
    bars_by_program,
    by_case,
    counts,
    dots_by_program,
    heat,
    points,
    quantile_surface,
    run_times,
)
from cmlib.plot.flow import flow
from cmlib.plot.ranking import UNDECIDED, ranking, refinement
from cmlib.plot.series import series, series_by_program, simulated_phases, stack_estimate
from cmlib.plot.style import legend_below, palette, panels, styled
