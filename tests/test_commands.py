"""Command lines that record events again, as they were recorded before, each word safe in a shell."""

import subprocess

import pytest

from cmlib.experiments.commands import command_again, command_to_count
from cmlib.io.events import encode, table
from cmlib.topdown.answers import perf_line

EVENTS = ["ex_div_busy", "ls_stlf", "bp_redirects", "ic_fetch_stall"]
GROUPS, PINNED = [EVENTS[:3], EVENTS[3:]], ["instructions", "cycles"]
IMPORTED = {
    "program": "app",
    "imported": True,
    "encodings": {"ls_stlf": "cpu/event=0x35/"},
    "interval_ms": 100.0,
}
OWN = {"program": "app", "command": "gcc -c 'big file.c'", "interval_ms": 100}


def shell(line):
    """The commands that a line of shell runs, as lists of words."""
    script = f'cmlib() {{ printf "%s\\0" cmlib "$@"; echo; }}; perf() {{ printf "%s\\0" perf "$@"; echo; }}; {line}'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    return [words.split("\0")[:-1] for words in done.stdout.splitlines()]


def test_what_was_imported_is_counted_group_by_group_beside_the_pinned_events_and_imported_again():
    *counted, imported = shell(command_to_count(IMPORTED, GROUPS, PINNED, "amd_zen5"))
    for number, (command, group) in enumerate(zip(counted, GROUPS, strict=True), 1):
        known = {event: encode(event, table("amd_zen5"), "") for event in ("ex_div_busy", "ls_stlf")}
        names = [known.get(event, event) for event in group]
        assert command[:7] == ["perf", "stat", "-I", "100", "-x,", "-e", "instructions,cycles"]
        assert command[7:] == [*(word for name in names for word in ("-e", name)),
                               "-o", f"next-{number}.csv", "--", "COMMAND"]  # fmt: skip
    assert imported == ["cmlib", "import", "app", "next-1.csv", "next-2.csv"]
    one = command_to_count(IMPORTED, GROUPS[1:], PINNED, "amd_zen5")
    assert one.endswith("-- COMMAND && cmlib import app next.csv")


def test_what_needs_to_be_in_one_group_is():
    assert "'{slots:u,x:u}'" in perf_line(["instructions:u", "cycles:u", "slots:u", "x:u"], 100)


@pytest.mark.parametrize("name", ["L1D_REPLACEMENT", "PAPI_L3_TCA", "cache misses"])
def test_events_that_perf_has_not_by_that_name_get_no_perf_line(name):
    assert command_to_count(IMPORTED, [["ls_stlf", name]], PINNED) == ""


def test_what_cmlib_recorded_it_records_again_in_the_same_way():
    (again,) = shell(command_to_count(OWN, GROUPS))
    head = ["cmlib", "record", "app", "--mode", "ocoe", "--events", ",".join(EVENTS), "--"]
    assert again == [*head, "gcc", "-c", "big file.c"]
    assert shell(command_again(OWN | {"command": "x"})) == [["cmlib", "record", "app", "--", "x"]]


@pytest.mark.parametrize(
    ("option", "attached"),
    [
        ("--system", {"system": True}),
        ("--cgroup", {"cgroup": "system.slice/a b"}),
        ("--pid", {"processes": [{"pid": 7, "name": "memcached", "threads": 4}]}),
    ],
)
def test_a_service_is_attached_to_again_once_a_group(option, attached):
    meta = OWN | {"attached": attached | {"seconds": 60.0, "ended": "time"}}
    commands = shell(f"pgrep() {{ echo 7; }}; {command_to_count(meta, GROUPS)}")
    assert [command[3] for command in commands] == [option] * 2
    assert [command[-1].split(",") for command in commands] == GROUPS
    assert all(command[-4:-1] == ["--seconds", "60", "--events"] for command in commands)
    assert option != "--cgroup" or "system.slice/a b" in commands[0]
