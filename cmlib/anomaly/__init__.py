"""Find performance anomalies of a new version without ever having seen one (AutoPerf).

Names are loaded when they are asked for: a program that only counts its regions needn't load what learns from them.
"""

import importlib

_HOMES = {
    "AutoPerf": "detector",
    "Autoencoder": "autoencoder",
    "Verdict": "compare",
    "changed_functions": "changes",
    "compare_versions": "compare",
    "error_variances": "training",
    "evaluate": "evaluation",
    "include_dir": "regions",
    "judge_runs": "compare",
    "load_recording": "recordings",
    "merge_runs": "profiles",
    "normalize": "profiles",
    "read_regions": "profiles",
    "read_runs": "profiles",
    "region": "regions",
    "save_recording": "recordings",
    "stopping_run": "training",
}
__all__ = list(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
