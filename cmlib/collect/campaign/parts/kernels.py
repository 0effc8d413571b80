"""AutoPerf's programs, in their good and their bad form."""

import os
from pathlib import Path

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.campaign.run import Part, Planned
from cmlib.collect.compare.counters import usual_events
from cmlib.collect.workloads.kernels.executions import plan, record, record_overhead
from cmlib.collect.workloads.kernels.recipe import build, kernels
from cmlib.errors import CmlibError

_SECONDS = 1.5  # an execution, with the small ones beside it that tell the machine's pace


def _plan(setting):
    listed = []
    for item in _todo(setting):
        there = (_folder(setting) / item.program.name / f"{item.form}.json").exists()
        name, missing = f"{item.program.name} {item.form}", 0 if there else len(item.runs)
        listed.append(Planned(name, len(item.runs), missing, missing * len(item.parts) * _SECONDS / 60))
    return listed


def _record(setting):
    todo = _todo(setting)
    binaries = places.results_dir() / "kernels"
    about = {**machine.describe(), "numa_nodes": nodes(), "real_time": real_time()}
    paces, folder = {}, _folder(setting)
    with machine.counters_lock("recording the kernels"):
        for item in todo:
            name = f"{item.program.name} {item.form}"
            try:
                # By itself: what one program needs, such as Boost's headers, the others don't.
                build(binaries, [item.program.name])
                record(item, binaries, folder, about, paces=paces)
                if item.form == "good":
                    record_overhead(item.program, binaries, item.parts[0], folder, about)
            except CmlibError as error:
                yield name, error
            else:
                yield name, None


def nodes():
    """NUMA nodes of this machine."""
    return max(1, len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))))


def real_time():
    """Whether this process, and so what it starts, has real-time priority."""
    return os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR)


def _todo(setting):
    events = usual_events(machine.describe())
    return plan(kernels(), events, good_counters=setting.counters["good"], nodes=nodes())


def _folder(setting):
    return setting.data / "regions" / places.HARDWARE


KERNELS = Part(
    "kernels",
    "06",
    "AutoPerf's fifteen programs, counted by region in the good and the bad form",
    _plan,
    _record,
)
