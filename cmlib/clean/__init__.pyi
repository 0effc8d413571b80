from .accuracy import compare_methods as compare_methods
from .distance import dtw as dtw, folded_error as folded_error, mlpx_error as mlpx_error
from .methods import DISTINCT_METHODS as DISTINCT_METHODS, LABELS as LABELS, METHODS as METHODS
from .missing import fill_missing as fill_missing
from .outliers import replace_outliers as replace_outliers
from .rotation import replay as replay
from .series import clean_run as clean_run, clean_series as clean_series
from .shrinkage import estimate_counts as estimate_counts
