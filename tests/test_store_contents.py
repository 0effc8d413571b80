"""The store holds what was recorded, to the last bit, in every database it is kept in."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal

from cmlib import places
from cmlib.io import store
from tests.small_runs import add_run, series_in

pytestmark = pytest.mark.slow

RECORDED = places.recordings_dir()


@pytest.fixture(scope="module")
def real(new_database):
    """The store over all real recordings."""
    url = new_database()
    store.rebuild(RECORDED, url)
    return url


@pytest.mark.full
def test_every_real_run_comes_back_as_it_was_recorded(real):
    files = sorted(RECORDED.glob("*/*.json"))
    listed = store.runs(real).query("mode != 'lines'")
    assert sorted(listed["run_id"]) == sorted(f"{file.parent.name}/{file.stem}" for file in files)
    for file in files[::7]:
        run = store.load(real, f"{file.parent.name}/{file.stem}")
        counts, running = series_in(file)
        assert run.simulated or 0.9 < run.meta.pop("cpus") < 2
        assert run.meta == json.loads(file.read_text(encoding="utf-8"))
        assert_frame_equal(run.counts, counts, check_exact=True)
        assert_frame_equal(run.running, running, check_exact=True)
        assert run.interval_s.sum() == pytest.approx(run.meta["duration_s"])


@pytest.mark.full
def test_the_list_of_runs_tells_each_run(real):
    listed = store.runs(real)
    assert listed[["program", "set", "pass", "part"]].apply(tuple, axis=1).is_monotonic_increasing
    row = listed.set_index("run_id").loc["gcc/ocoe-p1-02"]
    assert row["events"] == ("instructions", "cycles", "de_op_queue_empty", "ls_stlf", "ex_div_busy")
    assert (row["mode"], row["pass"], row["part"], row["exit_code"], row["n_events"]) == ("ocoe", 1, 2, 0, 5)
    assert listed["running_shares"].all()
    assert row["duration_s"] == 18.670211324 and row["n_intervals"] == 187
    assert listed["n_intervals"].sum() > 10_000 and listed["series_table"].is_unique


@pytest.mark.full
def test_runs_are_chosen_by_program_set_and_mode(real):
    listed = store.runs(real)
    chosen = store.runs(real, program="gcc", set="ocoe", mode="ocoe")
    expected = listed.query("program == 'gcc' and set == 'ocoe'").reset_index(drop=True)
    assert_frame_equal(chosen, expected)
    assert store.runs(real, program="nobody").empty
    assert set(store.runs(real, mode="mlpx")["set"]) == {"mlpx12", "sweep"}


def test_intervals_have_lengths_and_the_uncounted_is_missing(recordings, url):
    listed = store.rebuild(recordings, url)
    assert listed["run_id"].tolist() == ["alpha/ocoe-p0-00", "beta/mlpx12-p1-00"]
    run = store.load(url, "alpha/ocoe-p0-00")
    index = pd.Index([0.1, 0.2, 0.23], name="time_s")
    assert_series_equal(run.interval_s, pd.Series([0.1, 0.1, 0.03], index, name="interval_s"))
    assert run.counts["x"].tolist() == [3, 3, 3] and run.counts["y"].isna().all()
    assert run.running.eq(0.5).all(axis=None)


ODD = [
    "a" * 100,
    "a" * 99 + "b",
    "LLC-loads",
    "llc-loads",
    "time_s",
    'say "%s" :x; --',
    "cpu/config=0x1/",
    "é€",
]


def test_any_event_name_and_many_events_are_kept(tmp_path, url):
    events = [(name, float(k)) for k, name in enumerate(ODD + [f"event_{k}" for k in range(472)])]
    add_run(tmp_path, "odd-Name.x", "ocoe", 0, 0, events)
    store.rebuild(tmp_path, url)
    run = store.load(url, "odd-Name.x/ocoe-p0-00")
    assert run.counts.columns.tolist() == [name for name, _ in events]
    assert run.counts.iloc[0].tolist() == list(range(480))


def test_numbers_are_kept_to_the_last_bit(tmp_path, url):
    counts = [*10 ** np.random.default_rng(0).uniform(-2, 299, 200), 0.0, 2.0**53 + 2, 1e12 + 0.1]
    lines = [f"{k}.{k:09d},{count:.6f},,x,9,33.00,,\n" for k, count in enumerate(counts, 1)]
    file = add_run(tmp_path, "p", "ocoe", 0, 0, [], text="".join(lines))
    store.rebuild(tmp_path, url)
    run = store.load(url, "p/ocoe-p0-00")
    expected, running = series_in(file)
    assert len(expected) == 203
    assert_frame_equal(run.counts, expected, check_exact=True)
    assert_frame_equal(run.running, running, check_exact=True)


def test_the_second_level_is_one_table_a_run_that_sql_reads(recordings, tmp_path):
    url = f"sqlite:///{tmp_path}/s.sqlite"
    store.rebuild(recordings, url)
    with sqlite3.connect(f"{tmp_path}/s.sqlite") as connection:
        row = connection.execute("SELECT series_table, events FROM runs WHERE program = 'beta'").fetchone()
        assert row == ("series_00001_beta_mlpx12_p1_00", '["x", "z"]')
        rows = connection.execute(f"SELECT time_s, count_001, running_001 FROM {row[0]}").fetchall()
    connection.close()
    assert rows == [(0.1, 7.0, 0.5), (0.2, 7.0, 0.5), (0.23, 7.0, 0.5)]


def test_runs_imported_without_date_and_exit_code_are_kept(tmp_path, url):
    add_run(tmp_path, "p", "ocoe", 0, 0, [("x", 1.0)], date=None, exit_code=None)
    row = store.rebuild(tmp_path, url).iloc[0]
    assert row["date"] is None or pd.isna(row["date"])
    assert row["exit_code"] is pd.NA


def test_the_default_is_a_file_among_the_results(recordings, tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    store.rebuild()
    assert (tmp_path / "results" / "store.sqlite").is_file()
    assert store.is_current() and len(store.runs()) == 2
    assert store.load(None, "alpha/ocoe-p0-00").meta["command"] == "./alpha"
