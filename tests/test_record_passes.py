"""What is recorded of a program pass by pass, and what is not added to it: by a real perf and a fake one."""

import gzip
import hashlib
import json

import pandas as pd
import pytest

from cmlib.collect import machine, record
from cmlib.collect.schedule import make_plans
from cmlib.io import perf
from cmlib.io.archive import programs as archive
from tests import small_runs
from tests.processes import processes
from tests.soft_recordings import ROOT, SOFTWARE, leftovers, make, ocoe_plans, runs, software_plans

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
    del recorded["separator"]  # the text tells it
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
    (tmp_path / "sleepy/soft-p0-07.json.x.partial").mkdir()
    (tmp_path / "sleepy/soft-p0-07.json.x.partial/soft-p0-07.json").write_text("{")
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
        ({"command": ["sleep", "0.06"]}, r"another command: .*'sleep 0\.06' now"),
        ({"plans": software_plans(interval_ms=25)}, "another interval_ms: 20 there, 25 now"),
        ({"plans": software_plans(per_run=3)}, "another schedule of set 'soft'"),
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
    meta = json.loads(small_runs.add_run(tmp_path, "p", "ocoe", 0, 0, []).read_text())
    before = archive.read_raw(tmp_path / "p", "ocoe-p0-00")
    with pytest.raises(record.RecordError, match="p/ocoe-p0-00 exists"):
        archive.add_run(tmp_path / "p", meta, b"second")
    assert archive.read_raw(tmp_path / "p", "ocoe-p0-00") == before


@pytest.mark.parametrize(
    "name, set_name", [("../up", "s"), ("", "s"), (".hidden", "s"), ("a b", "s"), ("a", "s-p0"), ("a", "")]
)
def test_names_that_are_no_file_names_are_refused(tmp_path, name, set_name):
    plans = make_plans("ocoe", ["page-faults"], 0, set_name=set_name, pinned=())
    with pytest.raises(record.RecordError, match="is named by letters"):
        make(tmp_path, plans, name=name)
    assert list(tmp_path.iterdir()) == []


def test_two_recordings_at_a_time_are_refused(fake_perf, tmp_path):
    with (
        machine.counters_lock("cmlib record other"),
        pytest.raises(machine.CountersBusy, match="record other"),
    ):
        make(tmp_path)
    assert len(make(tmp_path)) == 2
