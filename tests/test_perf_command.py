"""The command line of perf stat for a plan."""

import json

import pytest

from cmlib.collect.record.execute import stat_command
from cmlib.collect.schedule import Plan
from tests.perf_output import GOLDEN


def test_the_command_of_the_first_recordings():
    """The same command line that made data/recordings/gcc/ocoe-p1-02."""
    meta = json.loads((GOLDEN.parents[1] / "data/recordings/gcc/ocoe-p1-02.json").read_text(encoding="utf-8"))
    plan = Plan("ocoe", "ocoe", 2, tuple(meta["pinned"]), tuple(map(tuple, meta["groups"])), 100, "u")
    made = stat_command(plan, meta["encodings"], "FILE", command=["gcc", "-O2"])
    group = ",".join(
        f"cpu/event={code},umask=0x0,name={name}/u"
        for name, code in [("de_op_queue_empty", "0xa9"), ("ls_stlf", "0x35"), ("ex_div_busy", "0xd3")]
    )
    assert made[:8] == ["perf", "stat", "-I", "100", "-x", ",", "-o", "FILE"]
    assert made[8:13] == ["-e", "instructions:uD", "-e", "cycles:uD", "-e"]
    assert made[13:] == ["{" + group + "}", "--", "gcc", "-O2"]


def test_events_without_an_encoding_go_by_their_name():
    plan = Plan("s", "ocoe", 0, ("task-clock",), (("page-faults", "context-switches"),), 50, "")
    made = stat_command(plan, {"task-clock": "task-clock"}, "o", command=["true"])
    assert made[made.index("-e") :] == [
        "-e",
        "task-clock:D",
        "-e",
        "{page-faults,context-switches}",
        "--",
        "true",
    ]
    pinned = Plan("s", "ocoe", 0, ("x", "sched:sched_switch"), (), 50, "u")
    told = stat_command(
        pinned,
        {"x": "cpu/event=0x1,name=x/u", "sched:sched_switch": "sched:sched_switch"},
        "o",
        command=["true"],
    )
    assert told[8:] == ["-e", "cpu/event=0x1,name=x/uD", "-e", "sched:sched_switch:D", "--", "true"]


def test_processes_are_counted_while_the_command_runs():
    plan = Plan("s", "ocoe", 0, ("task-clock",), (), 50, "")
    made = stat_command(plan, {}, "o", options=["-p", "12,345"], command=["load"])
    assert made[made.index("-p") :] == ["-p", "12,345", "--", "load"]


def test_what_runs_already_is_counted_without_a_command():
    made = stat_command(Plan("s", "ocoe", 0, ("cycles",), ()), {}, "o", options=["-a"])
    assert made[-3:] == ["-e", "cycles:uD", "-a"]


def test_nothing_to_count_is_refused():
    with pytest.raises(ValueError, match="no event to count"):
        stat_command(Plan("s", "ocoe", 3, (), ()), {}, "o", command=["true"])
