"""Programs to measure, each with its recipe: how its input is made, how it is started, and what it needs.

`catalog` has all programs by name, `campaign` records all that the notebooks read, `commands` are its commands.
Recipes are in `cpu`, `spark`, `servers`, `kernels` (AutoPerf's programs) and `micro` (micro-benchmarks). The packages
of the same names in :mod:`cmlib.experiments` read what was recorded of these. A CmlibError if something that a
program needs is not installed.
"""

from cmlib.plugins import Command

COMMANDS = {
    "programs": Command(
        "List the programs that `cmlib record --program` takes, and what they lack here.",
        "cmlib_workloads.commands:programs",
    ),
    "record-all": Command(
        "Record what the notebooks read, in one go, on a quiet machine that counts.",
        "cmlib_workloads.commands:record_all",
    ),
    "record-micro": Command(
        "Record the micro-benchmarks of notebook 05.", "cmlib_workloads.commands:record_micro"
    ),
    "record-kernels": Command(
        "Record AutoPerf's fifteen programs, of notebook 06.", "cmlib_workloads.commands:record_kernels"
    ),
    "record-samples": Command(
        "Record the sample streams of notebook 07.", "cmlib_workloads.commands:record_samples"
    ),
    "record-tuning": Command(
        "Record programs on Spark under other settings, of notebook 08.",
        "cmlib_workloads.commands:record_tuning",
    ),
}
