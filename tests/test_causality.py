"""Randomized parameters tell events that cause from events that go along, as notebook studies/causes judges."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from cmlib.tuning import Runs
from tests.notebook_functions import functions_of

CAUSES, CORRELATES, NOT_SHOWN = VERDICTS = "causes", "correlates only", "not shown"
NAMES = dict(zip(("CAUSES", "CORRELATES", "NOT_SHOWN"), VERDICTS, strict=True))
NOTEBOOK = functions_of("causes", seed=0, **NAMES)
find_causes, moves = NOTEBOOK["find_causes"], NOTEBOOK["moves"]
EVENTS = ["cause", "along", "untouched"]


def experiment(seed, n=120, noise=0.2):
    """A factor of its own for two of three events; something hidden drives the time together with one of those."""
    rng = np.random.default_rng(seed)
    names = [f"run-{number}" for number in range(n)]
    parameters = pd.DataFrame(rng.random((n, 4)), names, ["p0", "p1", "p2", "p3"])
    hidden = rng.random(n)
    rates = pd.DataFrame(
        {
            "cause": parameters["p0"] + 0.2 * rng.random(n),
            "along": hidden + 0.8 * parameters["p1"],
            "untouched": rng.random(n),
        },
        names,
    )
    seconds = 10 + 4 * rates["cause"] + 4 * hidden + noise * rng.standard_normal(n)
    return Runs(parameters, rates, seconds, rates, seconds)


@pytest.mark.parametrize("seed", range(5))
def test_an_event_that_causes_is_told_from_one_that_goes_along(seed):
    judged = find_causes(of := experiment(seed), EVENTS, [(of, {})])
    assert judged.loc["cause", ["verdict", "factor"]].tolist() == [CAUSES, "p0"]
    assert judged.loc["along", "factor"] == "p1"
    assert judged.loc["along", "verdict"] != CAUSES
    assert judged.loc["untouched", ["verdict", "factor"]].tolist() == [NOT_SHOWN, ""]


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_a_knob_of_two_values_may_be_drawn_unequally(share):
    runs = experiment(0, n=200)
    runs.parameters["p0"] = 1.0 + (np.arange(200) % 10 >= 10 * share)
    runs.rates["cause"] = runs.parameters["p0"] + 0.2 * runs.rates["untouched"]
    hidden = runs.rates["along"] - 0.8 * runs.parameters["p1"]
    runs.seconds[:] = 10 + 4 * runs.rates["cause"] + 4 * hidden
    judged = find_causes(runs, EVENTS, [(runs, {})])
    low, high = (runs.seconds[runs.parameters["p0"] == value].mean() for value in (1, 2))
    assert judged.loc["cause", ["verdict", "factor"]].tolist() == [CAUSES, "p0"]
    assert judged.loc["cause", "observed"] == pytest.approx(100 * (high / low - 1))


@pytest.mark.slow
def test_most_events_that_go_along_are_shown_to():
    verdicts = [
        find_causes(of := experiment(seed, n=240), EVENTS, [(of, {})])["verdict"]["along"]
        for seed in range(5)
    ]
    assert verdicts.count(CORRELATES) >= 3


def test_an_event_that_is_moved_with_another_is_not_judged():
    runs = experiment(0)
    runs.rates["part of it"] = 0.5 * runs.rates["cause"]
    judged = find_causes(runs, [*EVENTS, "part of it"], [(runs, {})])
    assert judged.loc[["cause", "part of it"], "verdict"].tolist() == [NOT_SHOWN] * 2


def test_few_runs_show_nothing():
    judged = find_causes(of := experiment(0, n=12, noise=3.0), EVENTS, [(of, {})])
    assert CAUSES not in judged["verdict"].tolist()


CALL = "any call"


def emitted(seed, n=60):
    """One parameter moves two events at once, and something else that is not counted the time and one of
    them.

    Beside them, runs in which each event is made by itself, and one of a whole with it.
    """
    rng = np.random.default_rng(seed)
    load, hidden = rng.random((2, n))
    known = pd.DataFrame({"cause": 1 + load + rng.random(n), "along": 1 + 0.3 * load + hidden})
    known[CALL] = known.sum(axis=1) + 3 * rng.random(n)
    learned = 10 + 2 * known["cause"] + 5 * hidden
    rates = pd.DataFrame(
        np.where(rng.random((n, 2)) < 1 / 3, 0, 1.3 * rng.random((n, 2))), columns=["cause", "along"]
    )
    reached = 1 + rates + 0.05 * rng.random((n, 2))
    reached[CALL] = 3 + rates.sum(axis=1) + 0.05 * rng.random(n)
    seconds = 12 + 2 * rates["cause"] + 0.1 * rng.standard_normal(n)
    experiment = (Runs(rates, reached, seconds, reached, seconds), {name: (name, CALL) for name in rates})
    return Runs(pd.DataFrame({"p": load}), known, learned, known, learned), experiment


@pytest.mark.parametrize("seed", range(3))
def test_emitters_tell_a_cause_from_a_correlation_where_the_settings_cannot(seed):
    runs, experiment = emitted(seed)
    assert set(find_causes(runs, ["cause", "along"], [(runs, {})])["verdict"]) == {NOT_SHOWN}
    judged = find_causes(runs, [*runs.rates], [(runs, {}), experiment])
    assert judged["verdict"].to_dict() == {
        "cause": CAUSES,
        "along": CORRELATES,
        CALL: NOT_SHOWN,
    }
    assert judged["factor"].tolist() == ["cause", "along", ""]


def test_an_emitter_that_moves_more_than_it_says_shows_nothing():
    runs, experiment = emitted(0)
    events = ["cause", CALL]
    told = find_causes(runs, events, [experiment]).loc["cause"]
    assert told["factor"] == "cause" and told["with"] == CALL
    unsaid = (experiment[0], {"cause": ("cause",)})
    assert find_causes(runs, events, [unsaid]).loc["cause", "verdict"] == NOT_SHOWN


def test_rates_that_the_model_has_not_seen_are_told():
    runs, experiment = emitted(0)
    tried, aims = experiment
    far = Runs(tried.parameters, 1.5 * tried.rates, tried.seconds, tried.examples, tried.performance)
    judged = find_causes(runs, ["cause"], [(far, aims)]).loc["cause"]
    least, most = runs.rates["cause"].min(), runs.rates["cause"].max()
    values = tried.parameters["cause"]  # a third of them 0
    low, high = far.rates["cause"][values == 0], far.rates["cause"][values >= np.unique(values)[31]]
    assert len(np.unique(values)) == 47
    assert (judged["before"], judged["after"]) == pytest.approx((low.mean(), high.mean()))
    outside = [not least <= rate <= most for rate in (*low, *high)]
    assert judged["beyond"] == pytest.approx(100 * np.mean(outside)) and 0 < sum(outside) < len(outside)


def test_the_experiment_in_which_the_model_says_most_speaks():
    runs, experiment = emitted(0)
    tried, aims = experiment
    weak = tried.rates.copy()
    weak["along"] = runs.rates["along"].max() - 0.01 * weak["along"]
    second = Runs(
        tried.parameters.add_prefix("weak "), weak, tried.seconds, tried.examples, tried.performance
    )
    aims = {f"weak {name}": aim for name, aim in aims.items()}
    both = [experiment, (second, aims)]
    for order in (both, both[::-1]):
        assert find_causes(runs, ["along"], order).loc["along", "factor"] == "along"


@pytest.mark.parametrize(
    ("expected", "low", "high", "differs", "verdict"),
    [
        (10, 4, 12, True, CAUSES),
        (-10, -12, -4, True, CAUSES),
        (10, 1, 4, True, CORRELATES),
        (10, -2, 4, False, CORRELATES),
        (-10, -4, 2, False, CORRELATES),
        (10, -2, 11, False, NOT_SHOWN),
        (10, 1, 11, False, NOT_SHOWN),
        (10, -4, -1, True, NOT_SHOWN),
        (0, 1, 2, True, NOT_SHOWN),
        (-1e-14, -2, -1, True, NOT_SHOWN),
    ],
)
def test_what_was_observed_is_held_against_what_the_model_says(expected, low, high, differs, verdict):
    assert NOTEBOOK["verdict"](expected, low, high, differs) == verdict


def test_of_many_events_that_do_nothing_hardly_one_is_called_a_cause():
    rng, called = np.random.default_rng(0), 0
    names = [f"e{number}" for number in range(10)]
    for _ in range(4):
        known = pd.DataFrame(rng.random((40, 10)), columns=names)
        learned = 10 + known.sum(axis=1)
        seconds = pd.Series(15 + 0.4 * rng.standard_normal(36))
        rates = pd.DataFrame(rng.random((36, 10)), columns=names)
        still = (Runs(rates, rates, seconds, rates, seconds), {name: (name,) for name in names})
        judged = find_causes(Runs(known, known, learned, known, learned), names, [still])
        called += (judged["verdict"] == CAUSES).any()
    assert called <= 1  # 0.1 are expected


def test_noise_is_rarely_moved():
    rng = np.random.default_rng(0)
    called = 0
    for _ in range(40):
        runs = experiment(0, n=40)
        runs.rates[EVENTS] = rng.random((40, 3))
        called += len(moves(runs, EVENTS)) > 0
    assert called <= 6  # two are expected


def test_moves_are_holms():
    runs, expected = experiment(1), set()
    pairs = itertools.product(runs.parameters, EVENTS)
    p = {pair: spearmanr(runs.parameters[pair[0]], runs.rates[pair[1]]).pvalue for pair in pairs}
    for place, pair in enumerate(sorted(p, key=p.get)):
        if p[pair] > 0.05 / (len(p) - place):
            break
        expected.add(pair)
    moved = moves(runs, EVENTS)
    assert (
        set(zip(moved["parameter"], moved["event"], strict=True))
        == expected
        == {("p0", "cause"), ("p1", "along")}
    )


def test_events_and_parameters_that_never_change_move_nothing():
    runs = experiment(0)
    runs.rates["still"], runs.parameters["fixed"] = 1.0, 2.0
    found = moves(runs, [*EVENTS, "still"])
    assert "still" not in set(found["event"]) and "fixed" not in set(found["parameter"])
    assert find_causes(runs, ["still"], [(runs, {})])["verdict"].tolist() == [NOT_SHOWN]
