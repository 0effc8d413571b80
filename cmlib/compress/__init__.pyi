from .bounded import BoundedRegression
from .lines import compress, fit_quality, intervals, line_ends, reconstruct
from .online import OnlineRegression
