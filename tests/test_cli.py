"""The command line: help, exit codes, and errors that are told on standard error without a traceback."""

import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cmlib import experiments, places, report
from cmlib.cli import main
from cmlib.collect import record
from cmlib.collect.machine.lock import lock_file
from cmlib.errors import CmlibError, InputError
from cmlib.io import store
from cmlib_workloads.servers import CACHE_PORT, datacaching
from tests.processes import wait_until

ROOT = Path(__file__).parents[1]
SOFTWARE = [
    "--pinned",
    "task-clock",
    "--events",
    "page-faults,context-switches",
    "--interval-ms",
    "20",
    "--runs",
    "1",
]
RECORDED = ROOT / "data/recordings/gcc/ocoe-p0-00.csv.gz"


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    return tmp_path


def cmlib(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.mark.parametrize(
    ("variable", "read"),
    [
        ("CMLIB_DATA", places.data_dir),
        ("CMLIB_RESULTS", places.results_dir),
        ("CMLIB_PUBLIC", places.external_data_dir),
        ("CMLIB_LOCKS", lock_file),
    ],
)
def test_an_empty_variable_is_as_one_that_is_not_set(variable, read, monkeypatch):
    monkeypatch.delenv(variable, raising=False)
    without = read()
    monkeypatch.setenv(variable, "/elsewhere")
    assert "elsewhere" in str(read())
    monkeypatch.setenv(variable, "")
    assert read() == without and os.environ[variable] == ""


def commands(group, path=()):
    """Paths of all commands, those of sub-groups as well."""
    named = [((*path, name), command) for name, command in group.commands.items()]
    inner = [
        commands(command, where) if hasattr(command, "commands") else [where] for where, command in named
    ]
    return sum(inner, [])


def test_the_list_of_commands_cuts_off_no_help():
    listed = " ".join(cmlib("--help").stdout.partition("Commands:")[2].split())
    assert "..." not in listed
    for name, command in main.commands.items():
        first = " ".join(command.help.split()).partition(".")[0]
        assert f"{name} {first}." in listed


@pytest.mark.parametrize("path", commands(main), ids=" ".join)
def test_every_command_has_help_with_an_example(path):
    done = cmlib(*path, "--help")
    assert done.exit_code == 0 and f"Example: cmlib {' '.join(path)}" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["record"],
        ["record", "app"],
        ["record", "app", "--mode", "both", "--", "true"],
        ["record", "app", "--interval-ms", "0", "--", "true"],
        ["record", "app", "--scale", "2", "--", "true"],
        ["record", "app", "--samples", "--mode", "ocoe", "--", "true"],
        ["record", "app", "--samples", "--events", "core", "--", "true"],
        ["record", "app", "--samples", "--events", "cycles, all", "--", "true"],
        ["record", "app", "--samples", "--simulate", "--", "true"],
        ["record", "app", "--program", "bzip2", "--", "true"],
        ["record", "--program", "sort", "--option", "spark.local.dir"],
        ["import", "app", "no-such-file"],
        ["run", "smoke", "-p", "program"],
        ["run", "smoke", "-p", "program=[1"],
        ["doctor", "too much"],
    ],
)
def test_wrong_usage_ends_with_2(arguments):
    done = cmlib(*arguments)
    assert done.exit_code == 2 and done.stdout == "" and "Usage:" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["--help", "list"])
@pytest.mark.parametrize("output", ["/dev/full", "pipe"])
def test_output_that_cannot_be_written_ends_with_2_and_no_traceback(monkeypatch, arguments, output):
    monkeypatch.delenv("CMLIB_DATA", raising=False)  # the recordings that come with cmlib are listed
    if output == "pipe":
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open(output, os.O_WRONLY)
    done = subprocess.run(
        [sys.executable, "-c", "from cmlib.cli import main; main()", arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert done.returncode == 2 and "Traceback" not in done.stderr and "Exception" not in done.stderr


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (CmlibError("the reason"), "Error: the reason"),
        (EOFError("cut short"), "Error: cut short"),
        (KeyboardInterrupt(), "Aborted!"),
        (KeyError("unexpected"), "this is a bug in cmlib"),
        (InputError("a wrong value"), "Error: a wrong value"),
        (ValueError("of a library"), "this is a bug in cmlib"),
        (UnicodeDecodeError("utf-8", b"", 0, 1, "of a library"), "this is a bug in cmlib"),
    ],
)
def test_exit_code_1_is_left_to_what_a_command_found(monkeypatch, error, told):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(report, "run_profile", fail)
    done = cmlib("run", "smoke")
    assert done.exit_code == 2 and done.stdout == "" and told in done.stderr


def test_a_bug_says_where_it_is_and_hides_passwords(monkeypatch):
    """A library's ValueError is none of the user's, and cmlib's InputError is."""
    monkeypatch.setattr(report, "run_profile", lambda *_, **__: np.zeros(3).reshape(2, 2))
    monkeypatch.setattr(
        sys, "argv", ["cmlib", "run", "smoke", "-p", "database=postgresql://me:secret@there/x"]
    )
    done = cmlib("run", "smoke")
    assert done.exit_code == 2 and "Traceback" not in done.stderr
    assert re.search(r"cannot reshape array.*\nAt cmlib\.cli\S*:\d+ .*, in `cmlib run", done.stderr)
    assert "secret" not in done.stderr and "CONTRIBUTING.md" in done.stderr
    monkeypatch.undo()
    assert "Error: no profile 'nonsense'" in cmlib("run", "nonsense").stderr


def test_the_doctor_prints_a_table():
    done = cmlib("doctor")
    assert done.exit_code == 0
    assert "perf" in done.stdout and "offered" in done.stdout.splitlines()[-1]


def test_the_doctor_prints_json(fake_perf):
    done = cmlib("doctor", "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["offered_counters"], told["good_counters"]) == (0, 6, 5)
    assert all(set(f) == {"id", "severity", "what", "numbers", "todo"} for f in told["findings"])


def test_a_program_is_recorded_and_resumed(any_perf, data):
    done = cmlib("record", "app", *SOFTWARE, "--note", "mine", "--", "sleep", "0.05")
    assert done.exit_code == 0, done.output
    assert (
        "1 run made, set ocoe is complete" in done.stdout and "cmlib run live -p program=app" in done.stdout
    )
    found = record.existing_runs(data / "recordings/app")
    assert list(found) == ["mlpx12-p0-00", "ocoe-p0-00"] and found["ocoe-p0-00"]["note"] == "mine"
    assert "app: 0 runs made" in cmlib("record", "app", *SOFTWARE, "--", "sleep", "0.05").stdout


@pytest.mark.needs("memcached", "cc", "perf")
def test_a_server_is_recorded_by_name_and_a_taken_port_is_told(data, monkeypatch):
    monkeypatch.setitem(datacaching.__wrapped__.__kwdefaults__, "keys", 4_000)  # not 400,000
    done = cmlib("record", "--program", "datacaching", "--scale", "0.01", *SOFTWARE, "--mode", "ocoe")
    assert done.exit_code == 0, done.output
    (meta,) = record.existing_runs(data / "recordings/datacaching").values()
    assert meta["command"] == "cmlib record --program datacaching --scale 0.01"
    with socket.create_server(("127.0.0.1", CACHE_PORT)):
        done = cmlib("record", "other", "--program", "datacaching", "--scale", "0.01", *SOFTWARE)
    assert done.exit_code == 2 and f"port {CACHE_PORT} of 127.0.0.1 is taken" in done.stderr


@pytest.mark.parametrize("name, told", [("sorted", "there is no recipe for 'sorted'"), ("sort", "apt-get")])
def test_a_program_that_is_unknown_or_lacks_something_is_told(fake_perf, monkeypatch, name, told):
    monkeypatch.setattr("cmlib_workloads.recipe.missing_packages", lambda names: ["default-jre-headless"])
    done = cmlib("record", "--program", name, *SOFTWARE)
    assert done.exit_code == 2 and told in done.stderr


@pytest.mark.parametrize(
    "command, told",
    [
        (["no-such-program"], "does not exist"),
        (["sh", "-c", "echo the reason >&2; sleep 0.05; exit 4"], "the reason"),
        (["true"], "before the first interval of 500 ms"),
    ],
)
def test_a_failure_is_told_on_standard_error_and_ends_with_2(any_perf, command, told):
    done = cmlib("record", "app", *SOFTWARE, "--interval-ms", "500", "--", *command)
    assert done.exit_code == 2 and done.stdout == ""
    assert "Error: " in done.stderr and told in done.stderr and "Traceback" not in done.stderr


def test_without_perf_recording_ends_with_2_and_says_what_to_install(no_perf):
    done = cmlib("record", "app", "--", sys.executable, "-c", "pass")
    assert done.exit_code == 2 and "apt-get install linux-perf" in done.stderr


@pytest.mark.slow
def test_interrupted_it_ends_cleanly_and_keeps_what_was_made(best_perf, data):
    command = [
        "-c",
        "from cmlib.cli import main; main()",
        "record",
        "app",
        *SOFTWARE,
        "--runs",
        "500",
        "--",
        "sleep",
        "0.05",
    ]
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as recorder:
        folder = data / "recordings/app"
        assert wait_until(lambda: len(record.existing_runs(folder)) >= 2)
        recorder.send_signal(signal.SIGINT)
        _, told = recorder.communicate()
    assert recorder.returncode == 2 and told.strip().endswith("Aborted!") and "Traceback" not in told
    assert 2 <= len(record.existing_runs(folder)) < 500 and list(folder.glob("*.partial")) == []


def test_files_from_elsewhere_are_imported(data, tmp_path):
    done = cmlib("import", "app", "--set", "mine", "--command", "gcc", RECORDED)
    assert (done.exit_code, done.stdout) == (0, "app: imported as run mine-p0-00\n")
    written, given = data / "recordings/app/mine-p0-00.csv.gz", RECORDED
    assert gzip.decompress(written.read_bytes()) == gzip.decompress(given.read_bytes())
    again = cmlib("import", "app", RECORDED)
    assert again.exit_code == 2 and "is app/mine-p0-00 already" in again.stderr


def test_what_a_file_does_not_tell_of_running_shares_stays_unknown(data):
    done = cmlib("import", "crc", ROOT / "tests/golden/elsewhere/a15-cbench-list1.txt")
    assert done.exit_code == 0 and "no running shares" in done.stderr
    (meta,) = record.existing_runs(data / "recordings/crc").values()
    assert "no running shares" in meta["note"] and meta["mode"] == "unknown"
    assert meta["running_shares"] is False and meta["set"] == "counts"
    url = f"sqlite:///{data}/s.sqlite"
    listed = store.rebuild(data / "recordings", url)
    assert listed["running_shares"].tolist() == [False]
    run = store.load(url, listed["run_id"].iloc[0])
    assert run.kind == "shares not known" and run.running.isna().all(axis=None)
    cleaned = experiments.cleaned_runs(f"sqlite:///{data}/s.sqlite", "crc", ["counts"])["counts"][0]
    assert cleaned["cycles"].notna().all()


@pytest.mark.slow
def test_the_machine_of_an_import_is_what_the_doctor_said_there(fake_perf, data, tmp_path):
    (tmp_path / "doctor.json").write_text(cmlib("doctor", "--json").stdout)
    done = cmlib("import", "app", "--machine", tmp_path / "doctor.json", RECORDED)
    assert done.exit_code == 0, done.output
    (meta,) = record.existing_runs(data / "recordings/app").values()
    assert meta["counters"] == {"offered": 6, "good": 5} and meta["machine"]["perf"] == "6.1.fake"


def test_a_profile_is_run_with_what_was_given(monkeypatch, tmp_path):
    asked = []
    (tmp_path / "answers.json").write_text('{"programs": {}}')
    monkeypatch.setattr(
        report, "run_profile", lambda *args, **_: asked.append(args) or tmp_path / "index.html"
    )
    done = cmlib("run", "live", "02", "03", "-p", "program=myapp", "-p", "n_steps=50", "--jobs", "1")
    assert done.exit_code == 0 and done.stdout.strip() == str(tmp_path / "index.html")
    assert asked == [("live", ("02", "03"), {"program": "myapp", "n_steps": 50, "jobs": 1})]


def test_the_page_of_a_program_is_named_once_before_its_notebooks_run(monkeypatch, tmp_path):
    (tmp_path / "answers.json").write_text('{"programs": {}}')
    page = tmp_path / "index.html"

    def run(*_, on_first_page):
        on_first_page(page)
        return page

    monkeypatch.setattr(report, "run_profile", run)
    assert cmlib("run", "live").stdout == f"{page}\n"
    assert cmlib("run", "live", "--json").stdout.strip() == '{"programs": {}}'


def test_the_summary_of_a_single_program_is_plain_text(monkeypatch, tmp_path):
    first = {
        "headline": "**Front end**: 52 % are lost",
        "advice": [{"text": "see `-XX:+PrintCodeCache`"}],
        "separate": "",
    }
    summary = {"name": "app", "first": first, "untold_text": ""}
    (tmp_path / "answers.json").write_text(json.dumps({"programs": {"app": summary}}))
    monkeypatch.setattr(report, "run_profile", lambda *_, **__: tmp_path / "index.html")
    done = cmlib("run", "live")
    assert done.exit_code == 0, done.output
    assert done.stderr.splitlines() == [
        "app: Front end: 52 % are lost",
        "What to try: see -XX:+PrintCodeCache",
    ]


def test_a_profile_that_does_not_exist_is_told():
    done = cmlib("run", "no-such-profile")
    assert done.exit_code == 2 and "no profile 'no-such-profile'" in done.stderr


def test_a_failing_notebook_is_told(monkeypatch):
    def fail(*_, **__):
        raise report.NotebookError("01_small.ipynb, cell 3: ZeroDivisionError")

    monkeypatch.setattr(report, "run_profile", fail)
    done = cmlib("run", "smoke")
    assert done.exit_code == 2 and "cell 3: ZeroDivisionError" in done.stderr


def test_the_store_is_made_of_the_recordings(data):
    cmlib("import", "app", RECORDED)
    done = cmlib("store", "rebuild", "--url", f"sqlite:///{data / 'mine.sqlite'}")
    assert (done.exit_code, done.stdout) == (0, "1 run in the store\n"), done.output
    assert (data / "mine.sqlite").is_file()
