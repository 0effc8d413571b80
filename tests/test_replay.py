"""Replayed rotations: what they hide, what they keep, and that cleaning does no harm to them."""

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.clean import estimate_counts, replay
from cmlib.clean.missing import interpolate

GROUPS = [["a", "b"], ["c"], ["d", "e"]]


def counted(n=120, seed=0):
    """Rates that wander and now and then jump, as a program's phases do; "cycles" is never multiplexed."""
    rng = np.random.default_rng(seed)
    steps = 0.02 * rng.normal(size=(n, 6)) + rng.normal(size=(n, 6)) * (rng.random((n, 1)) < 0.02)
    names = ["cycles", "a", "b", "c", "d", "e"]
    return pd.DataFrame(1e6 * np.exp(steps.cumsum(axis=0)), 0.5 * np.arange(1, n + 1), names)


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
        cleaned, _ = estimate_counts(counts, running)
        raw, left = ((frame - truth).abs().sum() for frame in (counts, cleaned))
        assert (left <= 1.03 * raw).all()


def test_gaps_are_filled_no_worse_than_by_straight_lines():
    counts, running, truth = replay(counted(1200), GROUPS)
    cleaned, errors = estimate_counts(counts, running)
    for event in "abcde":
        pd.testing.assert_series_equal(cleaned[event], counts[event].interpolate(limit_direction="both"))
    hidden = running.eq(0)[list("abcde")]
    inside = ((cleaned - truth).abs() <= 1.645 * errors)[list("abcde")].where(hidden).stack()
    assert 0.85 < inside.mean() < 0.99


@given(st.integers(0, 10**6), st.floats(1e-3, 1e9))
def test_the_unit_changes_nothing(seed, unit):
    counts, running, _ = replay(counted(160, seed), GROUPS, slots=6)
    once, errors = estimate_counts(counts, running)
    again, errors_again = estimate_counts(unit * counts, running)
    npt.assert_allclose(again, unit * once, rtol=1e-3)
    npt.assert_allclose(errors_again, unit * errors, rtol=1e-9)


@pytest.mark.parametrize("slots", [4, 8, 24])
def test_intervals_of_whole_rotations_stay_as_printed(slots):
    counts, running, _ = replay(counted(960)[list("abcde")], [["a"], ["b"], ["c", "d"], ["e"]], slots=slots)
    pd.testing.assert_frame_equal(estimate_counts(counts, running)[0], counts)


def test_uneven_turns_of_independent_slots_are_smoothed():
    exact = pd.DataFrame(1e6 + 1e5 * np.random.default_rng(0).normal(size=(4000, 1)), columns=["a"])
    counts, running, truth = replay(exact, [["a"], [], [], []], slots=7)
    cleaned, _ = estimate_counts(counts, running)
    off = [((part - truth)["a"] ** 2).mean() for part in (counts, cleaned)]
    assert off[1] < 0.75 * off[0]


def test_a_rotation_that_intervals_cut_is_moved_towards_the_straight_lines():
    """Intervals of two slots leave gaps between three groups."""
    wandering = np.cumsum(np.random.default_rng(0).normal(size=(900, 3)), axis=0)
    exact = pd.DataFrame(np.exp(wandering / 20), columns=["a", "b", "c"])
    counts, running, truth = replay(exact, [["a"], ["b"], ["c"]], slots=2)
    cleaned, _ = estimate_counts(counts[["a"]], running[["a"]])
    seen, lines = running["a"] > 0, interpolate(counts["a"].to_numpy(), running["a"].to_numpy())
    npt.assert_allclose((cleaned["a"] - counts["a"])[seen], 0.4 * (lines - counts["a"])[seen])
    off = [(part - truth["a"])[seen].abs().mean() for part in (cleaned["a"], counts["a"])]
    assert off[0] < off[1]


def test_counts_whose_share_is_not_known_stay_and_have_errors():
    counts = counted(40)
    cleaned, errors = estimate_counts(counts, counts * np.nan)
    pd.testing.assert_frame_equal(cleaned, counts)
    assert (errors > 0).all(axis=None)
    one, error = estimate_counts(counts.iloc[:1], 0 * counts.iloc[:1] + 0.36)
    pd.testing.assert_frame_equal(one, counts.iloc[:1])
    npt.assert_allclose(error, 0.8 * 0.03 * one)


def test_zeros_of_an_event_that_hardly_happens_stay_zeros():
    exact = counted(400).assign(c=0.0)
    exact.loc[exact.index[50::50], "c"] = 4.0
    counts, running, truth = replay(exact, GROUPS, slots=6)
    cleaned, errors = estimate_counts(counts, running)
    still = (errors["c"] == 0) & (truth["c"] == 0)
    assert still.sum() > 20 and (cleaned["c"][still] < 1e-5).all()
