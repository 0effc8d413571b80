"""perf's sample stream: read while the program runs, or from a file, and stored as samples or as lines."""

from cmlib.samples.binary import SampleReader
from cmlib.samples.files import SampleError, read_lines
from cmlib.samples.keeping import record_stream
from cmlib.samples.parser import SampleParser
from cmlib.samples.reading import read_samples
from cmlib.samples.sampling import compress_samples, record_lines, record_samples
from cmlib.samples.streams import find_lines, find_streams

__all__ = [
    "SampleError",
    "SampleParser",
    "SampleReader",
    "compress_samples",
    "find_lines",
    "find_streams",
    "read_lines",
    "read_samples",
    "record_lines",
    "record_samples",
    "record_stream",
]
