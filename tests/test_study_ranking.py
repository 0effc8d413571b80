"""Refinements that are read from the cache are those that were computed."""

import numpy as np
import pandas as pd
import pytest

from cmlib import experiments as study
from cmlib import rank
from tests.planted_series import driver_data


@pytest.fixture(scope="module")
def data():
    made = driver_data(n_steps=48, n_events=12, seed=1)
    other = made.X * np.random.default_rng(0).normal(1, 0.01, made.X.shape)
    return study.Matrix(made.X, made.ipc, (other, made.ipc))


@pytest.fixture(scope="module")
def refined(data, tmp_path_factory):
    """By a refinement that is computed, and by one that is read."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CMLIB_RESULTS", str(tmp_path_factory.mktemp("results")))
        yield [study.refine(data, step=3) for _ in range(2)]


def test_a_refinement_that_was_kept_is_the_one_that_was_computed(data, refined):
    expected = rank.refine(data.X, data.ipc, step=3, holdout=data.holdout)
    for found in refined:
        pd.testing.assert_frame_equal(found.history, expected.history)
        pd.testing.assert_frame_equal(found.nested, expected.nested)
        pd.testing.assert_series_equal(found.baselines, expected.baselines)
        assert found.chosen == expected.chosen and len(found.rankings) == len(expected.rankings)
        for one, other in zip(found.rankings, expected.rankings, strict=True):
            pd.testing.assert_series_equal(one, other)
        pd.testing.assert_series_equal(found.importances, expected.importances)
        columns = sorted(found.events)
        np.testing.assert_array_equal(
            found.model.predict(data.X[columns]), expected.model.predict(data.X[columns])
        )
