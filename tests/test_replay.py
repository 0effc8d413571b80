"""Replayed rotations: what they hide, what they keep, and that cleaning does no harm to them."""

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmlib.clean import interpolate, joint_estimates, replay
from cmlib.clean.noise import error_variance, gap_variance

GROUPS = [["a", "b"], ["c"], ["d", "e"]]


def counted(n=120, seed=0):
    """Rates that wander and now and then jump, as a program's phases do; "cycles" is never multiplexed."""
    rng = np.random.default_rng(seed)
    steps = 0.02 * rng.normal(size=(n, 6)) + rng.normal(size=(n, 6)) * (rng.random((n, 1)) < 0.02)
    names = ["cycles", "a", "b", "c", "d", "e"]
    return pd.DataFrame(1e6 * np.exp(steps.cumsum(axis=0)), 0.5 * np.arange(1, n + 1), names)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 12), st.integers(0, 20), st.sampled_from([GROUPS, GROUPS[:2], [["a"]], []]))
def test_a_replay_keeps_what_had_its_turn(slots, phase, groups):
    exact = counted()
    counts, running, truth = replay(exact, groups, slots=slots, phase=phase)
    n = len(exact) // slots
    npt.assert_allclose(truth, exact.iloc[: n * slots].groupby(np.arange(n * slots) // slots).sum())
    always = [event for event in exact if not any(event in group for group in groups)]
    pd.testing.assert_frame_equal(counts[always], truth[always])
    assert counts.isna().equals(running == 0) and list(counts.index) == list(
        exact.index[slots - 1 :: slots][:n]
    )
    for number, group in enumerate(groups):
        for event in group:
            turns = [(slot + phase) % len(groups) == number for slot in range(n * slots)]
            caught = [
                sum(exact[event].iloc[slot] for slot in range(i * slots, (i + 1) * slots) if turns[slot])
                for i in range(n)
            ]
            npt.assert_allclose((counts[event] * running[event]).fillna(0), caught)


def test_a_replay_refuses_what_it_cannot_hide():
    with pytest.raises(ValueError, match="x: not among the events"):
        replay(counted(), [["x"]])
    with pytest.raises(ValueError, match="slots is 0"):
        replay(counted(), GROUPS, slots=0)
    with pytest.raises(ValueError, match="slots is 121"):
        replay(counted(), GROUPS, slots=121)


@pytest.mark.parametrize("slots", [6, 10])
def test_cleaning_leaves_alone_what_whole_rotations_tell(slots):
    for phase in range(3):
        counts, running, truth = replay(counted(1200), GROUPS, slots=slots, phase=phase)
        cleaned, _ = joint_estimates(counts, running)
        raw, left = ((frame - truth).abs().sum() for frame in (counts, cleaned))
        assert (left <= 1.02 * raw).all()


def test_gaps_are_filled_no_worse_than_by_straight_lines():
    counts, running, truth = replay(counted(1200), GROUPS)
    cleaned, errors = joint_estimates(counts, running)
    for event in "abcde":
        line = interpolate(counts[event].to_numpy(), running[event].to_numpy())
        assert (cleaned[event] - truth[event]).abs().sum() <= 1.02 * np.abs(line - truth[event]).sum()
    hidden = running.eq(0)[list("abcde")]
    inside = ((cleaned - truth).abs() <= 1.645 * errors)[list("abcde")].where(hidden).stack()
    assert 0.85 < inside.mean() < 0.97


def test_error_variance_is_that_of_the_two_processes_it_is_derived_from():
    """Independent slots, and a Brownian rate: one slot in four is seen."""
    rng = np.random.default_rng(0)
    fresh = rng.normal(1000, 30, (4000, 8))
    drift = 1e4 + rng.normal(size=32000).cumsum().reshape(4000, 8)
    for slots in (fresh, drift):
        estimate = slots[:, 1::4].mean(axis=1)
        off = ((estimate - slots.mean(axis=1)) ** 2).mean()
        told = error_variance(estimate, np.full(4000, 0.25), 2.0).mean()
        assert 0.6 * off < told < 4 * off, "rather too much than too little: a drift is partly taken for new"


def test_gap_variance_grows_towards_the_middle_and_is_zero_for_a_constant():
    values = np.random.default_rng(0).normal(size=60).cumsum()
    seen = np.ones(60, dtype=bool)
    seen[20:29] = False
    told = gap_variance(values, seen)
    assert told.shape == (9,) and 3 <= told.argmax() <= 5
    assert (gap_variance(np.ones(60), seen) == 0).all()


@pytest.mark.parametrize("slots", [2, 4])
def test_a_rotation_that_intervals_cut_is_estimated_on_the_way_to_the_straight_lines(slots):
    """Intervals of two slots leave gaps between three groups; of four, every group has one turn or two."""
    wandering = np.cumsum(np.random.default_rng(0).normal(size=(900, 3)), axis=0)
    exact = pd.DataFrame(np.exp(wandering / 20), columns=["a", "b", "c"])
    counts, running, truth = replay(exact, [["a"], ["b"], ["c"]], slots=slots)
    cleaned, _ = joint_estimates(counts[["a"]], running[["a"]])
    seen, lines = running["a"] > 0, interpolate(counts["a"].to_numpy(), running["a"].to_numpy())
    moved = (cleaned["a"] - counts["a"])[seen] / (lines - counts["a"])[seen]
    npt.assert_allclose(moved, 0.5 if slots == 2 else 0.4)
    off = [(part - truth["a"])[seen].abs().mean() for part in (cleaned["a"], counts["a"])]
    assert off[0] < off[1]


def test_few_intervals_tell_too_little_to_move_anything():
    """Twenty long intervals, each of another phase: what others do not explain looks like error, and is none."""
    levels = np.exp(np.random.default_rng(1).normal(size=(20, 5)))
    exact = pd.DataFrame(np.repeat(levels, 40, axis=0), columns=list("abcde"))
    exact *= np.exp(0.05 * np.random.default_rng(2).normal(size=exact.shape))
    counts, running, _ = replay(exact, [["a"], ["b"], ["c"]], slots=40)
    cleaned, _ = joint_estimates(counts, running)
    pd.testing.assert_frame_equal(cleaned, counts)


def test_zeros_of_an_event_that_hardly_happens_stay_zeros():
    exact = counted(400).assign(c=0.0)
    exact.loc[exact.index[50::50], "c"] = 4.0
    counts, running, truth = replay(exact, GROUPS, slots=6)
    cleaned, errors = joint_estimates(counts, running, groups=GROUPS)
    still = (errors["c"] == 0) & (truth["c"] == 0)
    assert still.sum() > 20 and (cleaned["c"][still] == 0).all()
