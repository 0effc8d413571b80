"""Events with the same counts as another event are not ranked."""

import numpy as np
import numpy.testing as npt
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from cmlib import experiments as study
from cmlib import rank
from cmlib.rank.boosting import Boosting
from cmlib.rank.duplicates import find_duplicates
from tests.planted_series import driver_data

PLANTED = driver_data(n_steps=60, n_events=8, seed=1)
NAMES = list(PLANTED.X)
SMALL = Boosting(trees=12, leaves=4)


def as_matrix(rates):
    """The Matrix of one run of 3e8 cycles per interval."""
    cycles = pd.Series(3e8, rates.index)
    counts = rates.mul(cycles, axis=0).assign(instructions=PLANTED.ipc * cycles, cycles=cycles)
    counts = counts.set_axis(pd.Index(np.arange(1, len(counts) + 1) / 10, name="time_s"))
    run = {"set": "x", "pass": 0, "counts": counts, "seconds": pd.Series(0.1, counts.index)}
    return study.matrix(pd.DataFrame([run]))


def importances(data):
    return rank.influence(rank.regressor(boosting=SMALL).fit(data.X, data.ipc))


@given(st.sampled_from(NAMES), st.floats(0.001, 1000), st.integers(0, len(NAMES)))
def test_a_copy_changes_no_importance_and_is_listed(original, factor, place):
    copied = PLANTED.X.copy()
    copied.insert(place, "copy", factor * copied[original])
    alone, data = as_matrix(PLANTED.X), as_matrix(copied)
    first, second = sorted((original, "copy"), key=list(copied).index)
    expected = alone.duplicates.to_dict()
    assert data.duplicates.to_dict() == expected | {second: first}
    npt.assert_array_equal(importances(data).rename({"copy": original})[NAMES], importances(alone)[NAMES])


def test_columns_that_differ_or_are_zero_are_no_duplicates():
    X = pd.DataFrame(
        {"a": [1.0, 2, 3], "b": [3.0, 2, 1], "c": [0.0] * 3, "d": [0.0] * 3, "e": [1, 2, 3 + 1e-5]}
    )
    assert find_duplicates(X).empty
    assert find_duplicates(X[[]]).empty


def test_a_copy_of_an_alias_is_a_duplicate_of_it():
    branches = PLANTED.ipc * np.linspace(0.1, 1, len(PLANTED.ipc))
    rates = PLANTED.X.assign(copy=branches, branches=branches)
    data = as_matrix(rates)
    assert data.duplicates["copy"] == "branches"
    assert list(data.aliases) == list(data.alias_rules.index) == ["branches"]
