"""perf's sample streams, and the files in which samples or lines are kept; names are loaded when asked for."""

from cmlib.lazy import loader

_HOMES = {
    "SampleError": "files",
    "SampleParser": "perf_script",
    "SampleReader": "perf_data",
    "find_lines": "files",
    "find_streams": "files",
    "read_lines": "files",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)
