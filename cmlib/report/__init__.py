"""Run the notebooks, keep what they find, and lay it out as pages.

Names are loaded when they are asked for: a notebook that keeps its results needn't load what runs notebooks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "page": ["answers", "build_index"],
        "parameters": ["check_parameters", "declared_parameters", "parse_value", "read_parameters"],
        "reproduction": ["count_reproduced", "read_reproduction"],
        "results": ["Results", "paper", "read_results"],
        "run": ["NotebookError", "ResultsBusyError", "run_profile"],
    },
)
