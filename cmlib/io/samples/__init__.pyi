from .files import SampleError, find_streams, read_lines
from .perf_data import SampleReader
