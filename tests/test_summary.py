"""The sentences say what the numbers say."""

import numpy as np
import pandas as pd
import pytest

from cmlib import experiments as study
from cmlib.io import events
from cmlib.rank import stability


def planted(slope):
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        rng.random((240, 4)), columns=["ex_ret_brn", "ex_ret_cond", "ls_stlf", "nobody_knows_it"]
    )
    return study.Matrix(X, 2 + slope * X["ls_stlf"] + 0.01 * rng.random(240), None)


def sentences(slope):
    data = planted(slope)
    draws = stability.draw_importances(data.X, data.ipc, seeds=range(4))
    return study.say_events(data, study.refine(data, step=1), draws, events.table(), n=1)


@pytest.mark.slow
def test_the_planted_driver_is_named_with_its_direction_and_how_sure_that_is():
    for slope, direction in ((1, "more of it where IPC is high"), (-1, "more of it where IPC is low")):
        said = sentences(slope)
        assert said.startswith("IPC follows `ls_stlf`, ") and direction in said
        assert "among the first one in 100 % of 4 models" in said


def test_an_event_without_description_is_said_to_have_none():
    data = planted(1)
    data = study.Matrix(data.X.rename(columns={"ls_stlf": "x", "nobody_knows_it": "ls_stlf"}), data.ipc, None)
    draws = stability.draw_importances(data.X, data.ipc, seeds=range(2))
    assert "which the event table does not describe" in study.say_events(
        data, study.refine(data, step=1), draws, events.table(), n=1
    )


def test_a_pair_comes_with_its_place_by_the_other_measure():
    by_h = pd.DataFrame(
        {"pair": ["a-b", "a-c"], "event_a": ["a", "a"], "event_b": ["b", "c"], "importance": [75.0, 25.0]}
    )
    said = study.say_pairs({"h_statistic": by_h, "residual_variance": by_h[::-1]})
    assert "`a` with `b` (75 % of all pair effects)" in said and "at place 2 of 2" in said


def test_models_are_said_to_err_as_they_do():
    one = {
        "kept": 19,
        "nested blocks": 2.0,
        "their mean": 20.0,
        "fewest": 9,
        "most": 29,
        "all": 229,
        "blocks, all": 2.5,
        "few": 9,
        "blocks, few": 3.0,
    }
    said = study.say_models(pd.DataFrame([one, one | {"kept": 49, "nested blocks": 4.0, "most": 119}]))
    assert "errs by 3.0 %" in said and "errs by 20.0 % there" in said
    assert "all 229 events the error on blocks is 2.5 %" in said and "the 9 most important 3.0 %" in said
    assert "kept have 19 to 49" in said and "it is 9 to 119" in said


def test_a_single_pair_is_said_to_have_no_ranking():
    one = pd.DataFrame({"pair": ["a-b"], "event_a": ["a"], "event_b": ["b"], "importance": [100.0]})
    said = study.say_pairs({"h_statistic": one, "residual_variance": one})
    assert "`a` and `b`" in said and "no ranking" in said and "100 %" not in said
