"""Find performance anomalies of a new version without ever having seen one (AutoPerf).

Names are loaded when they are asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "autoencoder": ["Autoencoder", "stopping_run"],
        "changes": ["changed_functions"],
        "compare": ["VersionComparison", "compare_versions", "compare_runs"],
        "detector": ["AutoPerf"],
        "history": ["change_points", "find_groups"],
        "speed": ["compare_times"],
    },
)
