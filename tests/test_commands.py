"""Command lines that record events again, as they were recorded before, each word safe in a shell."""

import ast
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmlib.experiments.commands import command_again, command_to_count
from cmlib.io.events import encode, table
from cmlib.report.inline import strip_markup
from cmlib.shell import as_code, command_line, perf_stat
from cmlib.topdown.summary import summarize

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
    assert "'{slots:u,x:u}'" in perf_stat(["instructions:u", "cycles:u", "slots:u", "x:u"], 100)


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


# What a shell takes for more than a letter, but braces, which perf's groups have.
_ORDERS = re.compile(r"[\s'\"`$;&|()<>\\*?!]|[^\x20-\x7e]")
HOSTILE = [
    "x';touch${IFS}PWN;'",
    "$(touch PWN)",
    "`touch PWN`",
    "true; touch PWN",
    "a&&touch PWN",
    "|touch PWN",
    "#",
    "!!",
]
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")) | st.sampled_from(HOSTILE)
STAND_INS = {name: f'#!/bin/sh\nprintf "%s\\0" {name} "$@"; echo END\n' for name in ("perf", "cmlib")}
STAND_INS["pgrep"] = "#!/bin/sh\necho 7\n"


@pytest.fixture(scope="module")
def bash(tmp_path_factory):
    """Runs lines in bash, where perf and cmlib tell what they were called with, and nothing else is there to be run."""
    folder, work = tmp_path_factory.mktemp("bin"), tmp_path_factory.mktemp("work")
    for name, script in STAND_INS.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)

    def run(lines):
        script = "\n".join(lines)
        subprocess.run(["/bin/bash", "-n", "-c", script], check=True, capture_output=True)
        done = subprocess.run(
            ["/bin/bash", "-c", script], check=True, capture_output=True, env={"PATH": str(folder)}, cwd=work
        )
        assert not done.stderr and not list(work.iterdir())
        return [words.decode().split("\0")[:-1] for words in done.stdout.split(b"END\n")[:-1]]

    return run


@settings(max_examples=15)
@given(st.lists(st.lists(TEXTS, max_size=6), min_size=1, max_size=20))
def test_what_a_shell_makes_of_a_line_are_the_words_that_it_was_made_of(bash, commands):
    printable = [["perf", *words] for words in commands if all(word.isprintable() for word in words)]
    lines = [command_line("perf", *words) for words in commands]
    assert bash(filter(None, lines)) == printable
    assert [strip_markup(as_code(line)) for line in lines if line] == [
        " ".join([line]).strip() for line in lines if line
    ]


@settings(max_examples=15)
@given(st.lists(st.tuples(TEXTS, TEXTS, st.booleans()), min_size=1, max_size=10))
def test_a_recordings_command_and_what_it_was_attached_to_are_words_of_the_line(bash, metas):
    lines, expected = [], []
    for command, name, attached in metas:
        meta = OWN | {"command": command}
        if attached:
            meta |= {"attached": {"cgroup": name, "seconds": 60.0}}
            lines.append(command_again(meta))
            expected += [["cmlib", "record", "app", "--cgroup", name, "--seconds", "60"]] * name.isprintable()
            continue
        lines.append(command_again(meta))
        try:
            words = shlex.split(command)
        except ValueError:
            words = []
        words = words if command.isprintable() and words and shlex.join(words) == command else ["COMMAND"]
        expected.append(["cmlib", "record", "app", "--", *words])
    assert bash(filter(None, lines)) == expected


@settings(max_examples=15)
@given(st.lists(TEXTS | st.sampled_from(EVENTS), min_size=1, max_size=5), TEXTS)
def test_no_command_is_made_where_an_event_is_none_that_perf_names(bash, names, modifier):
    lines = [
        command_to_count(IMPORTED | {"encodings": {}, "modifier": modifier}, [names], PINNED),
        command_to_count(OWN | {"command": "x"}, [names]),
        perf_stat(["instructions", "cycles", *names], 100),
    ]
    for words in bash(filter(None, lines)):
        assert words[0] in ("perf", "cmlib") and not any(map(_ORDERS.search, words))
    if any(not name or _ORDERS.search(name) for name in names):
        assert lines == ["", "", ""]


def test_a_modifier_of_a_strangers_gets_no_line_that_would_decide_it():
    import pandas as pd

    index = pd.Index([0.1, 0.2, 0.3], name="time_s")
    counts = pd.DataFrame({"instructions": [1e9] * 3, "cycles": [2e9] * 3}, index)
    running = counts * 0 + 1
    decide = summarize("app", [(counts, running)], processor="amd_zen5", modifier="u")["account"]["decide"]
    hostile = summarize("app", [(counts, running)], processor="amd_zen5", modifier="u';touch PWN;'")
    assert decide.startswith("perf stat") and hostile["account"]["decide"] == ""


ROOT = Path(__file__).parent.parent
_TO_COPY = re.compile(
    r"\b(?:cmlib (?:record|run|import|fetch|compare|diagnose|summarize|list|remove|store rebuild)\b"
    r"|perf (?:stat|record|script) -)[^`\n]*\x01"
)


@pytest.mark.parametrize("folder", ["cmlib", "workloads", "notebooks"])
def test_commands_to_copy_are_made_by_one_function(folder):
    labels = ROOT / "cmlib/experiments/tuning/labels.py"  # what is noted of a recording, and compared
    for file in sorted({*(ROOT / folder).rglob("*.py")} - {labels}):
        text = file.read_text()
        if not re.search("cmlib [a-z]|perf (?:stat|record|script) -", text):  # need not be parsed
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else "\x01" for part in node.values]
                assert not _TO_COPY.search("".join(parts)), f"{file}:{node.lineno}"
    for file in (ROOT / folder).rglob("*.j2"):
        text = re.sub(r"\{\{.*?\}\}", "\x01", file.read_text())
        assert not _TO_COPY.search(text), file


def test_a_description_in_place_of_a_command_is_no_line_to_copy():
    described = OWN | {"command": "bzip2 -9 (a tar of 285 MB)"}
    assert shell(command_again(described)) == [["cmlib", "record", "app", "--", "COMMAND"]]
