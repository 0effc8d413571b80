from .lines import compress, fit_quality, intervals, reconstruct
from .online import OnlineRegression
