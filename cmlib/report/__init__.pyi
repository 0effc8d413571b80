from .overview import build_index as build_index
from .parameters import (
    check_parameters as check_parameters,
    declared_parameters as declared_parameters,
    parse_value as parse_value,
    read_parameters as read_parameters,
)
from .results import Results as Results, paper as paper
from .run import (
    NotebookError as NotebookError,
    ResultsBusyError as ResultsBusyError,
    run_profile as run_profile,
)
