"""What each notebook asks of one program: the store's runs put through the methods."""

from cmlib.experiments.clusters import EventClusters, event_clusters, explain
from cmlib.experiments.data import (
    cleaned_runs,
    describe_source,
    interval_runs,
    of_suites,
    open_database,
    paper_figures,
    programs,
    suites,
)
from cmlib.experiments.event_tables import event_table
from cmlib.experiments.matrices import (
    Matrix,
    core_runs,
    matrix,
    recorded_matrix,
    recorded_runs,
    refine,
)
from cmlib.experiments.targets import IPC, Target, choose_target
