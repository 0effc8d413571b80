"""What each notebook asks of one program: the store's runs put through the methods.

Names are loaded when they are asked for: what runs notebooks takes one that needs no model.
"""

from cmlib.lazy import loader

_HOMES = {
    "EventClusters": "clusters",
    "IPC": "targets",
    "Matrix": "matrices",
    "Target": "targets",
    "choose_target": "targets",
    "cleaned_runs": "data",
    "core_runs": "matrices",
    "describe_source": "data",
    "event_clusters": "clusters",
    "event_table": "event_tables",
    "explain": "clusters",
    "interval_runs": "data",
    "matrix": "matrices",
    "of_suites": "data",
    "open_database": "data",
    "paper_figures": "data",
    "programs": "data",
    "recorded_matrix": "matrices",
    "recorded_runs": "matrices",
    "refine": "matrices",
    "suites": "data",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)
