"""Recording: programs run under perf to a plan, and the files that hold what was counted."""

from cmlib.record.acceptance import judge
from cmlib.record.archive import RecordError, existing_runs
from cmlib.record.attached import record_attached
from cmlib.record.imports import import_files
from cmlib.record.program import Counted, Program
from cmlib.record.protocol import record_program
from cmlib.record.request import Request
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
    "record_attached",
    "record_program",
]
