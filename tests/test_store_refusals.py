"""Recordings that can't be stored are refused and named, whatever is wrong with them."""

import gzip
import hashlib
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.io import store
from cmlib.io.archive import readable
from cmlib.io.archive.runs import read_run_metadata
from cmlib.io.store import StoreError, raw
from tests.small_runs import add_run


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# started\n", ""),
        ("what?\n", ""),
        ("5,,x,9,100.00,,\n", ""),
        ("2.000000000,5,,x,9,100.00,,\n1.000000000,5,,x,9,100.00,,\n", ""),
        ("".join(f"1.000000000,5,,e{k},9,100.00,,\n" for k in range(481)), "481 events. A run has 1 to 480"),
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
    with pytest.raises(StoreError, match=r"ocoe-p0-00\.csv\.gz (cannot be unpacked|is cut off)"):
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
        ({"duration_s": float("nan")}, "NaN is not a finite number"),
        ({"command": "\0"}, "instead of text"),
        ({"exit_code": "0"}, "exit_code is '0'"),
        ({"source": []}, r"source is \[\] instead of perf or valgrind"),
        ({"start_s": 10**400}, "start_s is 10+… instead of a number, 0 to"),
        ({"interval_ms": 10**400}, "interval_ms is 10+… instead of a number, 0 to"),
        ({"interval_ms": 1e308}, "interval_ms is 1e.308"),
    ],
)
def test_metadata_that_is_wrong_is_named(tmp_path, changes, told):
    add_run(tmp_path, "p", "ocoe", 0, 0, [("x", 1.0)], **changes)
    with pytest.raises(StoreError, match=rf"ocoe-p0-00\.json is not .*{told}"):
        store.rebuild(tmp_path, f"sqlite:///{tmp_path}/s.sqlite")


@pytest.mark.parametrize("changes", [{"source": []}, {"start_s": 10**400}, {"interval_ms": 10**400}])
def test_one_bad_metadata_file_leaves_the_other_programs_stored(tmp_path, changes):
    url, recordings = f"sqlite:///{tmp_path}/s.sqlite", tmp_path / "recordings"
    add_run(recordings, "bad", "ocoe", 0, 0, [("x", 1.0)], **changes)
    add_run(recordings, "good", "ocoe", 0, 0, [("x", 1.0)])
    assert store.rebuild(recordings, url)["run_id"].tolist() == ["good/ocoe-p0-00"]
    assert store.refused(url)["name"].tolist() == ["recordings/bad/ocoe-p0-00"]
    assert store.is_current(recordings, url)


def test_names_of_files_that_are_no_utf8_are_told_in_digits_and_stop_nothing(tmp_path, capsys):
    url, recordings = f"sqlite:///{tmp_path}/s.sqlite", tmp_path / "recordings"
    for name in ("good", os.fsdecode(b"na\xefve"), os.fsdecode(b"\xff\xfe")):
        file = add_run(recordings, name, "ocoe", 0, 0, [("x", 1.0)])
    file.rename(file.with_stem(os.fsdecode(b"\xff")))
    assert store.rebuild(recordings, url)["run_id"].tolist() == ["good/ocoe-p0-00"]
    names = set(store.refused(url)["name"])
    assert names == {r"recordings/na\udcefve/ocoe-p0-00", r"recordings/\udcff\udcfe/\udcff"}
    assert store.is_current(recordings, url)
    assert readable(read_run_metadata, recordings.glob("*/*.json")).keys() == {
        recordings / "good/ocoe-p0-00.json"
    }
    assert r"na\udcefve" in capsys.readouterr().err


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
    "source",
    "start_s",
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


def test_what_a_reader_did_not_foresee_is_told_of_the_file_alone(tmp_path, monkeypatch):
    def fail(file):
        raise KeyError(file)

    monkeypatch.setattr(raw.runs, "read_run_metadata", fail)
    file = add_run(tmp_path, "p", "ocoe", 0, 0, [("x", 1.0)])
    (source,) = raw.find_recordings(tmp_path)
    assert str(file) in source.problem and "--samples" not in source.problem  # it is no recording of samples
