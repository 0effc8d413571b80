"""What was kept as lines goes into the store, comes back as a run, and is noticed, refused and ranked like one."""

import json
import re
import sqlite3
from tempfile import TemporaryDirectory

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from cmlib import experiments as study
from cmlib.collect import sampling as sample_streams
from cmlib.compress import compress, intervals
from cmlib.errors import NothingRecordedError
from cmlib.io import samples, store
from cmlib.io.samples import SampleError
from cmlib.io.samples.files import LINES, open_draft, samples_dir
from cmlib.io.store import StoreError, database
from cmlib.parallel import Workers
from tests import made_up
from tests.small_runs import store_lines

EVENTS = ["event_0", "event_1", "event_2"]


@pytest.fixture
def recordings(tmp_path):
    """A program recorded in intervals and as lines; another one as lines only."""
    made_up.record(tmp_path / "recordings", "app", EVENTS, EVENTS[0], passes=1, n_intervals=20)
    for program, seed in (("app", 0), ("other", 1)):
        keep(tmp_path / "samples" / program / "hardware-lines-00", sampled(seed))
    return tmp_path / "recordings"


def sampled(seed, n=3000, driver=EVENTS[0], n_phases=150):
    """Cumulated counts of a program in phases, whose IPC falls as the driver rises."""
    rng = np.random.default_rng(seed)
    phase = np.arange(n) * n_phases // n
    level = (0.5 + 0.5 * np.sin(np.linspace(0, 20, n_phases)) + rng.uniform(0, 0.3, n_phases))[phase]
    counts = {"cycles": rng.integers(990_000, 1_010_000, n)}
    counts["instructions"] = counts["cycles"] / (0.5 + 2 * level)
    for event in EVENTS:
        rate = level if event == driver else rng.uniform(0.2, 1.0, n_phases)[phase]
        counts[event] = rate * counts["cycles"] / 1000
    return pd.DataFrame(counts).round().cumsum()


def keep(out, totals, **changes):
    """Store lines as `cmlib record --samples --compress` does."""
    timer, *events = totals
    lines = compress(totals[timer], totals[events], drift=20.0)
    with open_draft(out, LINES) as (file, meta, _):
        lines.to_csv(file, index=False)
        meta |= {"command": "./app", "events": {event: f"{event}/u" for event in totals}, "period": 1_000_000}
        meta |= {"n_samples": len(totals), "date": "2026-11-21T15:00:00", "duration_s": 1.5, "kind": "lines"}
        meta |= {"method": {"drift": 20.0}, "n_lines": len(lines)} | changes
    return lines


# --- what goes in comes out


def test_every_real_recording_of_lines_comes_back_to_the_last_bit(url, tmp_path):
    files = sorted(samples_dir().glob("*/*-lines-*.json"))
    listed = store.rebuild(tmp_path, url, samples_dir=samples_dir())
    assert len(files) >= 30
    assert sorted(listed["run_id"]) == sorted(f"{file.parent.name}/{file.stem}" for file in files)
    assert set(listed["mode"]) == {"lines"} and set(listed["set"]) == {"software-lines"}
    for file in files[::6]:
        run_id = f"{file.parent.name}/{file.stem}"
        written, meta = samples.read_lines(file.with_suffix(""))
        run = store.load(url, run_id)
        assert meta.items() <= run.meta.items()
        expected = intervals(written, "task-clock", n=len(written))
        npt.assert_array_equal(run.counts, expected)
        assert list(run.counts) == ["task-clock", "page-faults"]
        assert run.interval_s.sum() == pytest.approx(meta["duration_s"])
        assert run.counts.index[-1] == pytest.approx(meta["duration_s"])
        assert run.running.eq(1).all(axis=None) and run.running.shape == run.counts.shape


def test_lines_are_listed_beside_the_recordings(recordings, url):
    listed = store.rebuild(recordings, url).set_index("run_id")
    row = listed.loc["app/hardware-lines-00"]
    assert (row["program"], row["set"], row["mode"], row["run"]) == (
        "app",
        "hardware-lines",
        "lines",
        "hardware-lines-00",
    )
    assert row["events"] == ("cycles", "instructions", *EVENTS) and row["n_events"] == 5
    assert row["interval_ms"] * row["n_intervals"] == pytest.approx(1500)
    assert row["series_table"].startswith("lines_") and listed["series_table"].is_unique
    assert store.runs(url, mode="lines")["program"].tolist() == ["app", "other"]
    assert len(store.runs(url, program="app")) == 3


def test_sql_reads_the_lines(recordings, tmp_path):
    store.rebuild(recordings, f"sqlite:///{tmp_path / 's.sqlite'}")
    written, _ = samples.read_lines(tmp_path / "samples" / "other" / "hardware-lines-00")
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        asked = "SELECT series_table FROM runs WHERE mode = 'lines' AND program = 'other'"
        (name,) = connection.execute(asked).fetchone()
        rows = connection.execute(f"SELECT x_start, slope_002, intercept_002 FROM {name}").fetchall()
    connection.close()
    npt.assert_array_equal(rows, written[["x_start", "slope:event_0", "intercept:event_0"]])


def test_recordings_of_the_same_events_are_passes_of_others_parts(tmp_path, url):
    totals = sampled(0, n=200)
    for number, columns in enumerate([[*totals], [*totals], ["cycles", "event_0"], [*totals]]):
        keep(tmp_path / "samples" / "app" / f"hardware-lines-{number:02d}", totals[columns])
    listed = store.rebuild(tmp_path / "recordings", url).set_index("run")
    places = listed[["pass", "part"]].apply(tuple, axis=1).to_dict()
    assert places == {
        "hardware-lines-00": (0, 0),
        "hardware-lines-01": (1, 0),
        "hardware-lines-02": (0, 1),
        "hardware-lines-03": (2, 0),
    }


@pytest.mark.slow
@given(n=st.integers(1, 60), bound=st.none() | st.floats(0.5, 20), seed=st.integers(0, 2**32))
def test_any_lines_read_the_same_from_the_store_as_from_their_file(n, bound, seed):
    rng = np.random.default_rng(seed)
    totals = pd.DataFrame(rng.integers(0, 50, (n, 2)).cumsum(axis=0), columns=["a b", 'c"%d']).astype(float)
    x = rng.integers(1, 9, n).cumsum().astype(float)
    lines = compress(x, totals, bound=bound)
    with TemporaryDirectory() as folder:
        out, url = f"{folder}/samples/p/hardware-lines-00", f"sqlite:///{folder}/store.sqlite"
        with open_draft(out, LINES) as (file, meta, _):
            lines.to_csv(file, index=False)
            meta |= {"command": "", "events": ["t", *totals], "duration_s": 1, "kind": "lines"}
            meta |= {"n_lines": len(lines)}
        store.rebuild(f"{folder}/recordings", url)
        run = store.load(url, "p/hardware-lines-00")
    assert len(run.counts) == len(lines)
    npt.assert_array_equal(run.counts, intervals(lines, "t", n=len(lines)))


def test_lines_of_a_stored_stream_tell_of_its_run_and_go_in(tmp_path, url):
    stream = samples_dir() / "perl-2" / "software-00.txt.gz"
    told = store_lines(stream, tmp_path / "samples/perl-2/software-lines-07", drift=20.0)
    assert told["duration_s"] > 0 and told["command"].startswith("cmlib record --program perl")
    store.rebuild(tmp_path / "recordings", url)
    totals = sample_streams.read_samples(stream)
    run = store.load(url, "perl-2/software-lines-07")
    assert list(run.counts) == list(totals)
    npt.assert_allclose(run.counts.sum(), totals.iloc[-1], rtol=0.01, atol=5)


# --- noticed, made anew, refused


def test_new_lines_and_lost_ones_make_a_store_outdated(recordings, url):
    store.rebuild(recordings, url)
    assert store.is_current(recordings, url)
    added = recordings.parent / "samples" / "app" / "hardware-lines-01"
    keep(added, sampled(2, n=300))
    assert not store.is_current(recordings, url)
    store.refresh(recordings, url)
    assert store.is_current(recordings, url) and len(store.runs(url, mode="lines")) == 3
    for suffix in (".csv", ".json"):
        added.with_suffix(suffix).unlink()
    assert not store.is_current(recordings, url)


def test_a_store_from_before_lines_is_made_anew(recordings, url, monkeypatch):
    monkeypatch.setattr(database, "SCHEMA", 1)
    store.rebuild(recordings, url)
    monkeypatch.undo()
    with pytest.raises(
        StoreError, match=f"is a store of version 1, and this cmlib reads version {store.SCHEMA}"
    ):
        store.runs(url)
    store.refresh(recordings, url)
    assert len(store.runs(url)) == 4


def changed(table):
    table.write_text(table.read_text(encoding="utf-8").replace(",2\n", ",3\n", 1) + "\n", encoding="utf-8")


@pytest.mark.parametrize("damage", [changed, lambda table: table.unlink()])
def test_damaged_lines_are_left_out_and_told(recordings, url, damage):
    listed = store.rebuild(recordings, url)
    damage(recordings.parent / "samples" / "other" / "hardware-lines-00.csv")
    again = store.rebuild(recordings, url)
    assert again["run_id"].tolist() == [run for run in listed["run_id"] if run != "other/hardware-lines-00"]
    (told,) = store.refused(url).itertuples()
    assert told.name == "samples/other/hardware-lines-00" and store.is_current(recordings, url)
    assert re.search(r"other/hardware-lines-00\.csv (is not the file|cannot be read)", told.reason)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("", "No columns"),
        ("x_start,x_end,slope:e,n\n1,2,3,4\n", "intercept:e"),
        ("x_start,x_end,slope:e,intercept:e\n", "number of lines is 0 instead of 1"),
        ("x_start,x_end,slope:e,intercept:e\n1,2,x,0\n", "could not convert"),
        ("x_start,x_end,slope:e,intercept:e\n1,2,,0\n", "a value is missing"),
    ],
)
def test_a_file_that_holds_no_such_lines_is_named(tmp_path, table, told):
    with open_draft(tmp_path / "samples/p/software-lines-00", LINES) as (file, meta, _):
        file.write(table)
        meta |= {"command": "./p", "events": ["t", "e"], "duration_s": 1.0, "kind": "lines", "n_lines": 1}
    with pytest.raises(StoreError, match=rf"software-lines-00\.csv cannot be stored: .*{told}"):
        store.rebuild(tmp_path / "recordings", f"sqlite:///{tmp_path}/s.sqlite")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kind": "samples"}, "kind is 'samples' instead of 'lines'"),
        ({"events": ["cycles"]}, "events is .* instead of the names of 2 to 480"),
        ({"events": ["a", "a"]}, "events is"),
        ({"events": ["a", None]}, "events is"),
        ({"n_lines": 0}, "n_lines is 0"),
        ({"duration_s": 0}, "duration_s is 0 instead of a number above 0"),
        ({"command": "\0"}, "instead of text"),
        ({"date": 5}, "date is 5"),
        ({"exit_code": "0"}, "exit_code is '0'"),
    ],
)
def test_metadata_that_are_wrong_are_named(tmp_path, changes, told):
    keep(tmp_path / "samples/p/hardware-lines-00", sampled(0, n=50), **changes)
    with pytest.raises(StoreError, match=rf"hardware-lines-00\.json is not .*{told}"):
        store.rebuild(tmp_path / "recordings", f"sqlite:///{tmp_path}/s.sqlite")


def test_rubbish_and_an_older_schema_are_named(tmp_path):
    url, out = f"sqlite:///{tmp_path}/s.sqlite", tmp_path / "samples/p/hardware-lines-00"
    keep(out, sampled(0, n=50))
    description = out.with_suffix(".json")
    told = json.loads(description.read_text(encoding="utf-8"))
    older = json.dumps(told | {"schema": 0})
    for text, expected in (
        ("{", "JSON"),
        ("[]", ".* a list, not an object"),
        (older, ".* schema is 0 instead of 1"),
    ):
        description.write_text(text, encoding="utf-8")
        with pytest.raises(StoreError, match=rf"hardware-lines-00\.json is not {expected}"):
            store.rebuild(tmp_path / "recordings", url)


def test_lines_without_their_table_say_so(tmp_path):
    keep(tmp_path / "lines", sampled(0, n=50))
    (tmp_path / "lines.csv").unlink()
    with pytest.raises(SampleError, match=r"lines\.csv cannot be read: No such file"):
        samples.read_lines(tmp_path / "lines")


# --- the other notebooks


def test_programs_kept_as_lines_only_are_none_in_intervals(recordings, url):
    store.rebuild(recordings, url)
    assert study.programs(url) == ["app"]
    assert study.programs(url, modes=["ocoe", "mlpx"]) == ["app"]
    ocoe_runs, mlpx_runs = study.load_both_modes(url, "app")
    assert {run.meta["mode"] for run in ocoe_runs} == {"ocoe"}
    assert {run.meta["mode"] for run in mlpx_runs} == {"mlpx"}
    with pytest.raises(NothingRecordedError, match="'other' is not among the programs recorded .app"):
        study.programs(url, "other")


def test_a_store_of_lines_alone_has_no_program_in_intervals(tmp_path, url):
    keep(tmp_path / "samples/p/software-lines-00", sampled(0, n=50))
    store.refresh(tmp_path / "recordings", url)
    with pytest.raises(NothingRecordedError, match="no program is recorded in intervals"):
        study.programs(url)


def test_lines_of_a_program_change_nothing_in_what_is_told_of_its_recordings(recordings, new_database):
    beside, alone = new_database(), new_database()
    store.rebuild(recordings, beside)
    store.rebuild(recordings, alone, samples_dir=recordings.parent / "nothing")
    for run_id in study.interval_runs(alone, ["app"])["run_id"]:
        one, other = store.load(beside, run_id), store.load(alone, run_id)
        assert one.meta == other.meta and one.meta["mode"] != "lines"
        assert_frame_equal(one.counts, other.counts)


@pytest.mark.slow
def test_a_ranking_of_lines_from_the_store_finds_the_planted_driver(tmp_path, url):
    for number in range(2):
        out = tmp_path / "samples" / "app" / f"hardware-lines-{number:02d}"
        keep(out, sampled(number, driver="event_1"))
    store.rebuild(tmp_path / "recordings", url)
    sets = list(store.runs(url, program="app", mode="lines")["set"].unique())
    runs = study.cleaned_runs(url, "app", sets, method="scaling", workers=Workers(1))
    data = study.matrix(runs)
    assert list(data.X) == EVENTS and len(data.X) >= 100 and data.holdout is not None
    assert data.ipc.between(0.2, 2).all()
    refined = study.refine(data, step=1)
    assert refined.importances.index[0] == "event_1" and refined.importances.iloc[0] > 60
