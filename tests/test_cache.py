"""What is kept between notebooks: the same as computed, found by content, and never worth a failure."""

import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cmlib
from cmlib.experiments import cache as module
from cmlib.experiments.cache import cached, dump_code, find_sources

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
    first, again = (cached(("x", 1, FRAME), compute) for _ in range(2))
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
    cached(("x", 1, FRAME), compute)
    cached(other, compute)
    assert compute.calls == 2


def test_results_of_another_source_are_removed(results, monkeypatch):
    cached(("x",), Counted({"one": FRAME}))
    (old,) = (results / "cache").iterdir()
    other_module = results / "cache/cmlib.rank-0"
    other_module.mkdir()
    monkeypatch.setattr(module, "_hash_code", lambda name: "another")
    compute = Counted({"one": FRAME})
    cached(("x",), compute)
    assert compute.calls == 1 and not old.exists() and other_module.exists()


def test_a_result_depends_on_what_its_module_imports_and_on_nothing_else():
    """The cleaning of a run on all of `clean`, which loads its names when they are asked for."""
    folder = Path(cmlib.__file__).parent
    sources = {str(file.relative_to(folder)) for file in find_sources(folder / "experiments/data.py")}
    assert {"experiments/data.py", "clean/series.py", "clean/shrinkage.py", "parallel.py"} <= sources
    others = {file.partition("/")[0] for file in sources}
    assert not others & {"report", "cli", "plot", "explore", "compare", "topdown", "rank", "anomaly"}


PLAIN = """
def double(x):
    return 2 * x
"""
WITH_HINTS = '''
"""Double numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cmlib.report.run import run_profile


def double(x: float) -> float:
    """Return twice `x`."""
    return 2 * x  # exact
'''


def test_docstrings_and_type_hints_discard_no_results(tmp_path):
    sources = {"plain": PLAIN, "hints": WITH_HINTS, "other": PLAIN.replace("2 * x", "3 * x")}
    files = {name: tmp_path / f"{name}.py" for name in sources}
    for name, source in sources.items():
        files[name].write_text(source, encoding="utf-8")
    code = {name: dump_code(file) for name, file in files.items()}
    assert code["plain"] == code["hints"] != code["other"]
    assert find_sources(files["hints"]) == {files["hints"]}


def test_damaged_results_are_made_anew(results):
    cached(("x",), Counted({"one": FRAME}))
    (file,) = results.glob("cache/*/*/one.parquet")
    file.write_bytes(b"")
    compute = Counted({"one": FRAME})
    for _ in range(2):
        pd.testing.assert_frame_equal(cached(("x",), compute)["one"], FRAME)
    assert compute.calls == 1


def test_where_nothing_can_be_written_it_is_computed(results):
    results.write_text("a file in place of the folder", encoding="utf-8")
    assert cached(("x",), Counted({"one": FRAME}))["one"] is FRAME


def test_a_failure_is_not_kept():
    def fail():
        raise OSError("no such counter")

    with pytest.raises(OSError, match="no such counter"):
        cached(("x",), fail)
    assert cached(("x",), Counted({"one": FRAME}))["one"] is FRAME


def slow(folder, together):
    def compute():
        (folder / f"computed-{os.getpid()}").touch()
        time.sleep(0.3)
        return {"one": FRAME}

    together.wait()
    cached(("x",), compute)


@pytest.mark.slow
def test_two_at_the_same_time_compute_it_once(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    together = spawn.Barrier(2)
    other = spawn.Process(target=slow, args=(tmp_path, together))
    other.start()
    slow(tmp_path, together)
    other.join()
    assert other.exitcode == 0
    assert len(list(tmp_path.glob("computed-*"))) == 1
