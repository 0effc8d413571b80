"""Count events of programs by perf, and store the counts as recordings.

`record_program` runs a program as often as needed to count all requested events. `record_attached` counts processes
that are already running. Both return the metadata files of the new runs. A run is one execution of the program. A set
is a named plan that divides the events among runs. A pass is the runs that count all events of a set once.
"""

from cmlib.collect.record.attached import record_attached
from cmlib.collect.record.execute import LaunchSpec, Program
from cmlib.collect.record.protocol import Request, record_program
from cmlib.collect.record.session import record, validate_run
from cmlib.io.archive.programs import RecordError, existing_runs
from cmlib.io.imports import import_files

__all__ = ["record_attached"]
