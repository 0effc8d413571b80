from .autoencoder import Autoencoder, stopping_run
from .changes import changed_functions
from .compare import compare_versions
from .detector import AutoPerf
