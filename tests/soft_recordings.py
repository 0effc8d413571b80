"""Short recordings of a shell's software events, which any machine counts."""

from pathlib import Path

from cmlib.collect import record
from cmlib.collect.schedule import make_plans

ROOT = Path(__file__).parents[1]
SOFTWARE = ["page-faults", "context-switches", "cpu-migrations"]
PROGRAM = ["sh", "-c", "ls / >/dev/null; sleep 0.05; ls /proc >/dev/null"]


def software_plans(*, per_run=2, interval_ms=20):
    return make_plans(
        "mlpx", SOFTWARE, 0, per_run=per_run, set_name="soft", pinned=("task-clock",), interval_ms=interval_ms
    )


def ocoe_plans(events=("one", "two"), interval_ms=20):
    return make_plans("ocoe", list(events), 5, interval_ms=interval_ms)


def make(folder, plans=None, *, name="sleepy", command=PROGRAM, **options):
    plans = plans or software_plans()
    options = {
        "encodings": {e: e for plan in plans for e in plan.events},
        "counters": {"offered": 6, "good": 5},
    } | options
    return record.record(name, command, plans, folder=folder, **options)


def runs(folder, name="sleepy"):
    return record.existing_runs(folder / name)


def leftovers(folder):
    return sorted(str(file) for file in folder.rglob("*.partial"))
