"""Streams: sample by sample or in blocks, in little memory, and when they are not as they should be."""

import copy
import math
import pickle

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.compress import OnlineRegression, compress
from cmlib.compress.bounded import BoundedRegression
from tests.naive import compression as naive
from tests.planted_counters import COMPRESSORS, counters, phases, starts


@pytest.mark.parametrize("name", COMPRESSORS)
@given(samples=counters(n_events=2), cuts=st.lists(st.integers(0, 40), max_size=4))
def test_one_at_a_time_or_in_blocks_is_all_the_same(name, samples, cuts):
    x, y = samples
    events = ["loads", "stores"]
    whole = COMPRESSORS[name](events)
    expected = pd.concat([whole.extend(x, y), whole.finish()], ignore_index=True)

    blocks = COMPRESSORS[name](events)
    edges = [0, *sorted(min(cut, len(x)) for cut in cuts), len(x)]
    frames = [blocks.extend(x[a:b], y[a:b]) for a, b in zip(edges, edges[1:], strict=False)]
    pd.testing.assert_frame_equal(pd.concat([*frames, blocks.finish()], ignore_index=True), expected)

    single = COMPRESSORS[name](events)
    added = [single.extend([a], [b]) for a, b in zip(x, y, strict=True)]
    pd.testing.assert_frame_equal(pd.concat([*added, single.finish()], ignore_index=True), expected)


@pytest.mark.parametrize("name", COMPRESSORS)
def test_memory_does_not_grow_with_the_run(name):
    stream = COMPRESSORS[name]()
    small = len(pickle.dumps(stream))
    stream.extend(*phases(50_000, seed=2))
    assert len(pickle.dumps(stream)) == small < 100_000


@pytest.mark.parametrize("name", COMPRESSORS)
def test_a_counter_that_stays_at_zero_is_one_line(name):
    stream = COMPRESSORS[name]()
    assert stream.extend(np.arange(500.0), np.zeros(500)).empty
    (line,) = stream.finish().itertuples()
    assert (line.x_start, line.slope, line.intercept, line.sigma, line.n) == (0, 0, 0, 0, 500)


def test_a_counter_may_start_at_zero():
    x, y = np.arange(1000), 3 * np.arange(1000)
    assert starts(compress(x, y), x) == [0] == naive.online_starts(x, y)


@pytest.mark.parametrize("name", COMPRESSORS)
def test_an_x_that_does_not_grow_is_refused_and_the_stream_goes_on(name):
    x, y = np.array([1.0, 2.0, 3.0, 4.0, 9.0]), np.array([1.0, 2.0, 3.0, 4.0, 50.0])
    stream, untroubled = COMPRESSORS[name](), COMPRESSORS[name]()
    untroubled.extend(x[:3], y[:3])
    stream.extend(x[:3], y[:3])
    for wrong in (3.0, 1.0):
        with pytest.raises(ValueError, match=f"at position 0 it is {wrong:g} after 3"):
            stream.extend([wrong], [7.0])
    with pytest.raises(ValueError, match="at position 2 it is 5 after 6"):
        stream.extend([5.0, 6.0, 5.0], [5.0, 6.0, 7.0])
    pd.testing.assert_frame_equal(stream.extend(x[3:], y[3:]), untroubled.extend(x[3:], y[3:]))
    pd.testing.assert_frame_equal(stream.finish(), untroubled.finish())


@given(counters(n_events=2), st.data())
def test_a_sample_that_is_not_finite_is_left_out(samples, data):
    x, y = samples[0].astype(float), samples[1].astype(float)
    holes = data.draw(st.lists(st.booleans(), min_size=len(x), max_size=len(x)))
    kept = ~np.array(holes)
    broken_x, broken_y = x.copy(), y.copy()
    broken_x[np.flatnonzero(holes)[::2]] = np.inf
    broken_y[np.flatnonzero(holes)[1::2], 1] = np.nan
    lines = compress(broken_x, pd.DataFrame(broken_y))
    pd.testing.assert_frame_equal(lines, compress(x[kept], pd.DataFrame(y[kept])))


def test_a_count_that_falls_is_a_sample_like_any_other():
    x = np.arange(1, 41)
    y = np.concatenate([100 * x[:20], 100 * x[:20]])
    lines = compress(x, y)
    assert starts(lines, x) == naive.online_starts(x, y)
    assert lines["slope"].iloc[0] == pytest.approx(100) and lines["slope"].min() < 0


def test_no_sample_gives_no_line_and_one_sample_a_flat_one():
    stream = OnlineRegression()
    assert stream.finish().empty
    assert stream.extend([5.0], [70.0]).empty
    (line,) = stream.finish().itertuples()
    assert (line.x_start, line.x_end, line.slope, line.intercept, line.n) == (5, 5, 0, 70, 1)
    assert stream.extend([1.0], [1.0]).empty, "after finish() a new stream may begin anywhere"


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (lambda: compress([1, 2, 3], [1, 2]), r"got x of shape \(3,\) and y of shape \(2,\)"),
        (lambda: OnlineRegression(alpha=-0.1), "alpha must not be negative; got -0.1"),
        (lambda: OnlineRegression(n_sigma=math.nan), "n_sigma must not be negative; got nan"),
        (lambda: OnlineRegression(drift=-1), "drift must not be negative; got -1"),
        (lambda: BoundedRegression(0), "bound must be positive"),
        (lambda: BoundedRegression([1, 2, 3], ["a", "b"]), "one for each of 2 event"),
        (lambda: OnlineRegression(["a", "a"]), "events must be different names"),
        (lambda: OnlineRegression([]), "events must be different names, at least one"),
        (lambda: OnlineRegression(["a", "b"]).extend([1.0], [2.0]), r"samples of 2 event\(s\); got"),
    ],
)
def test_wrong_input_is_named(attempt, said):
    with pytest.raises(ValueError, match=said):
        attempt()


@given(counters())
def test_no_input_is_changed(samples):
    before = copy.deepcopy(samples)
    compress(*samples)
    compress(*samples, bound=2.0)
    for now, then in zip(samples, before, strict=True):
        npt.assert_array_equal(now, then)
