"""Figures: each takes results and returns ``(figure, axes)``; nothing is computed here."""

from cmlib.plot.anomaly import clusters, curves, sample_and_counters, sample_errors, settling, topologies
from cmlib.plot.comparing import (
    against_measured,
    bars_by_program,
    counts,
    heat,
    matrices,
    points,
    readings,
    run_times,
    scatter,
    shares,
)
from cmlib.plot.compression import agreement, by_case, fits, size_against_error
from cmlib.plot.exploring import cleaned_series, interactions, ranking_beside_errors, two_rankings
from cmlib.plot.overview import account_card, series_card
from cmlib.plot.ranking import event_clusters, ranking, refinement
from cmlib.plot.series import series, series_by_program, simulated_card, simulated_phases
from cmlib.plot.tuning import by_runs, levels, setting, verdicts
