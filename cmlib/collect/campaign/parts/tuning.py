"""sort and pagerank on a cluster of Spark, under other settings."""

from cmlib import places
from cmlib.collect.campaign.run import Part, Planned
from cmlib.collect.record import existing_runs
from cmlib.collect.workloads.spark import TABLE_IV
from cmlib.collect.workloads.tuning.cluster_runs import FOLDER, record_runs
from cmlib.collect.workloads.tuning.design import at_levels, at_random

_PROGRAMS, _RUNS, _PASSES_AT_ENDS, _SECONDS = ("sort", "pagerank"), 60, 4, 20.0


def _plan(setting):
    listed = []
    for (program, passes), runs in _designs().items():
        there = sum(
            len(existing_runs(setting.recordings / FOLDER / places.HARDWARE / run.name)) for run in runs
        )
        total = passes * len(runs)
        kind = "at random" if passes == 1 else "at both ends of a parameter"
        missing = max(0, total - there)
        listed.append(Planned(f"{program} {kind}", total, missing, missing * _SECONDS / 60))
    return listed


def _record(setting):
    for (program, passes), runs in _designs().items():
        target = setting.recordings / FOLDER / places.HARDWARE
        for name in record_runs({program: runs}, target, passes=passes, counters=setting.counters):
            yield name, None


def _designs():
    designs = {(program, 1): at_random(program, _RUNS) for program in _PROGRAMS}
    return designs | {(program, _PASSES_AT_ENDS): at_levels(program, list(TABLE_IV)) for program in _PROGRAMS}


TUNING = Part("tuning", "08", "sort and pagerank under other settings of Spark", _plan, _record)
