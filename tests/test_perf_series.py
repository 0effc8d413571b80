"""A series an event, from rows of one run."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.io.events import base_name
from cmlib.io.perf import parse_stat, series
from tests.naive import series as naive_series
from tests.perf_output import golden

rows = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["a:u", "b:u", "b:k", "c:uD", "d"]), min_size=1, max_size=6),
        st.floats(0.001, 1),
    ),
    min_size=1,
    max_size=6,
)


@given(rows, st.randoms(use_true_random=False))
def test_series_are_the_rows_cell_by_cell(intervals, random):
    time, made = 0.0, []
    for events, length in intervals:
        time += length
        made += [
            (time, event, random.choice([math.nan, random.random()]), random.random()) for event in events
        ]
    counts, running = series(pd.DataFrame(made, columns=["time_s", "event", "value", "running"]))
    table, columns = naive_series.series(made, base_name)
    assert counts.columns.tolist() == columns and counts.index.tolist() == list(table)
    for column in columns:
        cells = [naive_series.cell(table, at, column) for at in table]
        np.testing.assert_array_equal(counts[column], [value for value, _ in cells])
        np.testing.assert_array_equal(running[column], [share for _, share in cells])
    assert counts.index.name == running.index.name == "time_s"
    assert running.index.equals(counts.index) and running.columns.equals(counts.columns)


def test_series_of_real_output():
    counts, running = series(parse_stat(golden("perf-6.1-zen5/mlpx.csv")))
    assert counts.shape == (3, 14) and counts.columns[:2].tolist() == ["instructions", "cycles"]
    assert counts["instructions"].iloc[0] == 803406438 and running["ls_stlf"].iloc[0] == 0.23


def test_copies_of_an_event_are_numbered_and_modifiers_kept_apart():
    text = "".join(
        f"1.000000000,{n},,{event},9,100.00,,\n" for n, event in enumerate(["a:u", "a:u", "b:u", "b:k"])
    )
    counts, _ = series(parse_stat(text))
    assert counts.columns.tolist() == ["a", "a#2", "b:u", "b:k"] and counts.iloc[0].tolist() == [0, 1, 2, 3]


def test_an_interval_cut_off_lacks_its_last_counts():
    text = golden("perf-6.1-zen5/ocoe.csv")
    counts, running = series(parse_stat(text[: text.rstrip("\n").rindex("\n") + 10]))
    assert counts.iloc[:-1].notna().all(axis=None)
    assert counts.iloc[-1].isna().sum() == 1 and running.iloc[-1].eq(0).sum() == 1


def test_series_need_one_run_with_times():
    with pytest.raises(ValueError, match="Record with an interval"):
        series(parse_stat(golden("perf-6.1/once.csv")))
    twice = golden("perf-6.1/comma.csv").replace("# started on", "# begun on") * 2
    with pytest.raises(ValueError, match="more than one run"):
        series(parse_stat(twice))


def test_no_rows_make_empty_series():
    counts, running = series(parse_stat(""))
    assert counts.shape == running.shape == (0, 0)
