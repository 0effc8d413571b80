"""The store holds what was recorded, to the last bit, in every database it is kept in."""

import gzip
import hashlib
import json
import sqlite3
import threading
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal, assert_series_equal

from cmlib import perf, places, store
from cmlib.errors import NothingRecordedError
from cmlib.store import StoreError, database
from tests import databases
from tests.databases import POSTGRES, in_postgres

RECORDED = places.recordings_dir()


@pytest.fixture(scope="module", params=databases.KINDS)
def server(request, tmp_path_factory):
    """A function that gives the URL of a new, empty database."""
    with databases.server(request.param, tmp_path_factory.mktemp("stores")) as create:
        yield create


@pytest.fixture
def url(server):
    return server()


@pytest.fixture(scope="module")
def real(server):
    """The store over all real recordings."""
    url = server()
    store.rebuild(RECORDED, url)
    return url


@pytest.fixture
def recordings(tmp_path):
    """Two small runs of two programs."""
    folder = tmp_path / "recordings"
    add_run(folder, "alpha", "ocoe", 0, 0, [("x", 3.0), ("y", None)])
    add_run(folder, "beta", "mlpx12", 1, 0, [("x", 5.0), ("z", 7.0)], mode="mlpx")
    return folder


def add_run(folder, program, set_name, pass_number, part, events, /, *, mode="ocoe", text=None, **changes):
    run = f"{set_name}-p{pass_number}-{part:02d}"
    lines = (
        f"{time},{'<not counted>' if value is None else value},,{event},9,50.00,,"
        for time in ("0.100000000", "0.200000000", "0.230000000")
        for event, value in events
    )
    compressed = gzip.compress(("\n".join(lines) + "\n" if text is None else text).encode())
    meta = {
        "schema": 1,
        "program": program,
        "set": set_name,
        "pass": pass_number,
        "part": part,
        "mode": mode,
        "run": run,
        "command": f"./{program}",
        "interval_ms": 100,
        "date": "2026-11-21T03:00:46",
        "duration_s": 0.23,
        "exit_code": 0,
        "sha256": hashlib.sha256(compressed).hexdigest(),
    }
    (folder / program).mkdir(parents=True, exist_ok=True)
    (folder / program / f"{run}.csv.gz").write_bytes(compressed)
    (folder / program / f"{run}.json").write_text(json.dumps(meta | changes), encoding="utf-8")
    return folder / program / f"{run}.json"


def series_in(file):
    raw = gzip.decompress(file.with_suffix(".csv.gz").read_bytes())
    return perf.series(perf.parse_stat(raw.decode()))


# --- what goes in comes out


def test_every_real_run_comes_back_as_it_was_recorded(real):
    files = sorted(RECORDED.glob("*/*.json"))
    listed = store.runs(real).query("mode != 'lines'")
    assert sorted(listed["run_id"]) == sorted(f"{file.parent.name}/{file.stem}" for file in files)
    for file in files[::7]:
        run = store.load(real, f"{file.parent.name}/{file.stem}")
        counts, running = series_in(file)
        assert run.meta == json.loads(file.read_text(encoding="utf-8"))
        assert_frame_equal(run.counts, counts, check_exact=True)
        assert_frame_equal(run.running, running, check_exact=True)
        assert run.interval_s.sum() == pytest.approx(run.meta["duration_s"])


def test_the_list_of_runs_tells_each_run(real):
    listed = store.runs(real)
    assert listed[["program", "set", "pass", "part"]].apply(tuple, axis=1).is_monotonic_increasing
    row = listed.set_index("run_id").loc["gcc/ocoe-p1-02"]
    assert row["events"] == ("instructions", "cycles", "de_op_queue_empty", "ls_stlf", "ex_div_busy")
    assert (row["mode"], row["pass"], row["part"], row["exit_code"], row["n_events"]) == ("ocoe", 1, 2, 0, 5)
    assert row["duration_s"] == 18.670211324 and row["n_intervals"] == 187
    assert listed["n_intervals"].sum() > 10_000 and listed["series_table"].is_unique


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
    counts = [*10 ** np.random.default_rng(0).uniform(-2, 300, 200), 0.0, 2.0**53 + 2, 1e12 + 0.1]
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


# --- all or nothing


def test_a_rebuild_takes_the_place_of_the_old_store(recordings, url):
    store.rebuild(recordings, url)
    assert store.is_current(recordings, url)
    (recordings / "alpha" / "ocoe-p0-00.json").unlink()
    add_run(recordings, "gamma", "ocoe", 0, 0, [("x", 1.0)])
    assert not store.is_current(recordings, url)
    assert store.rebuild(recordings, url)["program"].tolist() == ["beta", "gamma"]
    assert store.is_current(recordings, url)


def test_a_changed_note_makes_a_store_outdated(recordings, url):
    assert not store.is_current(recordings, url)
    store.rebuild(recordings, url)
    add_run(recordings, "alpha", "ocoe", 0, 0, [("x", 3.0), ("y", None)], note="moved")
    assert not store.is_current(recordings, url)


def test_a_rebuild_that_fails_leaves_the_old_store(recordings, url, tmp_path):
    store.rebuild(recordings, url)
    before = store.runs(url)
    for damage in (damage_raw, lose_raw, name_wrongly, write_rubbish):
        undo = damage(recordings / "beta" / "mlpx12-p1-00.json")
        with pytest.raises(StoreError, match="mlpx12-p1-00"):
            store.rebuild(recordings, url)
        undo()
        assert_frame_equal(store.runs(url), before)
        assert store.load(url, "beta/mlpx12-p1-00").counts["z"].tolist() == [7, 7, 7]
    assert not list(tmp_path.rglob("*.partial"))


def damage_raw(file):
    return replaced(file.with_suffix(".csv.gz"), b"something else")


def lose_raw(file):
    raw = file.with_suffix(".csv.gz")
    content = raw.read_bytes()
    raw.unlink()
    return lambda: raw.write_bytes(content)


def name_wrongly(file):
    return replaced(file, file.read_bytes().replace(b'"beta"', b'"alpha"'))


def write_rubbish(file):
    return replaced(file, b"{")


def replaced(file, content):
    before = file.read_bytes()
    file.write_bytes(content)
    return lambda: file.write_bytes(before)


def test_readers_and_rebuilds_at_once_see_whole_stores_only(recordings, url):
    """While some rebuild over and over, one reads: never half a store, never none."""
    store.rebuild(recordings, url)
    problems = []

    def rebuild():
        try:
            for _ in range(4):
                store.rebuild(recordings, url)
        except StoreError as error:
            problems.append(error)

    threads = [threading.Thread(target=rebuild) for _ in range(2)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert store.runs(url)["program"].tolist() == ["alpha", "beta"]
        assert store.load(url, "beta/mlpx12-p1-00").counts["z"].tolist() == [7, 7, 7]
    assert problems == [] and store.is_current(recordings, url)


# --- what is refused, and what is said


def test_a_store_of_another_version_is_refused_with_the_way_out(recordings, url, monkeypatch):
    monkeypatch.setattr(database, "SCHEMA", 99)
    with database.replacing(url):
        pass
    monkeypatch.undo()
    with pytest.raises(
        StoreError, match=r"version 99, and this cmlib reads version 2; .*cmlib store rebuild --url"
    ):
        store.runs(url)
    assert not store.is_current(recordings, url)
    store.rebuild(recordings, url)
    assert len(store.runs(url)) == 2


def test_no_store_is_said_with_the_way_out(url, tmp_path, monkeypatch):
    with pytest.raises(StoreError, match="cmlib store rebuild"):
        store.runs(url)
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    with pytest.raises(StoreError, match="there is no store at .*make it: cmlib store rebuild$"):
        store.load(None, "x/y")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("left", [0, 100, 4096, 0.5, -4096, -1])
def test_a_store_that_was_cut_off_is_not_read_and_can_be_made_anew(recordings, tmp_path, left):
    """Every part of it can be made anew, so a lost one is no loss."""
    file = tmp_path / "store.sqlite"
    url = f"sqlite:///{file}"
    store.rebuild(recordings, url)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(left * len(whole)) if isinstance(left, float) else left])
    assert not store.is_current(recordings, url)
    with pytest.raises(StoreError, match="cmlib store rebuild"):
        store.runs(url)
    store.rebuild(recordings, url)
    assert store.is_current(recordings, url) and len(store.load(url, "beta/mlpx12-p1-00").counts) == 3


def test_an_unknown_run_is_named_with_its_nearest(recordings, url):
    store.rebuild(recordings, url)
    with pytest.raises(StoreError, match=r"no run 'alpha/ocoe-p0-01' among the 2 .* alpha/ocoe-p0-00"):
        store.load(url, "alpha/ocoe-p0-01")


def test_nothing_recorded_is_said(tmp_path, url):
    with pytest.raises(NothingRecordedError, match="cmlib record NAME"):
        store.rebuild(tmp_path, url)


def test_the_default_is_a_file_among_the_results(recordings, tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    store.rebuild()
    assert (tmp_path / "results" / "store.sqlite").is_file()
    assert store.is_current() and len(store.runs()) == 2
    assert store.load(None, "alpha/ocoe-p0-00").meta["command"] == "./alpha"


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("sqlite://", "in memory"),
        ("mysql://host/name", "sqlite or postgresql"),
        ("nonsense", "not the URL of a database"),
        ("postgresql://me:secret@127.0.0.1:1/x", r"me:\*\*\*@127.0.0.1"),
        ("sqlite:////proc/store.sqlite", "no store at|can't be written to /proc/store.sqlite"),
        ("sqlite:////proc/self/status/x/store.sqlite", "no store at|can't be written"),
    ],
)
def test_a_place_that_can_t_hold_a_store_is_named(recordings, bad, told):
    for attempt in (lambda: store.rebuild(recordings, bad), lambda: store.runs(bad)):
        with pytest.raises(StoreError, match=told) as error:
            attempt()
        assert "secret" not in str(error.value)


def test_a_file_that_is_no_store_is_neither_read_nor_replaced(recordings, tmp_path):
    file = tmp_path / "thesis.txt"
    file.write_text("years of work", encoding="utf-8")
    with pytest.raises(StoreError, match="not a database"):
        store.runs(f"sqlite:///{file}")
    with pytest.raises(StoreError, match="is not a store of cmlib"):
        store.rebuild(recordings, f"sqlite:///{file}")
    assert file.read_text(encoding="utf-8") == "years of work"


if POSTGRES:

    def test_another_s_schema_of_that_name_is_not_replaced(recordings):
        name = f"cmlib_{uuid.uuid4().hex}"
        in_postgres(f"CREATE DATABASE {name}")
        url = sa.make_url(POSTGRES).set(database=name).render_as_string(hide_password=False)
        in_postgres("CREATE SCHEMA cmlib", url)
        with pytest.raises(StoreError, match="is not a store of cmlib"):
            store.rebuild(recordings, url)
        in_postgres(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# started\n", "0 events"),
        ("what?\n", "line 1, 'what"),
        ("5,,x,9,100.00,,\n", "record with an interval"),
        ("2.000000000,5,,x,9,100.00,,\n1.000000000,5,,x,9,100.00,,\n", "more than one run"),
        ("".join(f"1.000000000,5,,e{k},9,100.00,,\n" for k in range(481)), "481 events; a run has 1 to 480"),
    ],
)
def test_output_that_is_no_run_is_named(tmp_path, text, told):
    add_run(tmp_path, "p", "ocoe", 0, 0, [], text=text)
    with pytest.raises(StoreError, match=rf"ocoe-p0-00\.csv\.gz .*{told}"):
        store.rebuild(tmp_path, f"sqlite:///{tmp_path}/s.sqlite")


@pytest.mark.parametrize(
    "compressed",
    [b"plain text", gzip.compress(b"cut off" * 99, mtime=0)[:-9], b"\x1f\x8b\x08\x00" + b"\xff" * 40],
)
def test_raw_files_that_do_not_unpack_are_named(tmp_path, compressed):
    file = add_run(tmp_path, "p", "ocoe", 0, 0, [("x", 1.0)], sha256=hashlib.sha256(compressed).hexdigest())
    file.with_suffix(".csv.gz").write_bytes(compressed)
    with pytest.raises(StoreError, match=r"ocoe-p0-00\.csv\.gz can't be stored"):
        store.rebuild(tmp_path, f"sqlite:///{tmp_path}/s.sqlite")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"schema": 2}, "schema is 2"),
        ({"pass": True}, "pass is True instead of a whole number"),
        ({"part": -1}, "part is -1"),
        ({"program": "other"}, "the folder's name, 'p'"),
        ({"run": "other"}, "the file's name"),
        ({"mode": "both"}, "ocoe or mlpx"),
        ({"duration_s": None}, "duration_s is None"),
        ({"duration_s": float("nan")}, "NaN is no number"),
        ({"command": "\0"}, "instead of text"),
        ({"exit_code": "0"}, "exit_code is '0'"),
    ],
)
def test_metadata_that_is_wrong_is_named(tmp_path, changes, told):
    add_run(tmp_path, "p", "ocoe", 0, 0, [("x", 1.0)], **changes)
    with pytest.raises(StoreError, match=rf"ocoe-p0-00\.json is not .*{told}"):
        store.rebuild(tmp_path, f"sqlite:///{tmp_path}/s.sqlite")


def test_runs_imported_without_date_and_exit_code_are_kept(tmp_path, url):
    add_run(tmp_path, "p", "ocoe", 0, 0, [("x", 1.0)], date=None, exit_code=None)
    row = store.rebuild(tmp_path, url).iloc[0]
    assert row["date"] is None or pd.isna(row["date"])
    assert row["exit_code"] is pd.NA


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = [
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
]


@given(
    changes=st.dictionaries(
        st.sampled_from([*KEYS, "exit_code", "sha256", "note", "events", "meta"]), values, max_size=3
    )
)
def test_any_metadata_is_stored_as_it_is_or_refused(changes):
    with TemporaryDirectory() as folder:
        check_stored_or_refused(Path(folder), changes)


def check_stored_or_refused(folder, changes):
    url, folder = f"sqlite:///{folder}/store.sqlite", folder / "recordings"
    file = add_run(folder, "p", "ocoe", 0, 0, [("x", 1.0)], **changes)
    try:
        store.rebuild(folder, url)
    except StoreError as error:
        assert "ocoe-p0-00" in str(error)
    else:
        assert store.load(url, "p/ocoe-p0-00").meta == json.loads(file.read_text(encoding="utf-8"))
        assert np.isfinite(store.runs(url)["duration_s"]).all()


@given(content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_file_in_place_of_metadata_is_refused(content):
    with TemporaryDirectory() as folder:
        recordings = Path(folder) / "recordings"
        add_run(recordings, "p", "ocoe", 0, 0, [("x", 1.0)]).write_bytes(content)
        with pytest.raises(StoreError, match=r"ocoe-p0-00\.json is not"):
            store.rebuild(recordings, f"sqlite:///{folder}/store.sqlite")
