from .accuracy import MEASURES, noise_floor, references
from .distance import dtw, folded_error, mlpx_error
from .distribution import distribution_kinds
from .methods import DISTINCT_METHODS, METHODS, REGISTERED, SERIES_METHODS
from .missing import fill_missing, zeros_without_turn
from .outliers import replace_outliers
from .rotation import replay
from .series import FEWEST_SAMPLES, clean_run, clean_series, whole_intervals
from .shrinkage import clean_by_shrinkage, estimate_counts
