"""Phases of a series: planted ones are found, and none of all ways to cut it costs less."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.fingerprint.segments import segment_starts
from cmlib.topdown import series_phases


def _left(values, cuts):
    return sum(((part - part.mean()) ** 2).sum() for part in np.split(values, cuts))


def _every_way(values, gain, shortest):
    """Least squares and penalties of all ways to cut a series."""
    penalty = gain * _left(values, [])
    ways = (cuts for n in range(len(values)) for cuts in combinations(range(1, len(values)), n))
    long = (cuts for cuts in ways if np.diff([0, *cuts, len(values)]).min() >= shortest)
    return min(_left(values, list(cuts)) + penalty * len(cuts) for cuts in long)


@given(st.lists(st.integers(0, 50), min_size=4, max_size=9), st.sampled_from([0.01, 0.1]), st.integers(1, 3))
def test_no_other_way_to_cut_costs_less(values, gain, shortest):
    values = np.array(values, dtype=float)
    penalty = gain * _left(values, []) or 1.0
    first, *cuts = segment_starts(values[:, None], penalty=penalty, shortest=shortest)
    cost = _left(values, cuts) + penalty * len(cuts)
    assert first == 0 and cost == pytest.approx(_every_way(values, gain, shortest), abs=1e-6)


@pytest.mark.parametrize("n", [60, 1000])
def test_planted_phases_are_found(n):
    rng = np.random.default_rng(0)
    level = np.repeat([1.0, 2.0, 0.5], [n // 2, n // 4, n // 4])
    series = pd.Series(level + 0.1 * rng.standard_normal(n), np.arange(n) / 10)
    found = series_phases(series)
    np.testing.assert_allclose(found["level"], [1, 2, 0.5], atol=0.1)
    np.testing.assert_allclose(found["start"], [0, n / 20, n / 20 + n / 40], atol=n / 1000 + 0.1)


def test_phases_touch_and_have_the_means_of_their_values():
    series = pd.Series([1.0, 1.1, 1, 1.1, np.nan, 5, 5.1, 5, 5.1, 5], np.arange(10) / 10)
    found = series_phases(series)
    assert found["start"].tolist() == [0, 0.5] and found["end"].tolist() == [0.3, 0.9]
    np.testing.assert_allclose(found["level"], [1.05, 5.04])


def test_noise_and_a_constant_are_one_phase():
    rng = np.random.default_rng(1)
    for values in (rng.standard_normal(200), np.ones(30), np.r_[np.ones(20), np.nan, np.ones(9)]):
        assert len(series_phases(pd.Series(values))) == 1
