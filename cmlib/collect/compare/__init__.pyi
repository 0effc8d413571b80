from .comparison import compare_programs, compare_simulated
from .instrument import include_dir, region
from .versions import read_times
