"""What the first page says of a program before anything is computed."""

import numpy as np
import pandas as pd
import pytest

from cmlib.experiments.answers import answer, describe_answer, describe_changes
from cmlib.io.recording import Recording
from cmlib.report.page import build_index
from cmlib.report.results import Results


def recorded(n=120, machine=None, **counts):
    index = pd.Index(np.arange(1.0, n + 1), name="time_s")
    frame = pd.DataFrame(counts, index)
    meta = {
        "mode": "ocoe",
        "run": "ocoe-p0-00",
        "interval_ms": 1000,
        "machine": machine,
        "modifier": "u",
        "pinned": [],
    }
    return Recording(meta, frame, frame * 0 + 1.0, pd.Series(1.0, index))


def test_what_changes_is_told_in_words_that_a_service_s_owner_knows():
    seconds = np.arange(1, 121)
    busy = (seconds > 20) & (seconds <= 60)
    rates = recorded(
        interrupts=np.where(busy, 2400.0, 1200.0), faults=3.0, switches=np.where(busy, 110.0, 100.0)
    ).rates()
    said = describe_changes(rates)
    assert said.startswith("`interrupts` double from 21 to 60 s (1,200 to 2,400 a second)")
    assert "faults" not in said and "switches" not in said
    assert describe_changes(rates[["faults"]]) == ""
    assert "fall by 75 %" in describe_changes(recorded(requests=np.where(seconds > 90, 1.0, 4.0)).rates())


def test_without_instructions_and_cycles_nothing_is_said_to_limit_it():
    told = answer("x", [recorded(cakes=1e3)])
    assert told["account"] is None and describe_answer(told) == {} and told["levels_text"] == "120 s"


@pytest.mark.parametrize(
    "machine, lacking",
    [
        (
            {"vendor": "AuthenticAMD", "family": 26, "model": 2},
            "name=de_no_dispatch_per_slot.backend_stalls/u",
        ),
        ({"vendor": "GenuineIntel", "family": 6, "model": 63}, "name=idq_uops_not_delivered.core/u"),
        ({}, "cmlib doctor --json"),
    ],
)
def test_what_would_decide_it_is_of_the_recorded_processor(machine, lacking):
    told = answer("x", [recorded(instructions=1e9, cycles=1e9, machine=machine)])
    said = describe_answer(told)
    assert told["account"]["how"] == "open" and "not decided" in said["limits"]
    assert lacking in said["lacking"] and said["sure"] == "the counts leave it open"


def test_the_card_begins_with_levels_and_draws_bounds_unless_all_was_counted(tmp_path):
    told = answer("x", [recorded(instructions=1e9, cycles=1e9)])
    results = Results("01_c", title="C", question="?", profile="live", folder=tmp_path)
    results.overview_summary("x", told)
    results.overview("x", **describe_answer(told), varies="nothing")
    results.save()
    page = build_index(tmp_path / "live").read_text()
    assert "IPC 1" in page and page.count('<div class="bar"') == len(told["account"]["categories"])
    assert page.index("What limits it") < page.index("What its speed varies with")
    told["account"]["how"] = "counted"
    results = Results("01_c", title="C", question="?", profile="live", folder=tmp_path)
    results.overview_summary("x", told)
    results.save()
    assert '<div class="bar"' not in build_index(tmp_path / "live").read_text()
