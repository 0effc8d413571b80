"""Planted data is what it says it is; that it is found is tested beside what finds it."""

import numpy as np
import numpy.testing as npt
import pytest

from tests.planted_series import multiplexed_run, multiplexed_series


def test_series_is_spoilt_where_it_says_and_nowhere_else():
    planted = multiplexed_series(200, n_spikes=3, n_gaps=7, n_zeros=5, seed=1)
    assert [planted.spikes.sum(), planted.gaps.sum(), planted.zeros.sum()] == [3, 7, 5]
    assert (planted.spikes | planted.gaps | planted.zeros).sum() == 15, "none spoilt twice"
    spoilt = planted.spikes | planted.gaps
    npt.assert_array_equal(planted.values[~spoilt], planted.truth[~spoilt])
    assert np.isnan(planted.values[planted.gaps]).all()
    assert (planted.values[planted.spikes] > 9 * planted.truth[planted.spikes]).all()
    assert (planted.truth[planted.zeros] == 0).all() and (planted.truth[~planted.zeros] > 0).all()
    npt.assert_array_equal(planted.running == 0, planted.gaps)


def test_gaps_may_read_zero():
    planted = multiplexed_series(in_gaps=0.0, seed=2)
    assert (planted.values[planted.gaps] == 0).all()


@pytest.mark.parametrize("n_groups", [2, 4, 6])
def test_groups_of_a_run_share_the_time(n_groups):
    planted = multiplexed_run(50, n_groups, seed=3)
    assert planted.counts.shape == planted.truth.shape == planted.running.shape == (50, 2 + 3 * n_groups)
    one_of_each = planted.running[[f"group_{group}_event_0" for group in range(n_groups)]]
    npt.assert_allclose(one_of_each.sum(axis=1), 1)
    npt.assert_array_equal(planted.running["group_0_event_0"], planted.running["group_0_event_2"])


def test_estimates_of_a_run_err_without_bias_and_pinned_events_do_not():
    planted = multiplexed_run(400, seed=4)
    npt.assert_allclose(planted.counts.iloc[:, :2], planted.truth.iloc[:, :2])
    assert (planted.running.iloc[:, :2] == 1).all().all()
    off = planted.counts.iloc[:, 2:] / planted.truth.iloc[:, 2:] - 1
    assert off.std().between(0.02, 0.5).all()
    npt.assert_allclose(off.mean(), 0, atol=0.03)


@pytest.mark.parametrize("make", [multiplexed_series, multiplexed_run])
def test_seeds_repeat(make):
    one, again, other = (np.asarray(make(seed=seed).truth) for seed in (5, 5, 6))
    npt.assert_array_equal(one, again)
    assert (one != other).any()
