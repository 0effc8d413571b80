"""What the first page says of a program before anything is computed."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from cmlib import topdown
from cmlib.collect.machine.host import metric_group
from cmlib.experiments.summary import summarize_runs
from cmlib.report.page import build_index
from cmlib.report.results import Results


def test_the_card_begins_with_levels_and_draws_bounds_unless_a_picture_shows_what_was_counted(tmp_path):
    counts = pd.DataFrame(1e9, np.arange(1.0, 121), ["instructions", "cycles"])
    told = topdown.summarize("x", [(counts, counts * 0 + 1.0)])
    results = Results("01_c", title="C", question="?", profile="live", folder=tmp_path)
    results.overview_summary("x", told)
    results.overview("x", limits=told["account"]["text"], varies="nothing")
    results.save()
    page = build_index(tmp_path / "live").read_text()
    assert "IPC 1" in page and page.count('<div class="bar"') == len(told["cycles"]) == 2
    assert page.index("What limits it") < page.index("What its speed varies with")
    shares = {"front end": 0.2, "back end": 0.3, "bad speculation": 0.1, "retired": 0.4}
    told = topdown.summarize("x", [(counts, counts * 0 + 1.0)], printed=shares)
    assert told["account"]["how"] == "counted"
    results = Results("01_c", title="C", question="?", profile="live", folder=tmp_path)
    results.overview_summary("x", told)
    results.overview_picture("x", plt.figure(), "the account over time")
    results.save()
    assert '<div class="bar"' not in build_index(tmp_path / "live").read_text()


def test_what_fewer_misses_would_save_is_drawn_and_what_is_not_known_is_said(tmp_path):
    missed = {"event": "e", "low": None, "high": None, "reason": ""}
    found = [
        missed | {"without": "LLC misses", "percent": 12.0, "low": 3.0, "high": 20.0},
        missed | {"without": "L2 misses", "percent": 0.0, "low": 0.0, "high": 0.4},
        missed | {"without": "L1D misses", "percent": None, "reason": "misses hardly vary"},
    ]
    results = Results("01_c", title="C", question="?", profile="live", folder=tmp_path)
    results.overview_summary("x", {"misses": found})
    results.save()
    page = build_index(tmp_path / "live").read_text()
    assert page.count('<div class="bar"') == 1 and "without LLC misses" in page
    said = re.findall("<dd>(Without .*?)</dd>", page)
    assert said == [
        "Without L2 misses: at most 0.4&nbsp;% fewer cycles.",
        "Without L1D misses: not known, as misses hardly vary.",
    ]


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
