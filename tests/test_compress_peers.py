"""How well lines fit, beside what else makes a series smaller, on planted and on recorded counts."""

import gzip
import math

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
import ruptures
from hypothesis import given
from hypothesis import strategies as st

from cmlib.compress import (
    at_equal_size,
    bottom_up,
    compress,
    fit_quality,
    of_event,
    reconstruct,
    swinging_door,
    zstd_samples,
)
from cmlib.io import perf
from cmlib.places import recordings_dir
from tests.naive import compression as naive
from tests.planted_counters import counters


def test_quality_is_reckoned_as_printed():
    x = np.arange(1.0, 101.0)
    y = np.where(x <= 50, x, 50 + 10 * (x - 50)) + np.where(np.arange(100) % 2, 0.2, -0.2)
    lines = compress(x, y)
    quality = fit_quality(lines, x, y)
    off = y - reconstruct(lines, x).to_numpy()
    assert quality["reduction"] == 100 / len(lines) and quality["n_bytes"] == 24 * len(lines)
    assert quality["mnesd"] == pytest.approx(lines["sigma"].max() / np.ptp(y))
    assert quality["largest"] == pytest.approx(np.abs(off).max() / np.ptp(y))
    assert quality["rms"] == pytest.approx(math.sqrt(np.mean(off**2)) / np.ptp(y))


@given(counters(), st.sampled_from([0.5, 3.0, 1000.0]))
def test_the_swinging_door_is_its_definition_and_keeps_its_promise(samples, deviation):
    x, y = samples
    kept = swinging_door(x, y, deviation)
    assert kept.tolist() == naive.swinging_door(x, y, deviation)
    assert np.abs(np.interp(x, x[kept], y[kept]) - y).max() <= deviation * (1 + 1e-9)


def test_bottom_up_finds_planted_breaks():
    x = np.arange(1, 301) * 1e6
    y = np.cumsum(np.repeat([100.0, 900.0, 20.0], 100))
    ends = bottom_up(x, y, 3)
    assert len(ends) == 3 and np.abs(ends - [100, 200, 300]).max() <= 2  # pieces begin with 2 or 3 samples


@pytest.mark.parametrize("seed", range(5))
def test_bottom_up_is_that_of_ruptures_with_its_linear_cost(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 9, 120).cumsum()
    y = (rng.integers(0, 50, 120) * np.repeat(rng.integers(1, 5, 6), 20)).cumsum()
    signal = np.column_stack([(y - y.mean()) / y.std(), (x - x.mean()) / x.std(), np.ones(120)])
    theirs = ruptures.BottomUp(model="linear", min_size=2, jump=1).fit(signal)
    assert bottom_up(x, y, 5).tolist() == theirs.predict(n_bkps=4)


@given(counters(), st.integers(1, 5))
def test_packed_samples_come_back(samples, every):
    import zstandard

    x, y = samples
    packed, kept = zstd_samples(x, y, every=every)
    steps = np.frombuffer(zstandard.ZstdDecompressor().decompress(packed), np.int64).reshape(2, -1)
    npt.assert_array_equal(steps.cumsum(axis=1), [x[kept], y[kept]])
    assert kept[0] == 0 and kept[-1] == len(x) - 1 and (np.diff(kept) <= every).all()


def recorded_counts(programs):
    """Counts per interval of every one-counter-one-event run of these programs."""
    for program in programs:
        for path in sorted((recordings_dir() / program).glob("ocoe-p*.csv.gz")):
            yield perf.series(perf.parse_stat(gzip.decompress(path.read_bytes()).decode()))[0]


@pytest.mark.slow
def test_recorded_counts_fit_their_lines_as_well_as_the_paper_asks():
    qualities = []
    for counts in recorded_counts(["bzip2", "gcc", "kmeans", "wordcount"]):
        totals = counts.dropna().cumsum()
        lines = compress(totals["cycles"], totals.drop(columns="cycles"))
        qualities += [
            fit_quality(of_event(lines, e), totals["cycles"], totals[e]) for e in totals if e != "cycles"
        ]
    qualities = pd.DataFrame(qualities)
    assert len(qualities) >= 100 and (qualities["n_samples"] > 50).all()
    assert qualities["mnesd"].max() < 0.1
    assert qualities["reduction"].median() > 1.5


@pytest.mark.slow
def test_on_recorded_counts_lines_with_a_bound_beat_the_swinging_door_at_equal_size():
    errors = []
    for counts in list(recorded_counts(["gcc", "wordcount"]))[::2]:
        totals = counts.dropna().cumsum()
        for event in [name for name in totals if name != "cycles" and np.ptp(totals[name]) > 0]:
            lines = compress(totals["cycles"], totals[event])
            sized = at_equal_size(totals["cycles"], totals[event], max(48, 24 * len(lines)))
            assert (sized["n_bytes"] <= max(48, 24 * len(lines))).all()
            errors.append(sized[["largest", "rms"]].stack())
    errors = pd.DataFrame(errors).dropna()
    assert len(errors) >= 15
    for error in ("largest", "rms"):
        assert (errors["bounded", error] <= errors["swinging door", error]).mean() > 0.8
