from .page import answers, build_index
from .parameters import check_parameters, declared_parameters, parse_value, read_parameters
from .results import Results, paper
from .run import NotebookError, ResultsBusyError, run_profile
