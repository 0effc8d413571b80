"""The emitter makes the events that it was asked for, as perf counts them, and nothing else that it doesn't say."""

import os
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from cmlib.collect.record import LaunchSpec
from cmlib.errors import CmlibError
from cmlib.experiments.tuning.settings import EMITTERS
from cmlib_workloads.tuning import KERNEL_EVENTS, build_emitter, with_emitter
from tests.processes import processes, wait_until

RATES = {event: 400.0 + 40 * number for number, event in enumerate(EMITTERS)} | {
    "cpu-migrations": 40.0,
    "sched:sched_wakeup": 700.0,
    "sched:sched_process_fork": 80.0,
    "page-faults": 3000.0,
    "kmem:mm_page_alloc": 30000.0,
}
if len(os.sched_getaffinity(0)) < 2:
    del RATES["cpu-migrations"]
if not any(
    int((device / "flags").read_text(), 16) & 0x1009 == 0x1001 for device in Path("/sys/class/net").iterdir()
):
    del RATES["irq:softirq_entry"]  # needs a device that is up and takes datagrams to many, besides loopback
SECONDS = 0.5
IN_KERNEL = os.access("/sys/kernel/tracing/events/syscalls", os.R_OK)  # else perf may not count tracepoints


def counted(rates):
    events = [event for event in KERNEL_EVENTS if IN_KERNEL or ":" not in event]
    options = [word for event in events for word in ("-e", event)]
    with with_emitter(nullcontext(LaunchSpec(["sleep", str(SECONDS)])), rates) as program:
        pids = ",".join(map(str, program.pids))
        command = ["perf", "stat", "-x", ",", *options, "-p", pids, "--", *program.command]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=os.environ | {"LC_ALL": "C"}
        )
        assert processes("/emit-")
    rows = (line.split(",") for line in done.stderr.splitlines())
    return {row[2]: float(row[0]) / SECONDS for row in rows}


@pytest.mark.full
@pytest.mark.slow
def test_every_event_is_made_at_its_rate_and_brings_along_what_is_declared():
    """On a busy machine others' work interrupts: one count of twenty must be right."""
    assert set(EMITTERS) <= set(KERNEL_EVENTS)
    for _ in range(20):
        made = counted(RATES)
        assert len(made) == (len(KERNEL_EVENTS) if IN_KERNEL else 3)
        if not (off := out_of_bounds(made)):
            return
    raise AssertionError(off)


def out_of_bounds(made):
    """Events that were not made at their rate, with the rates."""
    # How long perf counted, on a busy machine, by the events that are made whatever happens.
    seconds = made["page-faults"] / RATES["page-faults"]
    if seconds <= 0.7:
        return {"seconds counted": seconds}
    off = {}
    for event, total in made.items():
        rate = total / seconds
        own = RATES.get(event, 0.0)
        brought = sum(RATES.get(other, 0.0) for other, company in EMITTERS.items() if event in company)
        # Bursts at either end; a wake-up takes two calls, and threads sleep 75 times a second whatever the rates.
        if not 0.7 * own - 30 < rate < 1.5 * (own + brought) + 200:
            off[event] = rate
    return off


def test_nothing_is_left_of_it_when_it_is_killed_or_refuses():
    before = processes("/emit-")
    with (
        pytest.raises(CmlibError, match="emit: page-faults=-1 is not EVENT=RATE"),
        with_emitter(nullcontext(LaunchSpec(["true"])), {"page-faults": -1}),
    ):
        pass
    assert wait_until(lambda: processes("/emit-") == before)


def test_without_a_compiler_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr("cmlib_workloads.recipe.folder", lambda: tmp_path)
    with pytest.raises(CmlibError, match=r"no compiler \(no-such-compiler\) .* install one \(Debian: gcc"):
        build_emitter()
