from .distance import dtw, mlpx_error
from .methods import DISTINCT_METHODS, METHODS
from .missing import fill_missing
from .outliers import replace_outliers
from .rotation import replay
from .series import clean_run, clean_series
from .shrinkage import estimate_counts
