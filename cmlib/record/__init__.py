"""Recording: programs run under perf to a plan, and the files that hold what was counted."""

from cmlib.record.acceptance import judge
from cmlib.record.archive import RecordError, existing_runs
from cmlib.record.imports import import_files
from cmlib.record.program import Counted, Program
from cmlib.record.protocol import Request, record_program
from cmlib.record.session import record

__all__ = [
    "Counted",
    "Program",
    "RecordError",
    "Request",
    "existing_runs",
    "import_files",
    "judge",
    "record",
    "record_program",
]
