"""Run the notebooks, keep what they find, and lay it out as pages.

Names are loaded when they are asked for: a notebook that keeps its results needn't load what runs notebooks.
"""

import importlib

_HOMES = {
    "NotebookError": "run",
    "Results": "results",
    "build_index": "page",
    "check_parameters": "parameters",
    "declared_parameters": "parameters",
    "paper": "results",
    "parse_value": "parameter_file",
    "read_parameters": "parameter_file",
    "read_results": "results",
    "run_profile": "run",
}
__all__ = list(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
