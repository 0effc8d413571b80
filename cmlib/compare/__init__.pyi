from .comparison import compare_programs as compare_programs
from .counters import compare_versions as compare_versions
from .instrument import include_dir as include_dir, region as region
from .simulated import compare_simulated as compare_simulated
from .source_changes import changed_functions as changed_functions
from .versions import read_times as read_times
