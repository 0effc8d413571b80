from .lines import (
    compress as compress,
    fit_quality as fit_quality,
    intervals as intervals,
    reconstruct as reconstruct,
)
from .online import OnlineRegression as OnlineRegression
