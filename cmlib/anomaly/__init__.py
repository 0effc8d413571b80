"""Find performance anomalies of a new version without ever having seen one (AutoPerf).

Names are loaded when they are asked for.
"""

from cmlib.lazy import loader

_HOMES = {
    "AutoPerf": "detector",
    "Autoencoder": "autoencoder",
    "Verdict": "compare",
    "change_points": "history",
    "changed_functions": "changes",
    "compare_versions": "compare",
    "find_groups": "history",
    "judge_runs": "compare",
    "judge_speed": "speed",
    "stopping_run": "autoencoder",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)
