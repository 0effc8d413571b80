"""Record programs: run them under perf, as a plan of events says, and store what was counted."""

from cmlib.collect.record.attached import record_attached
from cmlib.collect.record.execute import LaunchSpec, Program
from cmlib.collect.record.protocol import Request, record_program
from cmlib.collect.record.session import record, validate_run
from cmlib.io.archive.programs import RecordError, existing_runs
from cmlib.io.imports import import_files

__all__ = ["record_attached"]
