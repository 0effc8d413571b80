"""Phases of a series: planted ones are found, and none of all ways to cut it costs less."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.experiments.first_page import find_phases


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
    found = find_phases(pd.Series(values), gain=gain, shortest=shortest / len(values))
    cuts = list(found["start"][1:])
    cost = _left(values, cuts) + gain * _left(values, []) * len(cuts)
    assert cost == pytest.approx(_every_way(values, gain, shortest), abs=1e-6)
    assert found["start"][0] == 0 and list(found["end"] + 1) == [*cuts, len(values)]
    np.testing.assert_allclose(found["level"], [part.mean() for part in np.split(values, cuts)])


@pytest.mark.parametrize("n", [60, 1000])
def test_planted_phases_are_found(n):
    rng = np.random.default_rng(0)
    level = np.repeat([1.0, 2.0, 0.5], [n // 2, n // 4, n // 4])
    series = pd.Series(level + 0.1 * rng.standard_normal(n), np.arange(n) / 10)
    found = find_phases(series)
    np.testing.assert_allclose(found["level"], [1, 2, 0.5], atol=0.1)
    np.testing.assert_allclose(found["start"], [0, n / 20, n / 20 + n / 40], atol=n / 1000 + 0.1)


def test_noise_and_a_constant_are_one_phase():
    rng = np.random.default_rng(1)
    for values in (rng.standard_normal(200), np.ones(30), np.r_[np.ones(20), np.nan, np.ones(9)]):
        assert len(find_phases(pd.Series(values))) == 1
