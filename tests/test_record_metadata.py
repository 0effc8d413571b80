"""Whatever metadata lie in a folder of recordings, import and record go on or say which file is wrong, and how."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cmlib.cli import main
from cmlib.collect import record
from cmlib.io import store
from cmlib.io.archive.runs import MOST_EVENTS
from tests.small_runs import add_run
from tests.soft_recordings import ROOT, make, runs, software_plans

GOOD = ROOT / "tests/golden/perf-6.1/comma.csv"
KEYS = ["pinned", "groups", "encodings", "modifier", "counters", "machine", "separator", "counting", "note"]
KEYS += [
    "schema",
    "program",
    "set",
    "pass",
    "part",
    "mode",
    "run",
    "command",
    "interval_ms",
    "date",
    "duration_s",
    "running_shares",
    "start_s",
    "condition",
    "names",
    "columns",
]
WRONG = [None, True, 0, -1, 1.5, 1e999, "", "x", "\ud800", [], [1], [[1]], ["x"], [["x"]], {}, {"good": "x"}]
values = st.sampled_from(WRONG) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from([*KEYS, "exit_code", "sha256"]), values, min_size=1, max_size=2))
def test_import_and_the_store_agree_on_metadata(changes):
    with TemporaryDirectory() as name:
        folder = Path(name)
        add_run(folder, "p", "soft", 0, 0, [("x", 1.0)], **changes)
        try:
            record.import_files("p", [GOOD], set_name="soft", folder=folder)
        except record.RecordError as error:
            assert "soft-p0-00" in str(error)
        try:
            store.rebuild(folder, f"sqlite:///{folder}/s.sqlite")
        except store.StoreError as error:
            assert "soft-p0-00" in str(error)


@pytest.mark.parametrize("key", [*KEYS, "exit_code", "sha256"])
def test_metadata_of_a_wrong_kind_are_named_before_anything_is_recorded(fake_perf, tmp_path, key):
    for wrong in WRONG:
        add_run(tmp_path, "sleepy", "soft", 0, 0, [("x", 1.0)], **{key: wrong})
        with pytest.raises(record.RecordError, match="soft-p0-00"):
            make(tmp_path, command=["false"])


def test_a_folder_in_which_a_file_lacks_a_key_is_named(tmp_path):
    file = add_run(tmp_path, "p", "soft", 0, 0, [("x", 1.0)])
    meta = json.loads(file.read_text())
    for key in meta:
        file.write_text(json.dumps({k: v for k, v in meta.items() if k != key}))
        with pytest.raises(record.RecordError, match=rf"soft-p0-00.json is not .* it has no '{key}'"):
            record.import_files("p", [GOOD], folder=tmp_path)


def test_one_program_s_wrong_metadata_do_not_stop_the_others(tmp_path):
    add_run(tmp_path, "bad", "soft", 0, 0, [("x", 1.0)], groups="x")
    record.import_files("good", [GOOD], folder=tmp_path)
    url = f"sqlite:///{tmp_path}/s.sqlite"
    assert store.rebuild(tmp_path, url)["program"].tolist() == ["good"]
    assert store.refused(url)["name"].tolist() == ["recordings/bad/soft-p0-00"]


# --- what the store would refuse is not imported, nor recorded


def test_more_events_than_the_store_takes_are_not_imported(tmp_path):
    row = "".join(f"0.100000000,5,,e{k},9,100.00,,\n" for k in range(MOST_EVENTS + 1))
    (tmp_path / "many.csv").write_text(row)
    with pytest.raises(record.RecordError, match="481 events, and a run has 480 at most"):
        record.import_files("app", [tmp_path / "many.csv"], folder=tmp_path)
    assert not list(tmp_path.glob("app/*"))


@pytest.mark.parametrize(
    "about",
    [
        '{"machine": {"load_1min": NaN}, "offered_counters": 6, "good_counters": 5}',
        '{"machine": {"load_1min": 1e999}, "offered_counters": 6, "good_counters": 5}',
        '{"machine": {"model_name": "\\ud800"}, "offered_counters": 6, "good_counters": 5}',
        '{"machine": {}, "offered_counters": "many", "good_counters": 5}',
        '{"machine": [], "offered_counters": 6, "good_counters": 5}',
        '{"machine": {}}',
        "[]",
        "5",
        "{",
        "[" * 100_000,
    ],
)
def test_a_machine_that_could_not_be_stored_is_not_imported(tmp_path, about):
    (tmp_path / "machine.json").write_text(about)
    arguments = ["import", "app", "--machine", str(tmp_path / "machine.json"), str(GOOD)]
    done = CliRunner(env={"CMLIB_DATA": str(tmp_path)}).invoke(main, arguments)
    assert done.exit_code == 2 and "Error" in done.output and "Traceback" not in done.output
    assert not list(tmp_path.glob("recordings/app/*"))


@pytest.mark.parametrize("option", ["command", "note"])
def test_what_is_said_of_a_run_must_be_unicode(tmp_path, option):
    with pytest.raises(record.RecordError, match="surrogates not allowed|instead of text"):
        record.import_files("app", [GOOD], folder=tmp_path, **{option: "\udcff"})
    assert runs(tmp_path, "app") == {}


@pytest.mark.parametrize("name, what", [({"name": "n" * 300}, "program"), ({"set_name": "s" * 300}, "set")])
def test_names_that_are_too_long_for_files_are_refused(tmp_path, name, what):
    told = f"a {what} is named by letters, digits and .*100 at most"
    with pytest.raises(record.RecordError, match=told):
        record.import_files(**({"name": "app"} | name), files=[GOOD], folder=tmp_path)
    assert not list(tmp_path.glob("app/*"))


def test_a_command_that_is_not_unicode_is_refused_before_it_runs(fake_perf, tmp_path):
    """As its bytes come from a shell, and so in a process of its own."""
    script = "import sys; from tests.soft_recordings import make; make(sys.argv[1], command=sys.argv[2:])"
    ran = tmp_path / "ran"
    command = [sys.executable, "-c", script, tmp_path, "sh", "-c", f"touch {ran}", b"caf\xe9"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert b"holds bytes that are not UTF-8" in done.stderr and done.returncode == 1
    assert not ran.exists() and not list(tmp_path.glob("sleepy/*"))


def test_a_note_that_could_not_be_written_is_refused_before_the_run(fake_perf, tmp_path):
    with pytest.raises(record.RecordError, match="note is .* instead of text"):
        make(tmp_path, command=["touch", str(tmp_path / "ran")], note="\udcff")
    assert not (tmp_path / "ran").exists()


def test_a_plan_of_more_events_than_the_store_takes_is_refused_before_the_run(fake_perf, tmp_path):
    plans = software_plans()
    crowded = type(plans[0])(**(vars(plans[0]) | {"groups": (tuple(f"e{k}" for k in range(500)),)}))
    with pytest.raises(record.RecordError, match="501 events, and a run has 480 at most"):
        make(tmp_path, [crowded], command=["touch", str(tmp_path / "ran")])
    assert not (tmp_path / "ran").exists()
