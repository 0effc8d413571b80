"""Recording, against a real perf that counts software events where there is one, and a fake one whose faults are known."""

import contextlib
import dataclasses
import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from cmlib import events, machine, perf, record
from cmlib.errors import CmlibError
from cmlib.record import archive, protocol
from cmlib.schedule import Plan, plan_mlpx, plan_ocoe

ROOT = Path(__file__).parents[1]
SOFTWARE = ["page-faults", "context-switches", "cpu-migrations"]
PROGRAM = ["sh", "-c", "ls / >/dev/null; sleep 0.05; ls /proc >/dev/null"]


def software_plans(*, per_run=2, interval_ms=20):
    return plan_mlpx(
        SOFTWARE, 0, per_run=per_run, set_name="soft", pinned=("task-clock",), interval_ms=interval_ms
    )


def ocoe_plans(events=("one", "two"), interval_ms=20):
    return plan_ocoe(list(events), 5, interval_ms=interval_ms)


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


def processes(marker):
    """Processes whose command line holds `marker`, but for this one."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if marker.encode() in file.read_bytes() and int(file.parent.name) != os.getpid():
                found.append(int(file.parent.name))
    return found


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


# --- what a recording is ----------------------------------------------------


def test_every_plan_is_recorded_once_a_pass_with_all_that_is_needed_to_judge_it(any_perf, tmp_path):
    made = make(tmp_path, passes=2, note="a note", counting=SOFTWARE)
    assert [file.stem for file in made] == ["soft-p0-00", "soft-p0-01", "soft-p1-00", "soft-p1-01"]
    for run, meta in runs(tmp_path).items():
        compressed = (tmp_path / "sleepy" / f"{run}.csv.gz").read_bytes()
        assert meta["sha256"] == hashlib.sha256(compressed).hexdigest()
        frame = perf.parse_stat(gzip.decompress(compressed).decode())
        counts, _ = perf.series(frame)
        assert list(counts) == [*meta["pinned"], *(e for group in meta["groups"] for e in group)]
        assert meta["duration_s"] == counts.index.max() >= 0.05
        assert meta["note"] == "a note" and meta["counting"] == SOFTWARE and meta["exit_code"] == 0
    assert leftovers(tmp_path) == []


def test_metadata_has_the_schema_of_the_recordings_there_are(any_perf, tmp_path):
    make(tmp_path)
    recorded = json.loads((ROOT / "data/recordings/gcc/mlpx12-p0-00.json").read_text(encoding="utf-8"))
    for meta in runs(tmp_path).values():
        assert {key: type(value) for key, value in recorded.items()}.items() <= {
            k: type(v) for k, v in meta.items()
        }.items()
        assert set(meta["machine"]) == set(recorded["machine"]) and set(meta["counters"]) == set(
            recorded["counters"]
        )
        assert pd.Timestamp(meta["date"]).tz is None


def test_a_recording_goes_on_where_it_was_cut_off(any_perf, tmp_path):
    make(tmp_path)
    before = {file: file.read_bytes() for file in (tmp_path / "sleepy").glob("soft-p0-00.*")}
    (tmp_path / "sleepy/soft-p0-01.json").unlink()
    (tmp_path / "sleepy/soft-p0-07.partial").mkdir()
    (tmp_path / "sleepy/soft-p0-07.json.partial").write_text("{")
    assert [file.stem for file in make(tmp_path)] == ["soft-p0-01"]
    assert make(tmp_path) == []
    assert [file.stem for file in make(tmp_path, passes=2)] == ["soft-p1-00", "soft-p1-01"]
    assert all(file.read_bytes() == content for file, content in before.items()) and leftovers(tmp_path) == []


def test_the_program_gets_its_arguments_its_locale_and_no_input(any_perf, tmp_path, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    seen = tmp_path / "seen"
    script = f'printf "%s|" "$@" "$LC_ALL" "$(cat)" >{seen}; sleep 0.03'
    make(tmp_path, software_plans(per_run=3), command=["sh", "-c", script, "name", "two words", "$HOME", "'"])
    assert seen.read_text() == "two words|$HOME|'|C.UTF-8||"
    monkeypatch.delenv("LC_ALL")
    make(
        tmp_path,
        software_plans(per_run=3),
        name="other",
        command=["sh", "-c", f'echo "${{LC_ALL-unset}}" >{seen}; sleep 0.03'],
    )
    assert seen.read_text() == "unset\n"


def test_what_the_program_leaves_running_is_ended(any_perf, tmp_path):
    command = ["sh", "-c", "(setsid sleep 98.7651 &) ; sleep 0.05"]
    make(tmp_path, software_plans(per_run=3), command=command)
    assert processes("98.7651") == []


# --- what must not be mixed -------------------------------------------------


@pytest.mark.parametrize(
    "change, told",
    [
        ({"command": ["sleep", "0.06"]}, r"another command: .*\"sleep 0\.06\" now"),
        ({"plans": software_plans(interval_ms=25)}, "another interval_ms: 20 there, 25 now"),
        ({"plans": software_plans(per_run=3)}, "another groups|another schedule"),
        ({"plans": software_plans(per_run=1)}, "another groups"),
        ({"counters": {"offered": 6, "good": 4}}, "another counters"),
        (
            {
                "encodings": {
                    "page-faults": "faults",
                    "context-switches": "cs",
                    "cpu-migrations": "migrations",
                }
            },
            "another encodings",
        ),
    ],
)
def test_what_was_recorded_otherwise_is_not_added_to(fake_perf, tmp_path, change, told):
    make(tmp_path)
    before = runs(tmp_path)
    with pytest.raises(record.RecordError, match=told):
        make(tmp_path, passes=2, **change)
    assert runs(tmp_path) == before


@pytest.mark.parametrize(
    "key, value", [("kernel", "Linux 4.19"), ("perf", "5.10"), ("model_name", "another"), ("processors", 64)]
)
def test_runs_of_another_machine_are_not_added_to(fake_perf, tmp_path, key, value):
    make(tmp_path)
    file = tmp_path / "sleepy/soft-p0-00.json"
    meta = json.loads(file.read_text())
    file.write_text(json.dumps(meta | {"machine": meta["machine"] | {key: value}}))
    with pytest.raises(record.RecordError, match=f"sleepy/soft-p0-00 was recorded with another {key}: "):
        make(tmp_path, passes=2)
    with pytest.raises(record.RecordError, match=f"another {key}"):
        make(tmp_path, ocoe_plans())


def test_a_run_is_never_overwritten(tmp_path):
    meta = {"program": "p", "run": "ocoe-p0-00"}
    archive.add_run(tmp_path, meta, b"first")
    with pytest.raises(record.RecordError, match="p/ocoe-p0-00 exists"):
        archive.add_run(tmp_path, meta, b"second")
    assert archive.read_raw(tmp_path, "ocoe-p0-00") == b"first"


@pytest.mark.parametrize(
    "name, set_name", [("../up", "s"), ("", "s"), (".hidden", "s"), ("a b", "s"), ("a", "s-p0"), ("a", "")]
)
def test_names_that_are_no_file_names_are_refused(tmp_path, name, set_name):
    plans = plan_ocoe(["page-faults"], 0, set_name=set_name, pinned=())
    with pytest.raises(record.RecordError, match="is named by letters"):
        make(tmp_path, plans, name=name)
    assert list(tmp_path.iterdir()) == []


def test_two_recordings_at_a_time_are_refused(fake_perf, tmp_path):
    with (
        machine.counters_lock(tmp_path, "cmlib record other"),
        pytest.raises(machine.CountersBusy, match="record other"),
    ):
        make(tmp_path)
    assert len(make(tmp_path)) == 2


# --- what goes wrong --------------------------------------------------------


@pytest.mark.parametrize(
    "command, told",
    [
        (["no-such-program"], "'no-such-program' does not exist"),
        (
            ["sh", "-c", "sleep 0.05; echo first >&2; echo the reason >&2; exit 3"],
            r"exit code 3. (.|\n)*the reason",
        ),
        (["sh", "-c", "sleep 0.05; kill -SEGV $$"], r"exit code 139 \(signal 11\)"),
        (["true"], r"ended after \d+ ms, before the first interval of 500 ms"),
        ([], "no command"),
    ],
)
def test_a_command_that_cannot_be_recorded_is_told_and_leaves_nothing(any_perf, tmp_path, command, told):
    with pytest.raises(record.RecordError, match=told):
        make(tmp_path, software_plans(interval_ms=500), command=command)
    assert runs(tmp_path) == {} and leftovers(tmp_path) == []


def test_an_event_that_perf_refuses_is_told_in_perfs_words(any_perf, tmp_path):
    plans = plan_ocoe(["refused"], 5, pinned=("task-clock",))
    with pytest.raises(
        record.RecordError,
        match=r"could not count task-clock, refused under `sh(.|\n)*event syntax error: '.?refused",
    ):
        make(tmp_path, plans)


def test_an_event_that_is_not_supported_is_told(fake_perf, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_OFFERED", "3")
    with pytest.raises(record.RecordError, match="can't count two"):
        make(tmp_path, ocoe_plans())


def test_without_perf_what_to_install_is_told(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/program").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(record.RecordError, match="apt-get install linux-perf"):
        make(tmp_path, command=["program"])


def test_what_perf_and_the_program_say_is_told_apart(fake_perf, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FAKE_WARNING", "WARNING: grouped events cpus do not match")
    make(tmp_path, software_plans(per_run=3), command=["sh", "-c", "echo WARNING: mine >&2; sleep 0.05"])
    (meta,) = runs(tmp_path).values()
    assert meta["warnings"] == ["WARNING: grouped events cpus do not match"]
    assert "perf says: WARNING: grouped" in capsys.readouterr().out


def test_output_that_is_cut_off_is_not_kept(fake_perf, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_CUT", "1")
    with pytest.raises(record.RecordError, match="is the disk full"):
        make(tmp_path)
    assert runs(tmp_path) == {}


def test_a_full_disk_is_told_and_nothing_is_kept(fake_perf, tmp_path, monkeypatch):
    full = shutil.disk_usage(tmp_path)._replace(free=4096)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with pytest.raises(record.RecordError, match="could not write to .*sleepy.*: No space left on device"):
        make(tmp_path)
    assert runs(tmp_path) == {} and leftovers(tmp_path) == []


@pytest.mark.parametrize("name", ["", "sleepy"])
def test_a_folder_that_cannot_be_written_is_told(fake_perf, tmp_path, name):
    folder = tmp_path / "recordings"
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("in the way")
    with pytest.raises(CmlibError, match="could not write to .*recordings"):
        make(folder)


# --- runs that are thrown away ----------------------------------------------


@pytest.fixture
def stolen(tmp_path, monkeypatch):
    """A folder that holds a file for each of the next runs that lose their counters for a while."""
    folder = tmp_path / "stolen"
    folder.mkdir()
    monkeypatch.setenv("FAKE_STOLEN", str(folder))

    def steal(times):
        for i in range(times):
            (folder / str(i)).touch()

    return steal


def test_an_unmultiplexed_run_that_left_its_counter_is_repeated(fake_perf, tmp_path, stolen):
    stolen(2)
    make(tmp_path, ocoe_plans())
    (meta,) = runs(tmp_path).values()
    assert meta["rejected"] == ["one was on its counter only 87 % of an interval"] * 2
    assert b",87.00," not in archive.read_raw(tmp_path / "sleepy", "ocoe-p0-00")


def test_after_as_many_attempts_as_allowed_the_reason_is_told(fake_perf, tmp_path, stolen):
    stolen(4)
    with pytest.raises(
        record.RecordError, match="thrown away 4 times, the last time because one was on .* 87 %"
    ):
        make(tmp_path, ocoe_plans(), attempts=4)
    assert runs(tmp_path) == {} and leftovers(tmp_path) == []
    assert len(make(tmp_path, ocoe_plans())) == 1


def test_a_multiplexed_run_is_kept_whatever_its_shares(fake_perf, tmp_path, stolen):
    stolen(1)
    make(tmp_path, plan_mlpx(["one", "two", "three", "four"], 5, per_run=4, interval_ms=20))
    (meta,) = runs(tmp_path).values()
    assert meta["rejected"] == []


def frame_of(rows):
    """Rows of (time, event, count or None, running %)."""
    return perf.parse_stat(
        "".join(
            f"{at:.9f},{'<not counted>' if count is None else count},,{event},1000,{share:.2f},,\n"
            for at, event, count, share in rows
        )
    )


PLAN = Plan("ocoe", "ocoe", 0, ("instructions", "cycles"), (("miss",),), 100)


def interval(at, instructions, miss, share=100.0):
    return [
        (at, "instructions:uD", instructions, 100.0),
        (at, "cycles:uD", instructions, 100.0),
        (at, "miss", miss, share),
    ]


def test_intervals_in_which_nothing_ran_are_legal():
    good = [row for i in range(1, 20) for row in interval(i / 10, 1000, 5)]
    assert (
        record.judge(frame_of([*good, *interval(2.0, None, None), *interval(2.05, None, None)]), PLAN) == ""
    )


def test_counts_that_are_missing_while_the_program_ran_are_not():
    good = [row for i in range(1, 20) for row in interval(i / 10, 1000, 5)]
    reason = record.judge(frame_of([*good, *interval(2.0, 1000, None)]), PLAN)
    assert reason == "some events were not counted in intervals with 5 % of instructions"
    assert record.judge(frame_of([*good, *interval(2.0, 10, None)]), PLAN) == ""


def test_the_recordings_there_are_would_all_be_accepted():
    for run, meta in record.existing_runs(ROOT / "data/recordings/kmeans").items():
        groups = tuple(tuple(group) for group in meta["groups"])
        plan = Plan(
            meta["set"], meta["mode"], meta["part"], tuple(meta["pinned"]), groups, meta["interval_ms"]
        )
        raw = archive.read_raw(ROOT / "data/recordings/kmeans", run)
        assert record.judge(perf.parse_stat(raw.decode()), plan) == ""


# --- killed -----------------------------------------------------------------

KILLED_AT_RANDOM = """
import os, random, signal, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import tqdm
tqdm.tqdm.monitor_interval = 0
from cmlib import machine
from tests import test_record
folder, random = Path(sys.argv[2]), random.Random(int(sys.argv[3]))
for _ in range(6):
    recorder = os.fork()
    if not recorder:
        test_record.make(folder, passes=6, command=["sh", "-c", "sleep 0.0987652 & ls /proc >/dev/null; wait"])
        os._exit(0)
    time.sleep(random.uniform(0.0, 0.7))
    os.kill(recorder, signal.SIGKILL)
    os.waitpid(recorder, 0)
    with machine.counters_lock(folder, "check", wait=True):
        assert test_record.processes("0.0987652") == [], "an orphan is running while the lock is free"
    for run, meta in test_record.runs(folder).items():
        raw = test_record.archive.read_raw(folder / "sleepy", run)
        assert test_record.record.judge(test_record.perf.parse_stat(raw.decode()), test_record.software_plans()[meta["part"]]) == ""
"""


def test_killed_at_any_moment_it_loses_at_most_the_run_in_progress(best_perf, tmp_path):
    command = [sys.executable, "-c", KILLED_AT_RANDOM, str(ROOT), str(tmp_path), "7"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    survived = runs(tmp_path)
    program = ["sh", "-c", "sleep 0.0987652 & ls /proc >/dev/null; wait"]
    made = make(tmp_path, passes=6, command=program)
    assert {*survived, *(file.stem for file in made)} == {
        f"soft-p{i}-0{part}" for i in range(6) for part in (0, 1)
    }
    assert len(survived) + len(made) == 12 and leftovers(tmp_path) == []


RECORDS_LONG = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests import test_record
test_record.make(Path(sys.argv[2]), command=["sh", "-c", "setsid sh -c 'sleep 98.7653; :' & sleep 98.7653"])
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_whatever_ends_the_recorder_ends_the_whole_tree_below_it(best_perf, tmp_path, number):
    command = [sys.executable, "-c", RECORDS_LONG, str(ROOT), str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as recorder:
        assert wait_until(lambda: len(processes("98.7653")) >= 5, 60)
        recorder.send_signal(number)
        recorder.wait()
        assert wait_until(lambda: not processes("98.7653"))
    assert runs(tmp_path) == {}
    if number == signal.SIGINT:
        assert leftovers(tmp_path) == []


# --- from a request to its runs ---------------------------------------------


@pytest.fixture
def zen5(monkeypatch, fake_perf):
    """A Zen 5 with six counters, five of them good, and a table of its core events and twelve others."""
    about = machine.describe() | {
        "vendor": "AuthenticAMD",
        "family": 26,
        "model": 2,
        "microarchitecture": "amd_zen5",
    }
    monkeypatch.setattr(machine, "describe", lambda: about)
    whole = events.table()
    core = events.core_events(whole)
    others = [event for event in whole.index if event not in core][:12]
    table = whole.loc[[*core, *others]].rename(index={others[3]: "ls_some.never", others[7]: "fp_some.never"})
    monkeypatch.setattr(events, "table", lambda name="amd_zen5": table)
    return table


QUICK = ["sleep", "0.03"]


def test_without_wishes_all_that_the_notebooks_read_is_recorded(zen5, tmp_path):
    made = record.record_program("app", QUICK, record.Request(passes=1, interval_ms=20), folder=tmp_path)
    assert {name: len(files) for name, files in made.items()} == {
        "ocoe": 4,
        "mlpx12": 1,
        "probe": 1,
        "sweep": 2,
    }
    found = runs(tmp_path, "app")
    core = events.core_events(zen5)
    assert [e for part in range(4) for e in found[f"ocoe-p0-0{part}"]["groups"][0]] == core
    assert all(meta["counters"] == {"offered": 6, "good": 5} for meta in found.values())
    assert all(len(group) <= 3 for meta in found.values() for group in meta["groups"])
    counting = [event for event in zen5.index if not event.endswith(".never")]
    swept = [found[f"sweep-p0-0{part}"] for part in (0, 1)]
    assert [e for meta in swept for group in meta["groups"] for e in group] == counting
    assert all(meta["counting"] == counting for meta in swept)
    again = record.record_program("app", QUICK, record.Request(passes=1, interval_ms=20), folder=tmp_path)
    assert not any(again.values())


@pytest.mark.parametrize(
    "wishes, sets",
    [
        ({"mode": "ocoe", "events": "ls_stlf"}, {"ocoe": 3}),
        ({"mode": "mlpx"}, {"mlpx12": 3}),
        ({"mode": "mlpx", "per_run": 6, "passes": 1}, {"mlpx6": 2}),
        ({"events": "ex_ret_brn,ls_stlf", "passes": 1}, {"ocoe": 1, "mlpx12": 1}),
        (
            {"mode": "ocoe", "events": "cpu/event=0xc2,umask=0x0,name=mine/,page-faults", "passes": 1},
            {"ocoe": 1},
        ),
        ({"events": "all"}, {"probe": 1, "sweep": 4}),
        ({"mode": "ocoe", "counters": 4, "passes": 1, "set_name": "narrow"}, {"narrow": 6}),
    ],
)
def test_wishes_choose_the_sets(zen5, tmp_path, wishes, sets):
    request = record.Request(**{"interval_ms": 20, "counters": 5} | wishes)
    made = record.record_program("app", QUICK, request, folder=tmp_path)
    assert {name: len(files) for name, files in made.items()} == sets


def test_one_name_for_two_sets_is_refused(zen5, tmp_path):
    with pytest.raises(record.RecordError, match="2 sets would be recorded, and --set names one"):
        record.record_program("app", QUICK, record.Request(events="core", set_name="mine"), folder=tmp_path)


def test_counters_are_counted_once_and_then_remembered(zen5, tmp_path, monkeypatch):
    record.record_program("app", QUICK, record.Request("ocoe", passes=1, interval_ms=20), folder=tmp_path)
    monkeypatch.setattr(machine, "census", lambda: pytest.fail("counted again"))
    for passes, counters in ((1, None), (2, 5)):
        request = record.Request("mlpx", passes=passes, interval_ms=20, counters=counters)
        made = record.record_program("app", QUICK, request, folder=tmp_path)
        assert len(made["mlpx12"]) == 1
    with pytest.raises(record.RecordError, match="another counters"):
        record.record_program("app", QUICK, dataclasses.replace(request, counters=4), folder=tmp_path)


def test_where_nothing_can_be_counted_what_can_is_told(zen5, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_OFFERED", "0")
    with pytest.raises(
        record.RecordError, match=r"no hardware event can be counted here(.|\n)*--pinned task-clock"
    ):
        record.record_program("app", QUICK, record.Request("ocoe"), folder=tmp_path)


def test_software_events_are_recorded_without_any_counter(any_perf, tmp_path):
    request = record.Request(
        events="page-faults,context-switches", pinned=("task-clock",), passes=1, interval_ms=20
    )
    made = record.record_program("app", PROGRAM, request, folder=tmp_path)
    assert set(made) == {"ocoe", "mlpx12"}
    (first, second) = runs(tmp_path, "app").values()
    assert first["groups"] == second["groups"] == [["page-faults", "context-switches"]]
    assert first["counters"] == {"offered": 0, "good": 0}


def test_a_processor_nobody_knows_is_told_what_to_name(fake_perf, tmp_path, monkeypatch):
    about = machine.describe() | {"vendor": "Nobody", "family": 1, "model": 1}
    monkeypatch.setattr(machine, "describe", lambda: about)
    with pytest.raises(record.RecordError, match="name those to count"):
        record.record_program("app", QUICK, record.Request(events="all"), folder=tmp_path)
    made = record.record_program(
        "app", QUICK, record.Request("ocoe", passes=1, interval_ms=20), folder=tmp_path
    )
    names = [e for meta in runs(tmp_path, "app").values() for group in meta["groups"] for e in group]
    assert len(made["ocoe"]) == 3 and names[:2] == ["branches", "branch-misses"]


def test_a_program_under_which_nothing_counts_is_told(zen5, tmp_path, monkeypatch):
    never = zen5.rename(index=lambda event: f"{event}.never")
    monkeypatch.setattr(events, "table", lambda name="amd_zen5": never)
    with pytest.raises(record.RecordError, match="no event ever counted"):
        record.record_program(
            "app", QUICK, record.Request(events="all", interval_ms=20, counters=5), folder=tmp_path
        )
    assert protocol._remembered(runs(tmp_path, "app"), "sweep") is None


# --- imports ----------------------------------------------------------------


def committed(program, set_name):
    folder = ROOT / "data/recordings" / program
    return {
        run: meta for run, meta in record.existing_runs(folder).items() if meta["set"] == set_name
    }, folder


@pytest.mark.parametrize("program, set_name", [("gcc", "ocoe"), ("wordcount", "mlpx12")])
def test_imported_files_fall_into_their_places(tmp_path, program, set_name):
    known, folder = committed(program, set_name)
    files = [folder / f"{run}.csv.gz" for run in known]
    made = record.import_files("again", files, folder=tmp_path, command="gcc", note="from there")
    assert [file.stem for file in made] == list(known)
    for run, meta in runs(tmp_path, "again").items():
        keys = (
            "set",
            "mode",
            "pass",
            "part",
            "pinned",
            "groups",
            "interval_ms",
            "modifier",
            "date",
            "duration_s",
            "sha256",
        )
        assert {key: meta[key] for key in keys} == {key: known[run][key] for key in keys}
        assert meta["imported"] and meta["command"] == "gcc" and set(meta["machine"].values()) == {None}
        assert (tmp_path / "again" / f"{run}.csv.gz").read_bytes() == (folder / f"{run}.csv.gz").read_bytes()


def test_a_plain_file_is_kept_byte_for_byte_and_never_twice(tmp_path):
    raw = archive.read_raw(ROOT / "data/recordings/gcc", "ocoe-p0-00")
    (tmp_path / "plain.csv").write_bytes(raw)
    record.import_files("app", [tmp_path / "plain.csv"], folder=tmp_path)
    assert archive.read_raw(tmp_path / "app", "ocoe-p0-00") == raw
    with pytest.raises(record.RecordError, match="plain.csv is app/ocoe-p0-00 already"):
        record.import_files("app", [tmp_path / "plain.csv"], folder=tmp_path)
    assert len(runs(tmp_path, "app")) == 1


def test_what_the_doctor_said_there_comes_along(tmp_path):
    about = {"machine": {"model_name": "there"}, "offered_counters": 6, "good_counters": 5, "findings": []}
    files = [ROOT / "data/recordings/gcc/ocoe-p0-00.csv.gz"]
    record.import_files("app", files, about=about, folder=tmp_path)
    (meta,) = runs(tmp_path, "app").values()
    assert (
        meta["machine"]["model_name"] == "there"
        and meta["machine"]["perf"] is None
        and meta["counters"] == {"offered": 6, "good": 5}
    )
    with pytest.raises(record.RecordError, match="another model_name"):
        record.import_files("app", [files[0].with_name("ocoe-p0-01.csv.gz")], folder=tmp_path)
    with pytest.raises(record.RecordError, match="not the output of `cmlib doctor --json`"):
        record.import_files("other", files, about=["nonsense"], folder=tmp_path)


def test_a_start_in_words_nobody_reads_is_unknown(tmp_path):
    raw = archive.read_raw(ROOT / "data/recordings/gcc", "ocoe-p0-00")
    (tmp_path / "plain.csv").write_bytes(raw.replace(b"Sat Nov 21", b"Sa. 21. Nov."))
    record.import_files("app", [tmp_path / "plain.csv"], folder=tmp_path)
    (meta,) = runs(tmp_path, "app").values()
    assert meta["date"] is None and meta["duration_s"] > 18


def test_metadata_that_is_broken_is_named(fake_perf, tmp_path):
    make(tmp_path)
    (tmp_path / "sleepy/soft-p0-01.json").write_text("{")
    with pytest.raises(record.RecordError, match="soft-p0-01.json is not JSON"):
        make(tmp_path)


@pytest.mark.parametrize(
    "content, told",
    [
        (b"1.0,5,,cycles,10,100.00,,\n\x00nonsense\n", "is not interval output of one run of perf stat"),
        (b"# started on Sat Nov 21 03:00:46 2026\n\n", "holds no interval"),
        (gzip.compress(b"1.0,5,,cycles,10,100.00,,\n", mtime=0)[:-9], "can't be read"),
        (b"\x1f\x8b\x08\0garbage garbage", "can't be read"),
        (b"PERFILE2h\0\0\0", "is perf's own format.*perf stat -I 100 -x, -o FILE"),
        (b"\xfd7zXZ\0\0\x04", "is compressed: unpack it with unxz"),
        (b"\xef\xbb\xbf# started on", "was saved by a program that put a byte order mark"),
        (
            b"sleep 26786 [001]  9218.512996:     250000 task-clock:u:   7f75ea01ef38 check\n",
            "is output of `perf script`",
        ),
        (
            b"# perf script\n 7663  2750.793695886:      18878        cpu-clock: \n",
            "is output of `perf script`",
        ),
        (
            b"# started\n\n     0.05     0.56 msec task-clock   #    0.011 CPUs utilized\n",
            "is not .* table for people",
        ),
        (b"5,,cycles,10,100.00,,\n", "is not .* record with an interval"),
    ],
)
def test_what_is_not_perfs_output_is_not_imported(tmp_path, content, told):
    good = ROOT / "data/recordings/gcc/ocoe-p0-00.csv.gz"
    (tmp_path / "bad.csv").write_bytes(content)
    with pytest.raises(record.RecordError, match=f"bad.csv {told}"):
        record.import_files("app", [good, tmp_path / "bad.csv"], folder=tmp_path)
    assert runs(tmp_path, "app") == {}


def test_what_is_given_goes_before_what_is_seen(tmp_path):
    files = [ROOT / "data/recordings/gcc/ocoe-p0-00.csv.gz"]
    record.import_files("app", files, mode="mlpx", set_name="mine", interval_ms=99, folder=tmp_path)
    (meta,) = runs(tmp_path, "app").values()
    assert (meta["run"], meta["mode"], meta["interval_ms"]) == ("mine-p0-00", "mlpx", 99)
