"""What others took of the processors' time, and the numbers the kernel knows events by."""

import os

import pytest

from cmlib.collect import machine
from cmlib.errors import CmlibError
from cmlib_workloads.neighbours import processor_times, taken_by_others


def test_what_others_took_is_told_apart(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu  100 20 30 900 50 1 2 3 7 8\ncpu0 1 2 3\n")
    _, busy, own = processor_times(tmp_path)
    assert busy == pytest.approx(156 / os.sysconf("SC_CLK_TCK")) and 0 < own <= sum(os.times()[:4])
    processors = os.cpu_count()
    # In 10 s somebody was busy for 6, of which this program's processes took 4
    assert taken_by_others((0, 0, 0), (10, 6, 4)) == pytest.approx(0.2 / processors)
    assert taken_by_others((0, 0, 0), (1, 0.9, 0.91)) == 0


def test_events_become_the_numbers_that_the_pmu_says(tmp_path):
    assert machine.raw_config(0x1C7, 0x4, tmp_path) == 0x1000004C7
    device = tmp_path / "sys/bus/event_source/devices/armv8_pmuv3_0"
    (device / "format").mkdir(parents=True)
    (device / "cpus").write_text("0\n")
    (device / "type").write_text("10\n")
    (device / "format/event").write_text("config:0-15\n")
    assert machine.raw_config(0x4005, 0, tmp_path) == 0x4005
    with pytest.raises(CmlibError, match="more bits"):  # which would be another event
        machine.raw_config(0x14005, 0, tmp_path)


def test_tracepoints_have_the_kernel_s_numbers(tmp_path):
    for place, number in (("tracing", "314"), ("debug/tracing", "9")):
        folder = tmp_path / "sys/kernel" / place / "events/sched/sched_wakeup"
        folder.mkdir(parents=True)
        (folder / "id").write_text(f"{number}\n")
    assert machine.tracepoint_id("sched:sched_wakeup", tmp_path) == 314
    assert machine.tracepoint_id("sched:no_such", tmp_path) is None
