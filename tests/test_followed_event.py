"""The event that notebook 02 follows, on processors that count instruction-cache misses and on others."""

import pandas as pd
import pytest

from cmlib import experiments as study


def runs(**ways):
    rows = [(way.partition("_"), ("instructions", "cycles", *events)) for way, events in ways.items()]
    return pd.DataFrame([(name, mode, events) for (name, _, mode), events in rows]).set_axis(
        ["program", "mode", "events"], axis=1
    )


@pytest.mark.parametrize(
    "ways, event",
    [
        ({"a_ocoe": ["x", "L1-icache-load-misses"], "a_mlpx": ["L1-icache-load-misses", "x"]}, "L1-icache-load-misses"),
        ({"a_ocoe": ["x", "br_pred"], "a_mlpx": ["br_pred", "x"]}, "br_pred"),
        ({"a_ocoe": ["a", "x"], "a_mlpx": ["a", "x"], "b_ocoe": ["x"], "b_mlpx": ["x", "a"]}, "x"),
    ],
)  # fmt: skip
def test_an_event_that_all_programs_have_both_ways_is_followed(monkeypatch, ways, event):
    frame = runs(**ways)
    monkeypatch.setattr("cmlib.io.store.runs", lambda url: frame)
    assert study.followed_event("", list(frame["program"].unique())) == event


def test_without_an_event_recorded_both_ways_it_says_what_to_record(monkeypatch):
    monkeypatch.setattr("cmlib.io.store.runs", lambda url: runs(a_ocoe=["x"], a_mlpx=["y"]))
    with pytest.raises(ValueError, match="cmlib record"):
        study.followed_event("", ["a"])
