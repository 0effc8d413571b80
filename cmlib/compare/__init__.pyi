from .comparison import compare_programs
from .instrument import include_dir, region
from .simulated import compare_simulated
from .versions import read_times
