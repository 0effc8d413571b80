"""perf's sample streams, and the files in which samples or lines are kept."""

from cmlib.io.samples.files import SampleError, find_lines, find_streams, read_lines
from cmlib.io.samples.perf_data import SampleReader
from cmlib.io.samples.perf_script import SampleParser
