"""The event that notebook 02 follows, on processors that count instruction-cache misses and on others."""

import numpy as np
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


class Counted:
    """A run of one event beside cycles, counted all the time or for a quarter of it."""

    def __init__(self, values, share):
        index = pd.Index(np.arange(1.0, len(values) + 1), name="time_s")
        self.counts = pd.DataFrame({"cycles": 1e9, "x": values}, index=index)
        self.running, self.meta = 0 * self.counts + share, {"pinned": ["cycles"]}

    def whole(self):
        return self.counts, self.running


def test_a_burst_that_cleaning_cuts_stands_beside_the_same_burst_without_multiplexing(monkeypatch):
    usual = 100 + np.random.default_rng(0).normal(size=60)
    burst = np.where(np.arange(60) == 30, 700, usual)
    recorded = {"ocoe": [Counted(usual, 1), Counted(burst, 1)], "mlpx": [Counted(burst, 0.25)]}
    monkeypatch.setattr("cmlib.experiments.cleaning.load_all", lambda url, program, mode: recorded[mode])
    found = study.greatest_samples("", "app")
    assert list(found["event"]) == ["x"]
    row = found.iloc[0]
    assert (row["samples"], row["replaced"], row["second"], row["ocoe_second"]) == (60, 1, 31, 31)
    assert row["mlpx"] == row["ocoe"] == pytest.approx(7, abs=0.05)
    assert row["cleaned"] == pytest.approx(1, abs=0.05)
