"""What each notebook asks of one program: the store's runs put through the methods."""

from cmlib.study.circularity import correlations_with_ipc
from cmlib.study.cleaning import (
    BothWays,
    both_ways,
    compare_cleaning,
    distributions,
    example,
    followed_event,
    largest_outliers,
    replaced_samples,
)
from cmlib.study.collection import (
    counting_events,
    ipc,
    leading_rates,
    machines,
    rates,
    recordings,
    running_shares,
    say_recorded,
    sum_checks,
)
from cmlib.study.colocation import colocated, leading_units, movement, say_movement
from cmlib.study.data import Matrix, cleaned_runs, matrix, open_database, programs
from cmlib.study.event_families import Families, explain, families
from cmlib.study.event_tables import event_table, said_by_names
from cmlib.study.family_pairs import FamilyPairs, compare_family_pairs, family_pairs
from cmlib.study.family_summary import first_by_ways, say_families, say_family_pairs, say_limit
from cmlib.study.family_tables import compare_with_account, judge_families
from cmlib.study.fusion_comparison import compare_fusions, gain_by_change, say_fusions
from cmlib.study.interactions import MEASURES, compare_pairs, pairs, planted_pairs
from cmlib.study.merging import (
    merged,
    merged_shape,
    mixed,
    mixed_errors,
    refine_stacked,
    run_time_spread,
    run_times,
    say_mixed,
)
from cmlib.study.out_of_core import clean_into, merge_files
from cmlib.study.ranking import chosen_errors, core_errors, refine
from cmlib.study.suites import common_events, likeness, of_suites, paper_figures, suites
from cmlib.study.summary import say_events, say_models, say_pairs

__all__ = [
    "MEASURES",
    "BothWays",
    "Families",
    "FamilyPairs",
    "Matrix",
    "both_ways",
    "chosen_errors",
    "clean_into",
    "cleaned_runs",
    "colocated",
    "common_events",
    "compare_cleaning",
    "compare_fusions",
    "compare_family_pairs",
    "compare_pairs",
    "compare_with_account",
    "core_errors",
    "correlations_with_ipc",
    "counting_events",
    "distributions",
    "event_table",
    "example",
    "explain",
    "families",
    "family_pairs",
    "first_by_ways",
    "ipc",
    "followed_event",
    "gain_by_change",
    "judge_families",
    "largest_outliers",
    "leading_units",
    "likeness",
    "leading_rates",
    "machines",
    "matrix",
    "merge_files",
    "merged",
    "merged_shape",
    "mixed",
    "mixed_errors",
    "movement",
    "of_suites",
    "open_database",
    "pairs",
    "paper_figures",
    "planted_pairs",
    "programs",
    "rates",
    "recordings",
    "replaced_samples",
    "refine",
    "refine_stacked",
    "run_time_spread",
    "run_times",
    "running_shares",
    "said_by_names",
    "say_events",
    "say_families",
    "say_family_pairs",
    "say_fusions",
    "say_limit",
    "say_mixed",
    "say_models",
    "say_movement",
    "say_pairs",
    "say_recorded",
    "suites",
    "sum_checks",
]
