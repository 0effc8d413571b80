"""What is kept between notebooks: the same as computed, found by content, and never worth a failure."""

import multiprocessing
import os
import time

import numpy as np
import pandas as pd
import pytest

from cmlib.study import cache as module
from cmlib.study.cache import kept

FRAME = pd.DataFrame({"b": [1.0, np.nan], "a": [0.1, 1e-17]}, index=pd.Index([0.1, 0.2], name="time_s"))


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


class Counted:
    def __init__(self, frames):
        self.frames, self.calls = frames, 0

    def __call__(self):
        self.calls += 1
        return self.frames


def test_it_is_computed_once_and_read_as_it_was():
    compute = Counted({"one": FRAME, "other": FRAME[["a"]]})
    first, again = (kept(("x", 1, FRAME), compute) for _ in range(2))
    assert compute.calls == 1
    for found in (first, again):
        pd.testing.assert_frame_equal(found["one"], FRAME, check_exact=True)
        pd.testing.assert_frame_equal(found["other"], FRAME[["a"]], check_exact=True)


@pytest.mark.parametrize(
    "other",
    [
        ("y", 1, FRAME),
        ("x", 2, FRAME),
        ("x", 1, FRAME.iloc[:1]),
        ("x", 1, FRAME * 2),
        ("x", 1, FRAME.rename(columns={"a": "c"})),
        ("x", 1, FRAME.set_axis([0.1, 0.3])),
        ("x", 1, FRAME["a"]),
        ("x", 1, FRAME[["a", "b"]]),
    ],
)
def test_other_inputs_have_other_results(other):
    compute = Counted({"one": FRAME})
    kept(("x", 1, FRAME), compute)
    kept(other, compute)
    assert compute.calls == 2


def test_results_of_another_source_are_removed(results, monkeypatch):
    kept(("x",), Counted({"one": FRAME}))
    (old,) = (results / "kept").iterdir()
    monkeypatch.setattr(module, "_source", lambda: "another")
    compute = Counted({"one": FRAME})
    kept(("x",), compute)
    assert compute.calls == 1 and not old.exists()


def test_damaged_results_are_made_anew(results):
    kept(("x",), Counted({"one": FRAME}))
    (file,) = results.glob("kept/*/*/one.parquet")
    file.write_bytes(b"")
    compute = Counted({"one": FRAME})
    for _ in range(2):
        pd.testing.assert_frame_equal(kept(("x",), compute)["one"], FRAME)
    assert compute.calls == 1


def test_where_nothing_can_be_written_it_is_computed(results):
    results.write_text("a file in place of the folder", encoding="utf-8")
    assert kept(("x",), Counted({"one": FRAME}))["one"] is FRAME


def test_a_failure_is_not_kept():
    def fail():
        raise OSError("no such counter")

    with pytest.raises(OSError, match="no such counter"):
        kept(("x",), fail)
    assert kept(("x",), Counted({"one": FRAME}))["one"] is FRAME


def slow(folder):
    def compute():
        (folder / f"computed-{os.getpid()}").touch()
        time.sleep(0.3)
        return {"one": FRAME}

    kept(("x",), compute)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_two_at_the_same_time_compute_it_once(tmp_path):
    fork = multiprocessing.get_context("fork")
    both = [fork.Process(target=slow, args=(tmp_path,)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(list(tmp_path.glob("computed-*"))) == 1
