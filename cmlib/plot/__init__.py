"""Figures: each takes results and returns ``(figure, axes)``; nothing is computed here."""

from cmlib.plot.comparing import bars_by_program, counts, heat, shares
from cmlib.plot.exploring import cleaned_series
from cmlib.plot.merging import matrices, run_times
from cmlib.plot.ranking import ranking, refinement
from cmlib.plot.series import series, series_by_program

__all__ = [
    "bars_by_program",
    "cleaned_series",
    "counts",
    "heat",
    "matrices",
    "ranking",
    "refinement",
    "run_times",
    "series",
    "series_by_program",
    "shares",
]
