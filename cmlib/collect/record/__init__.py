"""Record programs: run them under perf, as a plan of events says, and store what was counted.

`record_program` records all sets of runs of a program, `record_attached` what runs already; both write into the
folder of recordings and give the metadata files (paths) of the new runs. A run is one execution; a set is a named
plan of events, and a pass the runs that count all events of it once. Raises a RecordError if the program or perf
fails, or what is there was recorded otherwise; CountersBusy if another process counts.
"""

from cmlib.collect.record.attached import record_attached
from cmlib.collect.record.execute import LaunchSpec, Program
from cmlib.collect.record.protocol import Request, record_program
from cmlib.collect.record.session import record, validate_run
from cmlib.io.archive.programs import RecordError, existing_runs
from cmlib.io.imports import import_files

__all__ = ["record_attached"]
