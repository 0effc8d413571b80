"""Parameters and events of runs under different settings: what was planted is found, and what is random is not."""

from itertools import product

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib import tuning
from cmlib.interact import rank_pairs
from cmlib.rank.boosting import regressor

PARAMETERS = [f"p{number}" for number in range(6)]
EVENTS = [f"e{number}" for number in range(8)]


def planted(n=80, *, seed=0, through="e3", driver="p2"):
    """Time follows an event, and that event a parameter; a second parameter acts on the time alone."""
    rng = np.random.default_rng(seed)
    names = [f"run-{number:03d}" for number in range(n)]
    parameters = pd.DataFrame(rng.random((n, len(PARAMETERS))), names, PARAMETERS)
    rates = pd.DataFrame(rng.random((n, len(EVENTS))), names, EVENTS)
    rates[through] = parameters[driver] + 0.1 * rates[through]
    seconds = 10 + 6 * rates[through] + 1.5 * parameters["p5"] + 0.2 * rng.standard_normal(n)
    return tuning.Runs(parameters, rates, seconds, rates, seconds)


@pytest.fixture(scope="module")
def runs():
    return planted()


@pytest.mark.parametrize("rank", [tuning.rank_directly, tuning.rank_by_effect])
@pytest.mark.parametrize("seed", range(3))
def test_the_parameter_that_drives_the_time_is_ranked_first(rank, seed):
    ranked = rank(planted(seed=seed))
    assert ranked.index[0] == "p2" and ranked.iloc[0] > 2 * ranked.iloc[1]
    assert sorted(ranked.index) == PARAMETERS and ranked.is_monotonic_decreasing


def test_events_that_matter_are_asked_of_the_examples(runs):
    assert tuning.important_events(runs).index[0] == "e3"
    others = runs.examples.rename(columns={"e3": "e4", "e4": "e3"})[EVENTS]
    asked = tuning.Runs(runs.parameters, runs.rates, runs.seconds, others, runs.performance)
    assert tuning.important_events(asked).index[0] == "e4"


def test_pairs_are_of_an_event_and_a_parameter_and_as_the_mixed_model_ranks_them(runs):
    found = tuning.couple(runs, n_events=3, method="h_statistic")
    important = tuning.important_events(runs).index[:3]
    assert set(zip(found["event_a"], found["event_b"], strict=True)) == set(product(important, PARAMETERS))
    assert found["importance"].sum() == pytest.approx(100)
    X = pd.concat([runs.rates[important], runs.parameters], axis=1)
    model = regressor(boosting=tuning.FEW_ROWS).fit(X[sorted(X)], runs.seconds)
    every = rank_pairs(X, runs.seconds, X.columns, fitted=model, method="h_statistic", n_points=20)
    intensity = every.set_index(["event_a", "event_b"])["intensity"]
    for row in found.itertuples():
        assert row.intensity == pytest.approx(intensity[row.event_a, row.event_b])


def test_a_planted_product_of_event_and_parameter_is_the_strongest_pair():
    rng = np.random.default_rng(1)
    runs = planted(150, seed=1)
    seconds = 10 + 8 * runs.rates["e1"] * runs.parameters["p0"] + 0.1 * rng.standard_normal(150)
    product_of = tuning.Runs(runs.parameters, runs.rates, seconds, runs.rates, seconds)
    for method in ("residual_variance", "h_statistic"):
        found = tuning.couple(product_of, method=method)
        assert (found["event_a"][0], found["event_b"][0]) == ("e1", "p0")
        assert tuning.rank_by_pairs(product_of, method=method).index[0] == "p0"


def test_the_error_falls_with_runs_and_is_that_of_the_definition(runs):
    curve = tuning.learning_curve(runs.parameters, runs.seconds, [15, 60], draws=4)
    assert curve["error"].iloc[1] < 0.7 * curve["error"].iloc[0]
    assert (curve["low"] <= curve["error"]).all() and (curve["error"] <= curve["high"]).all()
    errors, mean_baseline = [], []
    for draw in range(4):
        order = np.random.default_rng([0, draw]).permutation(list(runs.seconds.index))
        test, train = order[:20], order[20:80]
        fitted = regressor(boosting=tuning.FEW_ROWS, seed=draw).fit(
            runs.parameters.loc[train], runs.seconds[train]
        )
        measured = runs.seconds[test].tolist()
        mean = sum(runs.seconds[train]) / 60
        for predicted, into in (
            (fitted.predict(runs.parameters.loc[test]), errors),
            ([mean] * 20, mean_baseline),
        ):
            into.append(sum(abs(m - p) / m for m, p in zip(measured, predicted, strict=True)) / 20 * 100)
    expected = [np.mean(errors), np.mean(mean_baseline)]
    npt.assert_allclose(curve.loc[1, ["error", "mean_baseline"]].astype(float), expected)


def test_rows_of_one_run_are_never_on_both_sides():
    """Each run has a level of its own that its rows give away: whoever leaks predicts it."""
    rng = np.random.default_rng(0)
    names = np.repeat([f"run-{number}" for number in range(30)], 10)
    level = np.repeat(rng.random(30), 10)
    X = pd.DataFrame({"which": np.repeat(rng.permutation(30), 10).astype(float)}, names)
    curve = tuning.learning_curve(X, pd.Series(1 + level, names), [20], draws=5)
    assert curve["error"][0] > 0.8 * curve["mean_baseline"][0]


def test_more_runs_than_there_are_is_refused(runs):
    with pytest.raises(ValueError, match="61 runs to train on, and 60 of 80 are left"):
        tuning.learning_curve(runs.parameters, runs.seconds, [20, 61])


def test_a_parameter_is_found_as_often_as_it_is_first(runs):
    def by_length(some):
        return pd.Series({"p2": float(len(some) >= 40), "p0": 0.5}).sort_values(ascending=False)

    found = tuning.found_first(runs, by_length, "p2", [10, 40, 80], draws=3)
    assert found["found"].tolist() == [0, 100, 100] and found["runs"].tolist() == [10, 40, 80]


def test_a_ranking_of_nothing_names_no_parameter(runs):
    def nothing(some):
        return pd.Series(0.0, PARAMETERS)

    assert tuning.found_first(runs, nothing, "p0", [20], draws=2)["found"].tolist() == [0]


def test_runs_taken_keep_their_examples(runs):
    twice = pd.concat([runs.rates, runs.rates])
    many = tuning.Runs(
        runs.parameters, runs.rates, runs.seconds, twice, pd.concat([runs.performance, 2 * runs.performance])
    )
    some = many.take([4, 1])
    assert list(some.seconds.index) == ["run-004", "run-001"] and len(some) == 2
    assert sorted(some.examples.index) == ["run-001"] * 2 + ["run-004"] * 2
    assert some.performance.sum() == pytest.approx(3 * some.seconds.sum())


@given(st.lists(st.lists(st.floats(1, 100), min_size=2, max_size=6), min_size=2, max_size=4))
def test_variation_is_slowest_over_fastest_in_any_unit(groups):
    seconds = {str(number): group for number, group in enumerate(groups)}
    found = tuning.variation(seconds, draws=50)
    means = [sum(group) / len(group) for group in groups]
    assert found["variation"] == pytest.approx(100 * (max(means) - min(means)) / min(means), abs=1e-9)
    assert found["low"] <= found["high"] and 0 < found["p"] <= 1
    in_minutes = {level: [value / 60 for value in group] for level, group in seconds.items()}
    npt.assert_allclose(tuning.variation(in_minutes, draws=50), found, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_levels_that_differ_are_told_from_levels_that_do_not():
    rng = np.random.default_rng(0)
    called = 0
    for _ in range(60):
        noise = {level: 10 + rng.standard_normal(6) for level in ("low", "default", "high")}
        called += tuning.variation(noise, draws=200)["p"] < 0.05
        apart = noise | {"low": 15 + rng.standard_normal(6)}
        found = tuning.variation(apart, draws=200)
        assert found["p"] < 0.01 and found["low"] > 0
    assert called <= 8  # three are expected
