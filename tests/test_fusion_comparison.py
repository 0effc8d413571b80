"""Stacked against aligned runs: judged alike, and each change's share of the gain."""

import numpy as np
import pandas as pd
import pytest

from cmlib import rank, study


def runs_of(noise, n_runs=4, n=60, seed=0):
    """Runs of one program, each with an event of its own; IPC follows what the first one counts."""
    rng = np.random.default_rng(seed)
    driver = rng.uniform(0, 1, n)
    tables = []
    for number in range(n_runs):
        cycles = 1e6 / (1 + driver + noise * rng.uniform(-0.5, 0.5, n))
        counted = cycles * (driver if number == 0 else rng.uniform(0, 1, n))
        tables.append(pd.DataFrame({"instructions": 1e6, "cycles": cycles, f"event_{number}": counted}))
    return pd.DataFrame({"set": "sweep", "pass": 0, "counts": tables})


@pytest.fixture(scope="module")
def noisy():
    return study.compare_fusions(runs_of(noise=0.6)).set_index(["fusion", "values"])


def test_runs_that_are_alike_are_judged_alike_either_way():
    found = study.compare_fusions(runs_of(noise=0.0)).set_index(["fusion", "values"])
    aligned = found.loc["aligned"]
    np.testing.assert_allclose(aligned["each run"], aligned["mean of runs"])
    assert aligned.at["per cycle", "each run"] < 0.5 * found.at[("none", ""), "each run"]
    assert found.loc["stacked", "each run"].gt(aligned["each run"]).all(), "only one run counts the driver"


def test_the_mean_of_runs_is_easier_to_tell_than_each(noisy):
    assert (noisy["mean of runs"] < noisy["each run"]).all()


def test_every_model_sees_the_same_steps(noisy):
    assert (noisy.loc["stacked", "rows"] == 4 * 60).all() and (noisy.loc["aligned", "rows"] == 60).all()


def test_the_mean_is_that_of_the_other_blocks(noisy):
    own = [counts["instructions"] / counts["cycles"] for counts in runs_of(noise=0.6)["counts"]]
    fold = [int((step + 0.5) / 60 * 12) % 4 for step in range(60)]
    predicted = [
        np.mean([ipc[other] for ipc in own for other in range(60) if fold[other] != fold[step]])
        for step in range(60)
    ]
    each = np.mean([rank.relative_error(ipc, predicted) for ipc in own])
    assert noisy.at[("none", ""), "each run"] == pytest.approx(each, rel=1e-6)
    of_mean = rank.relative_error(sum(own) / 4, predicted)
    assert noisy.at[("none", ""), "mean of runs"] == pytest.approx(of_mean, rel=1e-6)


def test_the_shares_of_the_gain_are_those_of_the_changes():
    errors = pd.DataFrame(
        [
            ("p", "stacked", "counts", 10.0, 7.0),
            ("p", "stacked", "per cycle", 8.0, 5.0),
            ("p", "aligned", "per cycle", 9.0, 6.0),
            ("p", "aligned, small trees", "per cycle", 9.0, 2.0),
        ],
        columns=["program", "fusion", "values", "each run", "mean of runs"],
    )
    both = pd.concat([errors, errors.assign(program="q")])
    found = study.gain_by_change(both)
    assert found["p"].tolist() == found["mean"].tolist() == [10, 8, 5, 6, 2]
    assert found["share of the gain"].tolist()[1:] == [25, 37.5, -12.5, 50]
    assert np.isnan(found["share of the gain"].iloc[0])
    said = study.say_fusions(both)
    assert "aligned runs err by 6.0 %" in said and "stacked runs by 5.0 %" in said
    assert "less on 0 of 2 programs" in said and "alone makes 38 % of the difference" in said
