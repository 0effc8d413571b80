from .autoencoder import Autoencoder, PrincipalComponents, search_space, stopping_run
from .changes import changed_functions
from .clusters import cluster_functions, clusters_needed
from .compare import VersionComparison, compare_versions
from .detector import AutoPerf
from .history import change_points, find_groups
from .samples import LOCATION_COLUMNS, smallest_range
from .speed import compare_times
