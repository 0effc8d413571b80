"""What each notebook asks of one program: the store's runs put through the methods.

Names are loaded when they are asked for: what runs notebooks takes one that needs no model.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "clusters": ["EventClusters", "event_clusters", "explain"],
        "data": [
            "cleaned_runs",
            "describe_source",
            "interval_runs",
            "of_suites",
            "open_database",
            "paper_figures",
            "programs",
            "suites",
        ],
        "event_tables": ["event_table"],
        "matrices": ["Matrix", "core_runs", "matrix", "recorded_matrix", "recorded_runs", "refine"],
        "targets": ["IPC", "Target", "choose_target"],
    },
)
