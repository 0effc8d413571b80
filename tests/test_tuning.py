"""Parameters and events of runs under different settings: what was planted is found, and what is random is not."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from cmlib import tuning
from cmlib.interact import rank_pairs

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


@pytest.mark.parametrize("seed", range(3))
def test_the_parameter_that_drives_the_time_is_ranked_first(seed):
    ranked = tuning.rank_directly(planted(seed=seed))
    assert ranked.index[0] == "p2" and ranked.iloc[0] > 2 * ranked.iloc[1]
    assert sorted(ranked.index) == PARAMETERS and ranked.is_monotonic_decreasing


def test_events_that_matter_are_asked_of_the_examples(runs):
    assert tuning.important_events(runs).index[0] == "e3"
    others = runs.examples.rename(columns={"e3": "e4", "e4": "e3"})[EVENTS]
    asked = tuning.Runs(runs.parameters, runs.rates, runs.seconds, others, runs.performance)
    assert tuning.important_events(asked).index[0] == "e4"


def test_a_planted_product_of_event_and_parameter_is_the_strongest_pair():
    rng = np.random.default_rng(1)
    runs = planted(150, seed=1)
    seconds = 10 + 8 * runs.rates["e1"] * runs.parameters["p0"] + 0.1 * rng.standard_normal(150)
    events = ["e1", "e3", "e6"]
    X = pd.concat([runs.rates[events], runs.parameters], axis=1)
    how = {"partners": PARAMETERS, "boosting": tuning.FEW_ROWS, "n_points": 20}
    for method in ("residual_variance", "h_statistic"):
        found = rank_pairs(X, seconds, events, method=method, **how)
        assert set(zip(found["event_a"], found["event_b"], strict=True)) == set(product(events, PARAMETERS))
        assert found["importance"].sum() == pytest.approx(100)
        assert (found["event_a"][0], found["event_b"][0]) == ("e1", "p0")


def test_runs_taken_keep_their_examples(runs):
    twice = pd.concat([runs.rates, runs.rates])
    many = tuning.Runs(
        runs.parameters, runs.rates, runs.seconds, twice, pd.concat([runs.performance, 2 * runs.performance])
    )
    some = many.take([4, 1])
    assert list(some.seconds.index) == ["run-004", "run-001"] and len(some) == 2
    assert sorted(some.examples.index) == ["run-001"] * 2 + ["run-004"] * 2
    assert some.performance.sum() == pytest.approx(3 * some.seconds.sum())
