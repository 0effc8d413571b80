"""perf's sample streams, and the files in which samples or lines are kept; names are loaded when asked for."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "files": ["SampleError", "find_lines", "find_streams", "read_lines"],
        "perf_data": ["SampleReader"],
        "perf_script": ["SampleParser"],
    },
)
