"""Find performance anomalies of a new version without ever having seen one (AutoPerf).

Names are loaded when they are asked for: a program that only counts its regions needn't load what learns from
them.
"""

from cmlib.lazy import loader

_HOMES = {
    "AutoPerf": "detector",
    "Autoencoder": "autoencoder",
    "Verdict": "compare",
    "changed_functions": "changes",
    "compare_programs": "programs",
    "compare_versions": "compare",
    "error_variances": "training",
    "evaluate": "evaluation",
    "include_dir": "regions",
    "judge_runs": "compare",
    "judge_speed": "speed",
    "load_recording": "recordings",
    "merge_runs": "profiles",
    "normalize": "profiles",
    "read_regions": "profiles",
    "read_runs": "profiles",
    "read_times": "times",
    "region": "regions",
    "save_recording": "recordings",
    "stopping_run": "training",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)
