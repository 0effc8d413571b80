from .autoencoder import Autoencoder, stopping_run
from .detector import AutoPerf
