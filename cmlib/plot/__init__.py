"""Figures: each takes results and returns ``(figure, axes)``; nothing is computed here."""

from cmlib.plot.anomaly import clusters, curves, sample_and_counters, sample_errors, settling, topologies
from cmlib.plot.comparing import against_measured, bars_by_program, counts, heat, points, scatter, shares
from cmlib.plot.compression import agreement, by_case, fits, size_against_error
from cmlib.plot.exploring import cleaned_series, interactions, ranking_beside_errors, two_rankings
from cmlib.plot.merging import matrices, run_times
from cmlib.plot.overview import account_card, series_card
from cmlib.plot.ranking import event_clusters, ranking, refinement
from cmlib.plot.readings import readings
from cmlib.plot.series import series, series_by_program
from cmlib.plot.simulated import simulated_card, simulated_phases
from cmlib.plot.tuning import by_runs, levels, setting, verdicts

__all__ = [
    "account_card",
    "against_measured",
    "agreement",
    "bars_by_program",
    "by_case",
    "by_runs",
    "cleaned_series",
    "clusters",
    "counts",
    "curves",
    "event_clusters",
    "fits",
    "heat",
    "levels",
    "matrices",
    "interactions",
    "points",
    "ranking",
    "ranking_beside_errors",
    "readings",
    "refinement",
    "run_times",
    "sample_and_counters",
    "sample_errors",
    "scatter",
    "series",
    "series_card",
    "series_by_program",
    "setting",
    "settling",
    "shares",
    "size_against_error",
    "simulated_card",
    "simulated_phases",
    "topologies",
    "two_rankings",
    "verdicts",
]
