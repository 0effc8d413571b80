"""A recording is one type, whatever counted it: its source, its axis, its rates."""

import shutil

import numpy as np
import pandas as pd
import pytest

from cmlib import load_example, places
from cmlib.io import store
from cmlib.io.recording import INSTRUCTIONS, Recording, by_instructions


def recording_of(counts, lengths, **meta):
    index = pd.Index(np.cumsum(lengths), name="time_s")
    counts = pd.DataFrame(counts, index)
    lengths = pd.Series(lengths, index)
    meta = {"mode": "ocoe", "pinned": [], "program": "app"} | meta
    if meta.get("source") == "valgrind":
        counts, lengths = by_instructions(counts), by_instructions(lengths.to_frame())[0]
    return Recording(meta, counts, counts * 0 + 1.0, lengths)


def test_measured_counts_become_rates_by_the_second_without_the_interval_that_was_cut_short():
    run = recording_of({"cycles": [10.0, 30.0, 1.0]}, [0.1, 0.2, 0.01], pinned=["cycles"])
    assert (run.source, run.kind, run.simulated, run.studied) == ("perf", "OCOE", False, ["cycles"])
    assert run.axis.rate == "per second" and run.machine == {} and run.knows_shares
    assert run.rates()["cycles"].tolist() == pytest.approx([100.0, 150.0])
    assert [len(part) for part in run.whole()] == [2, 2]


def test_simulated_counts_become_rates_by_instructions_along_instructions():
    counts = {INSTRUCTIONS: [1e6, 2e6], "sim.loads": [5e5, 5e5]}
    run = recording_of(counts, [0.001, 0.002], source="valgrind", pinned=[INSTRUCTIONS])
    assert (run.source, run.kind, run.studied) == ("callgrind", "simulated", ["sim.loads"])
    assert run.axis.label == "instructions executed [million]"
    assert run.counts.index.tolist() == pytest.approx([1.0, 3.0])
    assert run.rates()["sim.loads"].tolist() == pytest.approx([500.0, 250.0])


def test_what_came_from_elsewhere_says_so_and_what_its_file_does_not_tell():
    run = recording_of({"x": [1.0]}, [1.0], imported=True, mode="unknown", running_shares=False)
    assert (run.source, run.kind, run.knows_shares) == ("imported", "shares not known", False)


@pytest.mark.slow
def test_an_example_is_a_real_recording_as_the_store_has_it(tmp_path):
    run = load_example("gcc")
    (tmp_path / "recordings/gcc").mkdir(parents=True)
    for file in (places.recordings_dir() / "gcc").glob("mlpx12-p0-00.*"):
        shutil.copy(file, tmp_path / "recordings/gcc")
    store.rebuild(tmp_path / "recordings", url := f"sqlite:///{tmp_path / 'store.sqlite'}")
    stored = store.load(url, "gcc/mlpx12-p0-00")
    pd.testing.assert_frame_equal(run.counts, stored.counts)
    pd.testing.assert_frame_equal(run.running, stored.running)
    pd.testing.assert_series_equal(run.interval_s, stored.interval_s)
    with pytest.raises(ValueError, match="no example 'x'; there are bzip2, gcc, kmeans, wordcount"):
        load_example("x")
