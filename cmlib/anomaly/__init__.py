"""Find performance anomalies of a new version without ever having seen one (AutoPerf)."""

from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.compare import Verdict, compare_versions, judge_runs
from cmlib.anomaly.detector import AutoPerf
from cmlib.anomaly.evaluation import evaluate
from cmlib.anomaly.profiles import load_recording, merge_runs, normalize, read_regions, read_runs
from cmlib.anomaly.regions import include_dir, region
from cmlib.anomaly.training import error_variances, stopping_run

__all__ = [
    "AutoPerf",
    "Autoencoder",
    "Verdict",
    "compare_versions",
    "error_variances",
    "evaluate",
    "include_dir",
    "judge_runs",
    "load_recording",
    "merge_runs",
    "normalize",
    "read_regions",
    "read_runs",
    "region",
    "stopping_run",
]
