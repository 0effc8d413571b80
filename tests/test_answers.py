"""What a summary says of a program beside its shares."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cmlib.collect.machine.host import metric_group
from cmlib.experiments.summary import summarize_runs


@pytest.mark.parametrize(
    ("listed", "group"),
    [("amdzen4.json", "PipelineL1"), ("neoverse-v1.json", "TopdownL1"), ("skylakex.txt", "TopdownL1")],
)
def test_the_metrics_that_perf_lists_are_asked_for_before_events(listed, group, monkeypatch):
    file = Path(__file__).parent / "golden" / "perf-list" / listed
    text = file.read_text(encoding="utf-8").partition("\n")[2]
    monkeypatch.setattr("cmlib.collect.machine.host.perf_list", lambda: text)
    assert metric_group() == group
    zen5 = {"vendor": "AuthenticAMD", "family": 26, "model": 2}
    counts = pd.DataFrame({"instructions": [1e9] * 9, "cycles": [1e9] * 9}, index=np.arange(1.0, 10.0))

    def decide(about):
        return summarize_runs("x", [{"machine": about}], [(counts, counts**0)])["account"]["decide"]

    assert f"-M {group} -e instructions,cycles" in decide(zen5 | {"metric_group": group})
    assert "-M" not in decide(zen5) and "event=" in decide(zen5)


def test_names_of_events_that_several_processors_have_tell_none_of_them():
    shares = {
        "topdown-retiring": 0.2,
        "topdown-fe-bound": 0.4,
        "topdown-be-bound": 0.3,
        "topdown-bad-spec": 0.1,
    }
    events = {
        "TOPDOWN.SLOTS": 1.0,
        "INT_MISC.CLEARS_COUNT": 0.01,
        "IDQ.MS_UOPS": 0.02,
        "UOPS_DECODED.DEC0": 0.03,
    }
    rates = {event: [rate * 5e9] * 9 for event, rate in (shares | events).items()}
    counts = pd.DataFrame(rates, index=np.arange(1.0, 10.0))
    alike = summarize_runs("x", [{}], [(counts, counts**0)])
    assert [alike["processor"], *alike["processors_alike"]] == ["intel_icelake", "intel_tigerlake"]
    assert alike["limited_by"] == "front end"
    told = summarize_runs("x", [{}], [(counts, counts**0)], processor="intel_tigerlake")
    assert told["processor"] == "intel_tigerlake"
