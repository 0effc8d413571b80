"""Run the notebooks, keep what they find, and lay it out as pages."""

from cmlib.report.page import build_index
from cmlib.report.parameter_file import parse_value, read_parameters
from cmlib.report.parameters import check_parameters, declared_parameters
from cmlib.report.results import Results, paper, read_results
from cmlib.report.run import NotebookError, run_profile

__all__ = [
    "NotebookError",
    "Results",
    "build_index",
    "check_parameters",
    "declared_parameters",
    "paper",
    "parse_value",
    "read_parameters",
    "read_results",
    "run_profile",
]
