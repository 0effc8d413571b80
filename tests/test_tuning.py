"""Parameters and events of runs under different settings: what was planted is found, and what is random is not."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from cmlib import tuning
from cmlib.errors import InputError
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


def test_events_lead_to_a_parameter_only_if_the_two_interact():
    rng = np.random.default_rng(2)
    runs = planted(150, seed=2)
    noise = 0.1 * rng.standard_normal(150)
    seconds = 10 + 8 * runs.rates["e1"] * runs.parameters["p0"] + 4 * runs.parameters["p4"] + noise
    runs = tuning.Runs(runs.parameters, runs.rates, seconds, runs.rates, seconds)
    pairs = tuning.rank_through_events(runs, n_events=3)
    assert len(pairs) == 3 * len(PARAMETERS) and pairs["importance"].sum() == pytest.approx(100)
    assert (pairs["event"][0], pairs["parameter"][0]) == ("e1", "p0")
    added = pairs.groupby("parameter")["importance"].sum()
    assert added["p4"] < 10 < added["p0"]


def test_a_resampled_set_has_as_many_runs_and_no_others(runs):
    again = runs.resample(3)
    assert len(again) == len(runs) and set(again.seconds.index) < set(runs.seconds.index)
    assert (again.seconds == runs.seconds[again.seconds.index]).all()
    assert len(again.examples) == len(runs)


def levels_of(times, parameter="p"):
    """Rows of one parameter; `times` has a list of seconds, one a pass, by level."""
    rows = [(parameter, level, number, t) for level, own in times.items() for number, t in enumerate(own)]
    return pd.DataFrame(rows, columns=["parameter", "level", "pass", "seconds"])


def test_an_effect_beyond_chance_is_distinguished_from_none():
    clear = levels_of({"low": [10, 11, 12, 13, 14, 15], "high": [20, 22, 24, 26, 28, 30]}, "p0")
    none = levels_of({"low": [10, 11, 12, 13, 14, 15], "high": [11, 10, 13, 12, 15, 14]}, "p1")
    compared = tuning.compare_levels(pd.concat([clear, none])).set_index("parameter")
    assert list(compared["variation"]) == pytest.approx([100, 0])
    assert compared.at["p0", "p"] == pytest.approx(2 * 2 / 2**6, abs=0.01)
    assert compared.at["p1", "p"] == 1


def test_passes_that_are_slower_as_a_whole_do_not_hide_an_effect():
    drifting = levels_of({"low": [10, 20, 40, 80, 160, 320], "high": [11, 22, 44, 88, 176, 352]})
    (row,) = tuning.compare_levels(drifting).to_dict("records")
    assert row["variation"] == pytest.approx(10)
    assert row["p"] == pytest.approx(2 / 2**6, abs=0.01)


def test_the_unit_of_time_and_names_of_levels_change_nothing():
    levels = levels_of({"low": [10.0, 12, 11], "default": [13.0, 11, 12], "high": [15.0, 16, 14]})
    renamed = levels.assign(level=levels["level"] + " x", seconds=1000 * levels["seconds"])
    pd.testing.assert_frame_equal(tuning.compare_levels(levels), tuning.compare_levels(renamed), rtol=1e-9)


def test_a_pass_without_one_of_the_levels_is_left_out():
    levels = levels_of({"low": [10, 10], "high": [20]})
    assert tuning.compare_levels(levels)["variation"][0] == pytest.approx(100)
    with pytest.raises(InputError, match="'p' has no pass with runs at two levels; it has 2 runs at low"):
        tuning.compare_levels(levels[levels["level"] == "low"])


def test_several_runs_of_a_pass_may_share_a_level():
    levels = levels_of({"low": [10, 11, 12, 13], "default": [11, 10, 13, 12], "high": [20, 22, 24, 26]})
    merged = levels.replace({"level": {"default": "low"}})
    (row,) = tuning.compare_levels(merged).to_dict("records")
    assert row["runs"] == 12 and row["variation"] == pytest.approx(100)
    assert row["p"] == pytest.approx(1 / 3**4, abs=0.006)
