from .accuracy import compare_methods
from .distance import dtw, folded_error, mlpx_error
from .methods import DISTINCT_METHODS, LABELS, METHODS
from .missing import fill_missing
from .outliers import replace_outliers
from .rotation import replay
from .series import clean_run, clean_series
from .shrinkage import estimate_counts
