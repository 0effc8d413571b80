"""Randomized parameters tell events that cause from events that go along."""

import numpy as np
import pandas as pd
import pytest

from cmlib import knobs
from cmlib.tuning import Runs

EVENTS = ["cause", "along", "untouched"]


def experiment(seed, n=120, noise=0.2):
    """A knob of its own for two of three events; something hidden drives the time together with one of those."""
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
    judged = knobs.judge_events(experiment(seed), EVENTS)
    assert judged.loc["cause", ["verdict", "parameter"]].tolist() == [knobs.CAUSES, "p0"]
    assert judged.loc["along", "parameter"] == "p1"
    assert judged.loc["along", "verdict"] != knobs.CAUSES
    assert judged.loc["untouched", ["verdict", "parameter"]].tolist() == [knobs.NOT_SHOWN, ""]
    assert judged["moved_by"].tolist() == ["p0", "p1", ""]


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_a_knob_of_two_values_may_be_drawn_unequally(share):
    runs = experiment(0, n=200)
    runs.parameters["p0"] = 1.0 + (np.arange(200) % 10 >= 10 * share)
    runs.rates["cause"] = runs.parameters["p0"] + 0.2 * runs.rates["untouched"]
    hidden = runs.rates["along"] - 0.8 * runs.parameters["p1"]
    runs.seconds[:] = 10 + 4 * runs.rates["cause"] + 4 * hidden
    judged = knobs.judge_events(runs, EVENTS)
    low, high = (runs.seconds[runs.parameters["p0"] == value].mean() for value in (1, 2))
    assert judged.loc["cause", ["verdict", "parameter"]].tolist() == [knobs.CAUSES, "p0"]
    assert judged.loc["cause", "observed"] == pytest.approx(100 * (high / low - 1))


def test_most_events_that_go_along_are_shown_to():
    verdicts = [knobs.judge_events(experiment(seed, n=240), EVENTS)["verdict"]["along"] for seed in range(5)]
    assert verdicts.count(knobs.ALONG) >= 3


def test_an_event_that_is_moved_with_another_is_not_judged():
    runs = experiment(0)
    runs.rates["part of it"] = 0.5 * runs.rates["cause"]
    judged = knobs.judge_events(runs, [*EVENTS, "part of it"])
    assert judged.loc[["cause", "part of it"], "verdict"].tolist() == [knobs.NOT_SHOWN] * 2


def test_few_runs_show_nothing():
    judged = knobs.judge_events(experiment(0, n=12, noise=3.0), EVENTS)
    assert knobs.CAUSES not in judged["verdict"].tolist()


def test_noise_is_rarely_moved():
    rng = np.random.default_rng(0)
    called = 0
    for _ in range(40):
        runs = experiment(0, n=40)
        runs.rates[EVENTS] = rng.random((40, 3))
        called += knobs.moves(runs, EVENTS)["moved"].any()
    assert called <= 6  # two are expected


def test_moves_are_holms():
    found = knobs.moves(experiment(1), EVENTS, level=0.05)
    expected, ordered = set(), found.sort_values("p")
    for place, row in enumerate(ordered.itertuples()):
        if row.p > 0.05 / (len(found) - place):
            break
        expected.add((row.parameter, row.event))
    moved = found[found["moved"]]
    assert (
        set(zip(moved["parameter"], moved["event"], strict=True))
        == expected
        == {("p0", "cause"), ("p1", "along")}
    )


def test_events_and_parameters_that_never_change_move_nothing():
    runs = experiment(0)
    runs.rates["still"], runs.parameters["fixed"] = 1.0, 2.0
    found = knobs.moves(runs, [*EVENTS, "still"])
    assert "still" not in set(found["event"]) and "fixed" not in set(found["parameter"])
    assert knobs.judge_events(runs, ["still"])["verdict"].tolist() == [knobs.NOT_SHOWN]
