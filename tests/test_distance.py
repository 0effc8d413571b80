"""Dynamic time warping against its definition, its laws and another implementation."""

import math

import numpy as np
import pytest
from dtaidistance import dtw as other
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cmlib.clean.distance import dtw, folded_error, mlpx_error
from tests.naive import distance as naive

counts = st.floats(0, 1e9, allow_nan=False).map(lambda x: round(x, 3))
series = hnp.arrays(np.float64, st.integers(1, 25), elements=counts)


@given(series, series)
def test_dtw_is_its_recurrence(a, b):
    assert dtw(a, b) == pytest.approx(naive.dtw(a, b), rel=1e-12, abs=1e-12)


@given(series, series)
def test_dtw_is_symmetric_and_knows_equal_series(a, b):
    assert dtw(a, b) == pytest.approx(dtw(b, a), rel=1e-12)
    assert dtw(a, a) == 0
    assert dtw(np.repeat(a, 3), a) == 0, "time is warped away"


@given(series, series, st.sampled_from([0.5, 1000.0]))
def test_dtw_scales_with_the_unit(a, b, factor):
    assert dtw(a * factor, b * factor) == pytest.approx(dtw(a, b) * factor, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_dtw_agrees_with_dtaidistance(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.lognormal(size=190).cumsum(), rng.lognormal(size=171).cumsum()
    assert dtw(a, b) == pytest.approx(other.distance(a, b, inner_dist="euclidean"), rel=1e-9)


def test_dtw_takes_other_number_types_and_leaves_its_input_alone():
    a, b = np.array([3, 1, 2]), [1, 2, 2]
    assert dtw(a, b) == 2
    assert a.tolist() == [3, 1, 2] and b == [1, 2, 2]


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([], [1.0], "first series has shape"),
        ([1.0], [[1.0]], "second series has shape"),
        ([1.0], [1.0, math.nan, math.inf], r"2 samples of 3 .* first at 1"),
    ],
)
def test_dtw_says_what_it_cannot_compare(a, b, message):
    with pytest.raises(ValueError, match=message):
        dtw(a, b)


@given(series, series, series)
def test_error_is_equations_1_to_4(ocoe_1, ocoe_2, mlpx):
    assume(dtw(mlpx, ocoe_1) > 0)
    assert mlpx_error(ocoe_1, ocoe_2, mlpx) == pytest.approx(
        naive.mlpx_error(ocoe_1, ocoe_2, mlpx), rel=1e-6, abs=1e-6
    )


def test_error_at_its_ends():
    assert mlpx_error([1.0, 2.0], [1.0, 2.0], [1.0, 2.0]) == 0
    assert mlpx_error([1.0, 2.0], [1.0, 3.0], [1.0, 2.0]) == math.inf
    assert mlpx_error([1.0, 2.0], [1.0, 3.0], [1.0, 4.0]) == 50
    assert folded_error(2.0, 1.0) == 100, "closer than OCOE to itself counts as an error"
