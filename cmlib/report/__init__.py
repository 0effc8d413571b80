"""Run the notebooks, keep what they find, and lay it out as pages.

Names are loaded when they are asked for: a notebook that keeps its results needn't load what runs notebooks.
"""

from cmlib.lazy import loader

_HOMES = {
    "NotebookError": "run",
    "Results": "results",
    "ResultsBusyError": "run",
    "answers": "page",
    "build_index": "page",
    "check_parameters": "parameters",
    "count_reproduced": "reproduction",
    "declared_parameters": "parameters",
    "paper": "results",
    "parse_value": "parameters",
    "read_parameters": "parameters",
    "read_reproduction": "reproduction",
    "read_results": "results",
    "run_profile": "run",
}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)
