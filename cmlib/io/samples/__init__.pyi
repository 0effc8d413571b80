from .files import SampleError as SampleError, find_streams as find_streams, read_lines as read_lines
from .perf_data import SampleReader as SampleReader
