"""Find performance anomalies of a new version without ever having seen one (AutoPerf).

Names are loaded when they are asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "autoencoder": ["Autoencoder", "PrincipalComponents", "search_space", "stopping_run"],
        "changes": ["changed_functions"],
        "clusters": ["cluster_functions", "clusters_needed"],
        "compare": ["VersionComparison", "compare_versions"],
        "detector": ["AutoPerf"],
        "history": ["change_points", "find_groups"],
        "samples": ["LOCATION_COLUMNS", "smallest_range"],
        "speed": ["compare_times"],
    },
)
