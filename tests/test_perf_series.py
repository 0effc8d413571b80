"""A series an event, from rows of one run."""

import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.io.events import base_name
from cmlib.io.formats.readings import FormatError
from cmlib.io.meaning.series import without_copies
from cmlib.io.perf import parse_stat, read_runs, series
from tests.naive import series as naive_series
from tests.perf_output import golden

_EVENTS = ["a:u", "b:u", "b:k", "c:uD", "d"]
_COLUMNS = ["time_s", "event", "value", "running"]


@st.composite
def recorded_rows(draw):
    """Rows of some intervals, of events that are counted once to three times in each interval that has them."""
    times = dict(zip(_EVENTS, draw(st.lists(st.integers(1, 3), min_size=5, max_size=5)), strict=True))
    random, time, made = draw(st.randoms(use_true_random=False)), 0.0, []
    for events in draw(
        st.lists(st.lists(st.sampled_from(_EVENTS), min_size=1, unique=True), min_size=1, max_size=6)
    ):
        time += draw(st.floats(0.001, 1))
        counted = random.sample(
            [event for event in events for _ in range(times[event])], k=sum(times[e] for e in events)
        )
        made += [
            (time, event, random.choice([math.nan, random.random()]), share / 100)  # no two rows are alike
            for share, event in enumerate(counted, len(made))
        ]
    return made


@given(recorded_rows())
def test_series_are_the_rows_cell_by_cell(made):
    counts, running = series(pd.DataFrame(made, columns=_COLUMNS))
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
    with pytest.raises(ValueError, match="several runs"):
        series(parse_stat(twice))


def test_totals_beside_intervals_are_a_second_program_if_their_events_differ():
    """A summary of the same events is left out (test_perf_parsing); other totals are never dropped silently."""
    intervals = "1.000000000,5,,cycles,9,100.00,,\n2.000000000,7,,cycles,9,100.00,,\n"
    heading = "# started on Sat Nov 21 05:19:46 2026\n\n"
    with pytest.raises(FormatError, match="2 programs"):
        parse_stat(heading + intervals + heading + "9,,branches,9,100.00,,\n")


def test_equal_runs_are_read_once():
    once = golden("perf-6.1/comma.csv")
    other = once.replace(",170,", ",171,")
    assert other != once
    runs = [counts.to_csv() for counts, _ in read_runs(once + other + once)]
    assert runs == [counts.to_csv() for text in (once, other) for counts, _ in read_runs(text)]


def test_no_rows_make_empty_series():
    counts, running = series(parse_stat(""))
    assert counts.shape == running.shape == (0, 0)


def counted(n_intervals, *again):
    """Intervals of a, b and twice c; `again` are further rows (interval, event, value)."""
    rows = [(k, event, 10.0 * k + n) for k in range(1, n_intervals + 1) for n, event in enumerate("abcc")]
    rows = sorted([*rows, *again], key=lambda row: row[0])
    return pd.DataFrame(rows, columns=["time_s", "event", "value"]).assign(running=0.5)


@pytest.mark.parametrize("twice", [[1], [7, 8], [20], range(1, 21)])
def test_intervals_that_come_twice_are_counted_once(twice):
    plain = counted(20)
    doubled = pd.concat([plain, plain[plain["time_s"].isin(twice)]]).sort_values("time_s", kind="stable")
    kept, n_copies = without_copies(doubled)
    assert n_copies == 4 * len(twice)
    pd.testing.assert_frame_equal(kept, plain)
    pd.testing.assert_frame_equal(series(doubled)[0], series(plain)[0])
    assert series(plain)[0].columns.tolist() == ["a", "b", "c", "c#2"]


def test_another_count_of_an_event_in_few_intervals_is_refused():
    with pytest.raises(FormatError, match="at 3 s has a further row of a with another count, 99"):
        series(counted(20, (3, "a", 99.0)))
    counts, _ = series(counted(20, *((k, "a", 99.0) for k in range(1, 20))))  # cut off in the last one
    assert counts["a#2"].iloc[:19].eq(99).all() and np.isnan(counts["a#2"].iloc[19])


def test_series_far_larger_than_their_rows_take_no_memory():
    n = 20_000
    frame = pd.DataFrame(
        {"time_s": np.arange(1.0, n + 1), "event": [f"e{k}" for k in range(n)], "value": 1.0, "running": 1.0}
    )
    tracemalloc.start()
    with pytest.raises(FormatError, match="400,000,000 counts"):
        series(frame)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6
