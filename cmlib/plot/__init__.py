"""Figures: each takes results and returns ``(figure, axes)``; nothing is computed here."""

from cmlib.plot.comparing import bars_by_program, counts, heat, shares
from cmlib.plot.compression import agreement, by_case, fits, size_against_error
from cmlib.plot.exploring import cleaned_series
from cmlib.plot.merging import matrices, run_times
from cmlib.plot.ranking import ranking, refinement
from cmlib.plot.series import series, series_by_program

__all__ = [
    "agreement",
    "bars_by_program",
    "by_case",
    "cleaned_series",
    "counts",
    "fits",
    "heat",
    "matrices",
    "ranking",
    "refinement",
    "run_times",
    "series",
    "series_by_program",
    "shares",
    "size_against_error",
]
