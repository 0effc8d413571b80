"""Algorithm 1: the published series, its definition, and its laws."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.anomaly.autoencoder import stopping_run
from tests.naive import anomaly as naive

GOLDEN = Path(__file__).parent / "golden" / "autoperf"

variances = st.lists(st.floats(0, 20), min_size=1, max_size=130)


@pytest.mark.parametrize(("program", "runs"), [("mysql", 58), ("boost", 100)])
def test_published_series_stop_where_the_paper_says(program, runs):
    series = np.loadtxt(GOLDEN / f"variance_{program}.txt")
    assert len(series) == 100
    assert stopping_run(series, eps=0.05, goal=1, max_runs=100) == runs


@given(variances, st.floats(0.001, 5), st.integers(0, 4), st.integers(1, 120))
def test_stopping_run_is_its_definition(v, eps, goal, max_runs):
    # Cumulated sums differ from the printed loops by rounding, so thresholds are kept off exact ties.
    v = np.round(np.array(v), 3) + np.linspace(0, 1e-4, len(v)) ** 2
    expected = naive.stopping_run(list(v), eps=eps, goal=goal, max_runs=max_runs)
    assert stopping_run(v, eps=eps, goal=goal, max_runs=max_runs) == expected


@given(variances, st.floats(0.001, 5), st.integers(0, 3))
def test_asking_for_more_never_stops_earlier(v, eps, goal):
    stop = stopping_run(v, eps=eps, goal=goal)
    assert stopping_run(v, eps=eps / 2, goal=goal) >= stop
    assert stopping_run(v, eps=eps, goal=goal + 1) >= stop


def test_the_smallest_change_may_follow_the_variances():
    series = np.loadtxt(GOLDEN / "variance_mysql.txt")
    so_far = np.cumsum(series) / np.arange(1, 101)
    for unit in (1, 1e-6):
        assert stopping_run(series * unit, eps=0.05 / 8 * so_far * unit) == 58


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        stopping_run([1.0, np.nan])
    with pytest.raises(ValueError, match="max_runs"):
        stopping_run([1.0], max_runs=0)
