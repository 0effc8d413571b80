from .autoencoder import Autoencoder, PrincipalComponents, stopping_run
from .changes import changed_functions
from .clusters import cluster_functions
from .compare import VersionComparison, compare_versions
from .detector import AutoPerf
from .history import change_points
from .speed import compare_times
