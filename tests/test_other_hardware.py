"""Notebook 09a's questions of public recordings, on what comes with the package."""

import numpy as np
import pandas as pd
import pytest

from cmlib.errors import NothingRecordedError
from cmlib.study.public import cbench, cloudsuite
from cmlib.study.public.rows import Recorded

HERE = "graph_analytics"


@pytest.fixture(scope="module")
def all_programs():
    return cloudsuite.recorded()


@pytest.fixture(scope="module")
def programs(all_programs):
    return {name: data for name, data in all_programs.items() if name[0] == HERE}


@pytest.mark.slow
def test_what_others_recorded_is_explained_within_eight_percent_and_better_than_by_the_mean(all_programs):
    assert len(all_programs) == 23 and len({name for name, _ in all_programs}) == 8
    judged = pd.concat([cloudsuite.errors_by_size(data, sizes=()) for data in all_programs.values()])
    assert judged["error"].median() < 8 and (judged["error"] < judged["mean_baseline"]).all()


@pytest.mark.slow
def test_rows_are_rates_of_all_runs_and_tell_neither_instructions_nor_cycles(programs):
    assert set(cloudsuite.recorded(f"{HERE},data_analytics")) == {
        *programs,
        ("data_analytics", "Xeon-E5-2640"),
    }
    for data in programs.values():
        assert data.runs > 1 and len(data.X) == len(data.ipc) <= 500
        ratio = data.counts["instructions"] / data.counts["cycles"]
        np.testing.assert_allclose(data.ipc, ratio)
        again = data.X["branches"] * data.counts["instructions"]
        np.testing.assert_allclose(again, data.counts["branches"])
        assert not {"instructions", "cycles", "UOPS_RETIRED_ALL", "RETIRED_UOPS", "seconds"} & set(data.X)


def test_another_program_than_cloudsuites_is_left_to_other_notebooks():
    with pytest.raises(NothingRecordedError, match="is not among CloudSuite's programs"):
        cloudsuite.recorded("gcc")


@pytest.mark.slow
def test_models_are_judged_on_rows_that_they_never_saw(programs):
    """Where IPC has nothing to do with the events, no model is better than the mean."""
    data = programs[HERE, "Xeon-X5650"]
    errors = cloudsuite.errors_by_size(data)
    assert errors["n_events"].tolist() == [data.X.shape[1], 6]
    assert (errors["error"] < errors["mean_baseline"] / 2).all()
    shuffled = np.random.default_rng(0).permutation(data.ipc)
    noise = Recorded(data.X, pd.Series(shuffled), data.counts, data.runs)
    judged = cloudsuite.errors_by_size(noise, sizes=(3,))
    assert judged["error"].iloc[0] > 0.75 * judged["mean_baseline"].iloc[0]


def planted(orders):
    """Importances of six events by program and processor, most important first as said."""
    return {name: pd.Series(np.arange(len(order), 0.0, -1), list(order)) for name, order in orders.items()}


def test_a_program_that_follows_the_same_events_everywhere_is_found():
    orders = {f"p{n}": "".join(np.random.default_rng(n).permutation(list("abcdefghij"))) for n in range(6)}
    pairs = cloudsuite.compare_rankings(
        planted({(name, processor): order for name, order in orders.items() for processor in "XY"})
    )
    means = cloudsuite.agreement(pairs)
    assert means["pairs"].sum() == len(pairs) == 12 * 11 / 2
    assert means.loc["program", ["kendall", "shared"]].tolist() == pytest.approx([1, 5])
    assert means["random"].eq(2.5).all()
    gap, p = cloudsuite.program_effect(pairs)
    assert gap > 0.5 and p < 0.02


def test_rankings_that_follow_the_processor_are_no_programs_own():
    orders = {
        (f"p{n}", processor): "abcdefghij" if processor == "X" else "jihgfedcba"
        for n in range(5)
        for processor in "XY"
    }
    pairs = cloudsuite.compare_rankings(planted(orders))
    gap, p = cloudsuite.program_effect(pairs)
    assert gap == pytest.approx(0) and p == 1
    assert cloudsuite.agreement(pairs).loc["processor", "kendall"] == pytest.approx(1)


def test_one_program_alone_has_no_effect_to_be_tested():
    pairs = cloudsuite.compare_rankings(planted({("p", "X"): "abc", ("p", "Y"): "abc"}))
    assert np.isnan(cloudsuite.program_effect(pairs)).all()
    alone = cloudsuite.compare_rankings(planted({("p", "X"): "abc"}))
    assert alone.empty and cloudsuite.agreement(alone).empty
    assert np.isnan(cloudsuite.program_effect(alone)).all()


@pytest.mark.slow
def test_a_model_of_the_same_rows_is_a_transfer_without_loss(programs):
    data = programs[HERE, "Xeon-X5650"]
    moved = cloudsuite.transfer({(HERE, "one"): data, (HERE, "other"): data})
    assert len(moved) == 2 and (moved["error"] < moved["mean"] / 5).all() and (moved["spearman"] > 0.9).all()


@pytest.fixture(scope="module")
def slow_and_fast():
    return {(mhz, 1): cbench.merged(mhz, 1) for mhz in (1000, 2000)}


@pytest.mark.slow
def test_two_lists_are_put_side_by_side_by_equal_shares_of_cycles(slow_and_fast):
    X, ipc = slow_and_fast[1000, 1]
    assert X.index.equals(ipc.index) and len(X) == 300
    first = cbench.first_list(X)
    assert len(first) == 5 and set(X) - set(first) >= {"BRANCH_PRED", "BRANCH_MISPRED"}
    counts = cbench._programs(2, 1000, 1)["automotive_bitcount"]
    whole = counts.sum()
    mean = X["BRANCH_PRED"].mul(ipc).loc["automotive_bitcount"].mean()  # steps of equal cycles
    assert mean == pytest.approx(whole["BRANCH_PRED"] / whole["cycles"])
    assert ipc.loc["automotive_bitcount"].mean() == pytest.approx(whole["instructions"] / whole["cycles"])


@pytest.mark.slow
def test_programs_that_miss_lose_ipc_at_a_faster_clock_and_those_that_mispredict_do_not(slow_and_fast):
    lost, rho, p = cbench.intervention(slow_and_fast)
    assert len(lost) == 30 and rho < -0.5 and p < 0.01
    assert lost["change"].between(-40, 1).all()
    assert abs(cbench.intervention(slow_and_fast, event="BRANCH_MISPRED")[1]) < abs(rho) / 2


def test_a_model_of_programs_never_sees_the_programs_that_it_is_judged_on():
    """Rows of a program are alike: what knew one of them would know the others."""
    rows = pd.MultiIndex.from_product([range(30), np.linspace(0, 1, 10)], names=["program", "progress"])
    rng = np.random.default_rng(0)
    own = pd.Series(rng.random(30)).repeat(10).to_numpy()
    ipc = pd.Series(1 + rng.random(30)).repeat(10).set_axis(rows)
    error, mean = cbench.error_on_programs(pd.DataFrame({"own": own}, rows), ipc)
    assert error > 0.8 * mean


def test_the_notebook_tells_errors_and_agreement(smoke):
    from tests.test_notebooks import numbers

    found = numbers(smoke, "09a_other_hardware")
    ours, mean = (
        found[f"CloudSuite: error {name}, median"]
        for name in ("on unseen stretches, all events", "of the mean")
    )
    assert 0 < ours < mean / 2
    assert found["CloudSuite: recordings whose model is worse than the mean"] == 0
