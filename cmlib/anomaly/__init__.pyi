from .autoencoder import Autoencoder as Autoencoder, stopping_run as stopping_run
from .detector import AutoPerf as AutoPerf
