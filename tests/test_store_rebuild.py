"""A rebuild makes a whole store or leaves the old one; what is no store is neither read nor replaced."""

import threading
import uuid

import pytest
import sqlalchemy as sa
from pandas.testing import assert_frame_equal

from cmlib.errors import NothingRecordedError
from cmlib.experiments.data import programs
from cmlib.io import store
from cmlib.io.store import StoreError, database
from tests.databases import POSTGRES, in_postgres
from tests.small_runs import add_run

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


def test_a_rebuild_of_nothing_that_can_be_stored_leaves_the_old_store(recordings, url, tmp_path):
    store.rebuild(recordings, url)
    before = store.runs(url)
    for file in recordings.glob("*/*.csv.gz"):
        file.write_bytes(b"something else")
    with pytest.raises(StoreError, match="alpha.ocoe-p0-00.csv.gz is not what was recorded"):
        store.rebuild(recordings, url)
    assert_frame_equal(store.runs(url), before)
    assert store.load(url, "beta/mlpx12-p1-00").counts["z"].tolist() == [7, 7, 7]
    assert not list(tmp_path.rglob("*.partial"))


def test_a_recording_that_is_wrong_is_left_out_and_told_until_it_is_put_right(recordings, url):
    store.rebuild(recordings, url)
    before = store.runs(url)
    for damage in (damage_raw, lose_raw, name_wrongly, write_rubbish):
        undo = damage(recordings / "beta" / "mlpx12-p1-00.json")
        assert store.rebuild(recordings, url)["program"].tolist() == ["alpha"]
        (told,) = store.refused(url).itertuples()
        assert told.name == "recordings/beta/mlpx12-p1-00" and "mlpx12-p1-00" in told.reason
        assert store.is_current(recordings, url)
        undo()
        assert not store.is_current(recordings, url)
        store.rebuild(recordings, url)
        assert_frame_equal(store.runs(url), before)
        assert store.refused(url).empty and store.is_current(recordings, url)


def test_a_program_that_could_not_be_stored_is_asked_for_with_the_reason(recordings, url):
    damage_raw(recordings / "beta" / "mlpx12-p1-00.json")
    store.rebuild(recordings, url)
    absent = "is not among the programs recorded"
    with pytest.raises(NothingRecordedError, match=rf"'beta' {absent}(.|\n)*mlpx12-p1-00.csv.gz is not what"):
        programs(url, "beta")
    with pytest.raises(NothingRecordedError, match=rf"'gamma' {absent}[^\n]*$"):
        programs(url, "gamma")


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


@pytest.mark.slow
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


def test_a_store_that_older_readers_filled_is_rebuilt(recordings, url, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(database, "hash_readers", lambda: "older")
        store.rebuild(recordings, url)
    assert not store.is_current(recordings, url)
    store.refresh(recordings, url)
    assert store.is_current(recordings, url)


# --- what is no store, or another's


def test_a_store_of_another_version_is_refused_with_the_way_out(recordings, url, monkeypatch):
    monkeypatch.setattr(database, "SCHEMA", 99)
    with database.replacing(url):
        pass
    monkeypatch.undo()
    with pytest.raises(
        StoreError,
        match=rf"version 99, and this cmlib reads version {store.SCHEMA}; .*cmlib store rebuild --url",
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


@pytest.mark.parametrize("left", [0, 100, 4096, 0.5])
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


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("sqlite://", "in memory"),
        ("mysql://host/name", "sqlite or postgresql"),
        ("nonsense", "not the URL of a database"),
        ("postgresql://me:secret@127.0.0.1:1/x", r"me:\*\*\*@127.0.0.1"),
        ("sqlite:////proc/store.sqlite", "no store at|cannot be written to /proc/store.sqlite"),
        ("sqlite:////proc/self/status/x/store.sqlite", "no store at|cannot be written"),
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


@pytest.mark.needs("postgres")
def test_another_s_schema_of_that_name_is_not_replaced(recordings):
    name = f"cmlib_{uuid.uuid4().hex}"
    in_postgres(f"CREATE DATABASE {name}")
    url = sa.make_url(POSTGRES).set(database=name).render_as_string(hide_password=False)
    in_postgres("CREATE SCHEMA cmlib", url)
    with pytest.raises(StoreError, match="is not a store of cmlib"):
        store.rebuild(recordings, url)
    in_postgres(f"DROP DATABASE {name} WITH (FORCE)")
