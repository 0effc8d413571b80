from .comparison import compare_programs
from .counters import compare_versions
from .instrument import include_dir, region
from .simulated import compare_simulated
from .source_changes import changed_functions
from .versions import read_times
