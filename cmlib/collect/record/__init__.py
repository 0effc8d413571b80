"""Record programs: run them under perf, as a plan of events says, and store what was counted.

`record_program` records all sets of runs of a program; `record_attached` counts processes that already run. Both write
into the folder of recordings and return the metadata files (paths) of the new runs. A run is one execution; a set is a
named plan of events; a pass is the runs that count all events of a set once. Both raise a RecordError if the
program or perf fails, or if existing runs are not comparable with new ones, and CountersBusy if another process
counts.
"""

from cmlib.collect.record.attached import record_attached
from cmlib.collect.record.execute import LaunchSpec, Program
from cmlib.collect.record.protocol import Request, record_program
from cmlib.collect.record.session import record, validate_run
from cmlib.io.archive.programs import RecordError, existing_runs
from cmlib.io.imports import import_files

__all__ = ["record_attached"]
