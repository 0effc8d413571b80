"""Times of two versions: the tests against their definitions, planted changes, false alarms, drift."""

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cmlib.compare.ratios import (
    compute_signed_rank_tail,
    compute_smallest_p_value,
    estimate_paired_ratio,
    estimate_unpaired_ratio,
)
from cmlib.compare.times import (
    ELAPSED,
    PROCESSOR,
    WHOLE,
    compare_times,
    explain_by_code,
    judge_layouts,
    list_limits,
    measure_layout_range,
)
from cmlib.compare.versions import format_heading, read_times
from tests.naive import ranks as naive

HEADER = "function,location,thread,threads,work,seconds,running,instructions,task-clock\n"
seeds = st.integers(0, 10**6)


def times(rng, n, *, factor=1.0, noise=0.05):
    return factor * rng.lognormal(0, noise, n)


def table(**columns):
    """Times of the whole program: a row a run."""
    names = {"elapsed": ELAPSED, "processor": PROCESSOR}
    return pd.DataFrame({(WHOLE, names[name]): values for name, values in columns.items()})


@given(st.integers(1, 8), seeds)
def test_paired_ratio_is_its_definition(n, seed):
    rng = np.random.default_rng(seed)
    old, new = times(rng, n), times(rng, n, factor=1.03)
    found = estimate_paired_ratio(old, new)
    npt.assert_allclose((found.p_slower, found.p_faster, found.ratio), naive.signed_rank(old, new))


@given(st.integers(1, 5), st.integers(1, 6), seeds)
def test_unpaired_ratio_is_its_definition(n_old, n_new, seed):
    rng = np.random.default_rng(seed)
    old, new = times(rng, n_old), times(rng, n_new, factor=1.03)
    found = estimate_unpaired_ratio(old, new)
    npt.assert_allclose((found.p_slower, found.ratio), naive.rank_sum(old, new))


@given(st.integers(1, 60), seeds)
def test_paired_p_values_are_those_of_scipy(n, seed):
    rng = np.random.default_rng(seed)
    old, new = times(rng, n), times(rng, n)
    expected = stats.wilcoxon(np.log(new / old), alternative="greater", method="exact").pvalue
    assert estimate_paired_ratio(old, new).p_slower == pytest.approx(expected)


@given(
    st.sampled_from([estimate_paired_ratio, estimate_unpaired_ratio]),
    st.integers(2, 30),
    st.floats(1e-6, 1e6),
    seeds,
)
def test_units_do_not_matter_and_exchanged_versions_give_the_inverse(compare, n, unit, seed):
    rng = np.random.default_rng(seed)
    old, new = times(rng, n), times(rng, n, factor=1.1)
    one, other, scaled = compare(old, new), compare(new, old), compare(unit * old, unit * new)
    npt.assert_allclose([scaled.ratio, scaled.low, scaled.high], [one.ratio, one.low, one.high])
    assert other.ratio == pytest.approx(1 / one.ratio)
    low, high = 1 / one.high if one.high < np.inf else 0, 1 / one.low if one.low else np.inf
    npt.assert_allclose([other.low, other.high], [low, high])
    assert (one.p_slower, one.p_faster) == pytest.approx((other.p_faster, other.p_slower))


@pytest.mark.parametrize("compare", [estimate_paired_ratio, estimate_unpaired_ratio])
def test_confidence_intervals_hold_the_planted_ratio_as_often_as_they_say(compare):
    rng, n_trials = np.random.default_rng(1), 300
    held = 0
    for _ in range(n_trials):
        found = compare(np.exp(rng.laplace(0, 0.1, 10)), 1.2 * np.exp(rng.laplace(0, 0.1, 10)))
        held += found.low <= 1.2 <= found.high
    assert 0.92 <= held / n_trials <= 0.98


def test_no_p_value_is_below_the_smallest():
    assert compute_signed_rank_tail(7)[-1] == compute_smallest_p_value(7, 9, paired=True) == 2**-7
    found = estimate_unpaired_ratio(np.arange(1, 6), np.arange(6, 11))
    assert found.p_slower == pytest.approx(compute_smallest_p_value(5, 5, paired=False))
    few = estimate_paired_ratio([1.0, 1.0], [2.0, 2.1])
    assert (few.low, few.high) == (0, np.inf)


@pytest.mark.parametrize(("old", "new"), [([], []), ([1.0], [0.0]), ([1.0, 2.0], [1.0])])
def test_unusable_times_are_refused(old, new):
    with pytest.raises(ValueError):
        estimate_paired_ratio(old, new)


def test_equal_versions_give_false_alarms_no_oftener_than_alpha_however_the_machine_drifts():
    rng = np.random.default_rng(2)
    p_values = []
    for _ in range(1000):
        # The second run of each pair meets a machine that is 5 % slower than the first one did.
        drift = np.cumsum(rng.normal(0, 0.1, 20))
        first, second = np.exp(drift) * times(rng, 20), 1.05 * np.exp(drift) * times(rng, 20)
        swapped = rng.random(20) < 0.5
        found = estimate_paired_ratio(np.where(swapped, second, first), np.where(swapped, first, second))
        p_values.append((found.p_slower, found.p_faster))
    for alpha in (0.01, 0.05, 0.2):
        assert (np.mean(np.array(p_values) <= alpha, axis=0) <= alpha + 3 * (alpha / 1000) ** 0.5).all()


def test_a_tenth_is_found_and_a_hundredth_is_not_relevant():
    rng = np.random.default_rng(3)
    found = {1.1: [], 1.01: [], 1 / 1.1: []}
    for factor, verdicts in found.items():
        for _ in range(10):
            old, new = times(rng, 40), times(rng, 40, factor=factor)
            verdicts.append(compare_times(table(processor=old), table(processor=new)).verdict)
    assert found[1.1] == ["slower"] * 10 and found[1 / 1.1] == ["faster"] * 10
    assert set(found[1.01]) <= {"no change", "inconclusive"}


def test_both_rules_are_told_for_each_test():
    rng = np.random.default_rng(4)
    old = times(rng, 40, noise=0.001)
    new = 1.01 * times(rng, 40, noise=0.001)
    (slight,) = compare_times(table(elapsed=old), table(elapsed=new)).tests.to_dict("records")
    assert slight["significant"] and not slight["relevant"] and slight["verdict"] == "no change"
    wild = compare_times(
        table(elapsed=times(rng, 12, noise=1)), table(elapsed=times(rng, 12, factor=1.5, noise=1))
    )
    assert wild.tests["relevant"].all() and not wild.tests["significant"].any() and not wild.settled
    assert compare_times(table(elapsed=old), table(elapsed=old)).settled


def test_p_values_are_corrected_for_tests_and_looks():
    rng = np.random.default_rng(5)
    old, new = times(rng, 12), times(rng, 12, factor=1.04)
    alone = compare_times(table(elapsed=old), table(elapsed=new))
    both = table(elapsed=old, processor=old), table(elapsed=new, processor=new)
    assert compare_times(*both, n_looks=3).p_value == pytest.approx(6 * alone.p_value)


def test_a_function_that_ran_seldom_hinders_no_other():
    rng = np.random.default_rng(7)
    old, new = table(elapsed=times(rng, 40)), table(elapsed=times(rng, 40, factor=1.5))
    for frame in (old, new):
        frame["seldom", ELAPSED] = np.where(np.arange(40) < 4, 1.0, np.nan)
    speed = compare_times(old, new)
    assert speed.verdict == "slower" and speed.untested == (("seldom", ELAPSED),)
    assert set(speed.tests["function"]) == {WHOLE}


def test_elapsed_time_decides_where_processor_time_disagrees():
    rng = np.random.default_rng(6)
    one = table(elapsed=times(rng, 20), processor=times(rng, 20))
    parallel = table(elapsed=times(rng, 20, factor=0.6), processor=times(rng, 20, factor=1.2))
    assert (
        compare_times(one, parallel).verdict == "faster" and compare_times(parallel, one).verdict == "slower"
    )
    busy = table(elapsed=times(rng, 20), processor=times(rng, 20, factor=1.2))
    found = compare_times(one, busy)
    assert found.verdict == "inconclusive" and found.disagreeing == (WHOLE,)
    # If elapsed time is too noisy to be significant, but as much longer, processor time decides.
    noisy = table(elapsed=times(rng, 20, factor=1.2, noise=0.3), processor=times(rng, 20, factor=1.2))
    assert compare_times(one, noisy).verdict == "slower"


def test_processor_time_alone_is_not_slower_while_elapsed_time_is_unchanged():
    """Processor time 1.053 times, elapsed time the same."""
    rng = np.random.default_rng(8)
    old = table(elapsed=times(rng, 40), processor=times(rng, 40, noise=0.002))
    new = table(elapsed=times(rng, 40), processor=times(rng, 40, factor=1.053, noise=0.002))
    found = compare_times(old, new)
    by_measure = found.tests.set_index("measure")["verdict"]
    assert (by_measure[PROCESSOR], by_measure[ELAPSED]) == ("slower", "no change")
    assert found.verdict == "inconclusive" and found.disagreeing == (WHOLE,)
    assert list_limits(found.verdict, times_agree=not found.disagreeing) == ["times disagree"]


def test_a_version_whose_whole_is_faster_is_not_slower_by_one_function():
    rng = np.random.default_rng(7)
    whole, handle = (WHOLE, ELAPSED), ("handle", ELAPSED)
    old = pd.DataFrame({whole: times(rng, 20), handle: times(rng, 20)})
    slow = pd.DataFrame({whole: times(rng, 20), handle: times(rng, 20, factor=2)})
    moved = pd.DataFrame({whole: times(rng, 20, factor=0.5), handle: times(rng, 20, factor=2)})
    assert compare_times(old, slow).verdict == "slower" and compare_times(old, moved).verdict == "faster"


def test_too_few_runs_and_nothing_in_common_are_refused():
    ones = np.ones(5)
    with pytest.raises(ValueError, match="too few"):
        compare_times(table(elapsed=ones), table(elapsed=ones))
    with pytest.raises(ValueError, match="no function was timed"):
        compare_times(table(elapsed=ones), table(processor=ones))
    # Without pairs, five against five can be told apart.
    assert (
        compare_times(table(elapsed=ones), table(elapsed=2 * ones), alpha=0.01, paired=False).verdict
        == "slower"
    )


def test_times_are_those_of_the_whole_and_of_functions_and_no_counts():
    row = "f,a.c:1,1,1,{work},{seconds},1.0,{instructions},{clock}\n"

    def piece(run, part, elapsed, *rows):
        return (
            format_heading(run, part, elapsed, elapsed / 2)
            + HEADER
            + "".join(row.format(**one) for one in rows)
        )

    slow = {"work": 1, "seconds": 0.3, "instructions": 100, "clock": 2e8}
    # Twice the instructions in the same time: IPC has doubled, the time has not changed.
    text = piece(0, 0, 1.0, slow, slow) + piece(0, 1, 2.0, slow, slow)
    text += piece(1, 0, 4.0, slow | {"instructions": 200}, slow)
    found = read_times(text)
    assert list(found[WHOLE, ELAPSED]) == [1.5, 4.0] and list(found[WHOLE, PROCESSOR]) == [0.75, 2.0]
    npt.assert_allclose(found["f", ELAPSED], 0.6)
    npt.assert_allclose(found["f", PROCESSOR], 0.4)
    per_work = read_times(piece(0, 0, 1.0, slow | {"work": 30}))
    npt.assert_allclose(per_work["f", ELAPSED], 0.01)
    bare = HEADER.replace(",task-clock", "") + "f,a.c:1,1,1,1,0.3,1.0,\n"
    (uncounted,) = read_times(f"# run=good-000 part=0 threads=2\n{bare}").to_dict("records")
    assert uncounted["f", ELAPSED] == 0.3 and np.isnan(uncounted["f", PROCESSOR]) and len(uncounted) == 2


@given(st.floats(0.9, 1.12), st.integers(0, 1000))
def test_what_is_neither_shown_nor_excluded_is_inconclusive_and_says_how_many_runs_decide(factor, seed):
    """Runs are drawn anew, as many as were said to be needed: the interval is then clear of the threshold."""
    rng = np.random.default_rng(seed)
    noise = stats.norm.ppf((np.arange(20) + 0.5) / 20) * 0.08
    old, new = np.ones(20), factor * np.exp(rng.permutation(noise))
    speed = compare_times(table(elapsed=old), table(elapsed=new))
    row = speed.tests.iloc[0]
    within = row["high"] < 1.05 and row["low"] > 1 / 1.05
    assert speed.verdict == (
        "inconclusive" if not within and row["verdict"] == "no change" else speed.verdict
    )
    assert speed.settled == (speed.verdict != "inconclusive")
    if speed.runs_needed is None:
        assert speed.settled or abs(abs(np.log(factor)) - np.log(1.05)) < 0.01
        return
    more = -(-speed.runs_needed // 20)
    again = compare_times(table(elapsed=np.ones(20 * more)), table(elapsed=np.tile(new, more)))
    assert more > 1 or speed.runs_needed == 20
    assert more > 20 or again.settled or again.runs_needed < 1.5 * 20 * more


@given(
    st.sampled_from(["slower", "faster", "no change", "inconclusive"]), st.sampled_from([True, False, None])
)
def test_the_same_code_is_never_slower(verdict, same):
    told, cause = explain_by_code(verdict, same, 1.0001)
    changed = verdict in ("slower", "faster")
    if same:
        assert told == ("moved" if changed else "no change") and (cause == "layout") == changed
    else:
        assert told == verdict and (cause == "layout or memory") == changed
    work, memory = ("work", "layout or memory") if changed else (None, None)
    more, fewer = (work, memory) if verdict == "slower" else (memory, work)
    assert explain_by_code(verdict, False, 1.02)[1] == more
    assert explain_by_code(verdict, False, 0.98)[1] == fewer


def test_a_change_that_layouts_do_not_bear_out_is_none_of_the_code():
    rng = np.random.default_rng(0)
    base = rng.lognormal(0, 0.1, 20)
    here = compare_times(table(elapsed=np.ones(20)), table(elapsed=np.full(20, 1.27)))
    same = compare_times(table(elapsed=base), table(elapsed=base * rng.lognormal(0, 0.005, 20)))
    slower = compare_times(table(elapsed=base), table(elapsed=1.1 * base))
    assert judge_layouts(here, same) == "moved" and judge_layouts(same, same) == "no change"
    assert judge_layouts(here, slower) == judge_layouts(same, slower) == "slower"
    times = table(processor=base), table(processor=2 * base)
    low, high = base.min() / np.median(base), base.max() / np.median(base)
    assert measure_layout_range(*times) == pytest.approx((low, high))
