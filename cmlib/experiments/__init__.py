"""What each notebook asks of one program: the store's runs put through the methods."""

from cmlib.experiments.circularity import correlations_with_ipc
from cmlib.experiments.cleaning import (
    BothWays,
    both_ways,
    compare_cleaning,
    distributions,
    example,
    followed_event,
    largest_outliers,
    recorded_both_ways,
    replaced_samples,
)
from cmlib.experiments.clusters import EventClusters, event_clusters, explain, first_cost
from cmlib.experiments.data import cleaned_runs, describe_source, interval_runs, open_database, programs
from cmlib.experiments.event_overview import event_bars, say_followed
from cmlib.experiments.event_tables import event_table, said_by_names
from cmlib.experiments.interactions import MEASURES, compare_pairs, pairs, planted_pairs, with_pairs
from cmlib.experiments.matrices import (
    Matrix,
    core_runs,
    matrix,
    mergeable,
    recorded_matrix,
    recorded_runs,
    targets_by_axis,
)
from cmlib.experiments.phases import with_phases
from cmlib.experiments.ranking import chosen_errors, core_errors, refine
from cmlib.experiments.suites import of_suites, paper_figures, suites
from cmlib.experiments.summary import say_events, say_models, say_pairs
from cmlib.experiments.targets import IPC, Target, choose_target, say_chosen, say_target

__all__ = [
    "BothWays",
    "EventClusters",
    "IPC",
    "MEASURES",
    "Matrix",
    "Target",
    "both_ways",
    "choose_target",
    "chosen_errors",
    "cleaned_runs",
    "compare_cleaning",
    "compare_pairs",
    "core_errors",
    "core_runs",
    "correlations_with_ipc",
    "describe_source",
    "distributions",
    "event_bars",
    "event_clusters",
    "event_table",
    "example",
    "explain",
    "first_cost",
    "followed_event",
    "interval_runs",
    "largest_outliers",
    "matrix",
    "mergeable",
    "of_suites",
    "open_database",
    "pairs",
    "paper_figures",
    "planted_pairs",
    "programs",
    "recorded_both_ways",
    "recorded_matrix",
    "recorded_runs",
    "refine",
    "replaced_samples",
    "said_by_names",
    "say_chosen",
    "say_events",
    "say_followed",
    "say_models",
    "say_pairs",
    "say_target",
    "suites",
    "targets_by_axis",
    "with_pairs",
    "with_phases",
]
