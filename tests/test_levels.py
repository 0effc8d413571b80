"""What `cmlib summarize` shows beside a run's account: levels, miss ratios, and counts where there is nothing else."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cmlib.cli import main
from cmlib.report.program import render_card
from cmlib.topdown import summarize
from cmlib.topdown.run_levels import interval_lengths, levels

from .test_summarize import made


def summaries(folder, counts, *behind):
    """Text and JSON of a table of perf's with these counts (dict by event), with lines behind it."""
    rows = [f"{count:20,}      {event}" for event, count in counts.items()]
    file = folder / "app.txt"
    file.write_text("\n".join([" Performance counter stats for './app':\n", *rows, "", *behind, ""]))
    results = [CliRunner().invoke(main, ["summarize", str(file), *json]) for json in ([], ["--json"])]
    assert [result.exit_code for result in results] == [0, 0], results[0].output
    return results[0].stdout, json.loads(results[1].stdout)


COUNTED = {
    "branches": 4_000_000,
    "branch-misses": 50_000,
    "L1-dcache-loads": 8_000_000,
    "L1-dcache-load-misses": 240_000,
    "LLC-loads": 60_000,
    "LLC-load-misses": 15_000,
    "cache-references": 90_000,
    "cache-misses": 18_000,
}
RATIOS = {"branches": 1.25, "L1D loads": 3.0, "LLC loads": 25.0, "cache references": 20.0}


def test_miss_ratios_are_shown_with_and_without_cycles(tmp_path):
    for counts in (COUNTED, COUNTED | {"cycles": 30_000_000, "instructions": 20_000_000}):
        text, answer = summaries(tmp_path, counts)
        assert answer["miss_ratios"] == pytest.approx(RATIOS)
        assert all(f"{percent:.3g} % of {of}" in text for of, percent in RATIOS.items())


@pytest.mark.parametrize(
    ("misses", "branches"),
    [
        ("branch-misses:u", "branches:k"),
        ("branch-misses:u", "branches"),
        ("cpu_core/branch-misses/", "cpu_atom/branches/"),
    ],
)
def test_no_ratio_is_of_counts_of_different_modes_or_kinds_of_core(misses, branches, tmp_path):
    counts = {misses: 50_000, branches: 4_000_000, "cycles": 30_000_000, "instructions": 20_000_000}
    _, answers = summaries(tmp_path, counts)
    for answer in answers if isinstance(answers, list) else [answers]:
        assert answer["miss_ratios"] == {}


def test_a_ratio_above_all_is_called_so_and_one_of_contradicting_counts_is_left_out(tmp_path):
    text, answer = summaries(tmp_path, {"cache-misses": 300, "cache-references": 200, "branches": 1000})
    assert answer["miss_ratios"] == {"cache references": 150} and "over 100 %" in text
    (counts, running) = made(**{"branches": 0.1, "branch-misses": 0.01, "branches#2": 0.2})
    assert summarize("x", [(counts, running)])["miss_ratios"] == {}
    counts["branches#2"] = counts["branches"]
    assert summarize("x", [(counts, running)])["miss_ratios"] == pytest.approx({"branches": 10})


def test_a_ratio_takes_the_intervals_in_which_both_were_counted():
    counts, running = made(**{"branches": 0.1, "branch-misses": 0.01})
    counts.loc[:50, "branches"], counts.loc[90:, "branch-misses"] = float("nan"), float("nan")
    assert summarize("x", [(counts, running)])["miss_ratios"] == pytest.approx({"branches": 10})


def test_time_of_cpus_and_cycles_are_shown_without_seconds(tmp_path):
    counts = {"task-clock": 2_500_000_000, "cycles": 7_500_000_000}
    text, answer = summaries(tmp_path, counts)
    assert answer["levels"] == pytest.approx({"CPU seconds": 2.5, "cycles": 7.5e9, "GHz": 3})
    assert "2.5 CPU s · 7.5 G cycles · 3 GHz" in text and answer["counts"] == {}


def test_a_clock_of_other_cycles_than_those_of_the_task_clock_is_left_out():
    counts, running = made(instructions=1.0)
    for scale, is_clock in ((1.0, True), (1e-6, False)):
        levels = summarize("x", [(counts * scale, running)], printed={"CPUs": 1.0})["levels"]
        assert ("GHz" in levels) == is_clock


def test_counts_that_nothing_else_tells_are_shown_by_name(tmp_path):
    counts = {f"uncore_{letter}/reads/": 10**power for power, letter in enumerate("abcdefghij", 3)}
    text, answer = summaries(tmp_path, counts, "       0.5 seconds time elapsed")
    largest = dict(sorted(counts.items(), key=lambda row: -row[1])[:8])
    assert answer["counts"] == largest and "1 T uncore_j/reads/" in text and "uncore_b" not in text
    assert summaries(tmp_path, counts | {"cycles": 10**9})[1]["counts"] == {}  # too many beside others
    shares, running = made()
    printed = {"retired": 1.5, "CPUs": float("nan")}
    told = summarize(
        "x", [[frame.rename(columns={"cycles": "retiring"}) for frame in (shares, running)]], printed=printed
    )
    assert told["counts"] == {}


def test_cpus_that_were_counted_idle_or_not_are_not_utilized(tmp_path):
    idle = "       32,094.27 msec cpu-clock      #   31.99 CPUs utilized"
    _, answer = summaries(tmp_path, {"cycles": 10**6}, idle, "       1.0 seconds time elapsed")
    assert answer["levels"] == {"seconds": 1.0, "cycles": 1e6}


def test_a_run_that_is_hardly_longer_than_a_process_takes_to_start_is_called_so(tmp_path):
    for seconds, is_short in (("0.0009", True), ("0.9", False)):
        text, _ = summaries(
            tmp_path, {"cycles": 10**6, "page-faults": 118}, f"       {seconds} seconds time elapsed"
        )
        assert ("start of a process" in text) == is_short


def test_counts_beside_levels_and_ratios_are_shown_with_how_many_a_thousand_instructions(tmp_path):
    counts = {"instructions": 10**9, "cycles": 10**9, "branches": 10**8, "branch-misses": 10**6}
    counts |= {"dTLB-load-misses": 2_500_000, "page-faults": 157, "stalled-cycles-backend": 10**8}
    text, answer = summaries(tmp_path, counts)
    assert answer["counts"] == {"dTLB-load-misses": 2_500_000, "page-faults": 157}
    assert "2.5 M dTLB-load-misses (2.5) · 157 page-faults\n" in text
    assert "page-faults" not in summaries(tmp_path, counts, "   2.5 seconds time elapsed")[1]["counts"]


def test_text_and_json_have_the_same_figures(tmp_path):
    text, answer = summaries(
        tmp_path, COUNTED | {"cycles": 30_000_000, "instructions": 20_000_000, "task-clock": 10_000_000}
    )
    shown = re.findall(r"(?<!L)[0-9][0-9.,]*", answer["levels_text"] + answer["miss_ratios_text"])
    assert answer["levels_text"] in text and answer["miss_ratios_text"] in text
    assert len(shown) == len(answer["levels"]) + len(answer["miss_ratios"])
    card = render_card(answer).replace("&nbsp;", " ")
    assert answer["levels_text"] in card and answer["miss_ratios_text"] in card


def test_a_half_is_rounded_alike_in_all_sentences():
    shares = {"front end": 0.365, "back end": 0.225, "bad speculation": 0.045, "retired": 0.365}
    account = summarize("x", [made(instructions=1.0)], printed=shares)["account"]
    assert "37 % are lost to the front end, 23 % to the back end, 5 % to bad speculation" in account["text"]
    assert "at most 37 %" in account["advice"][0]["text"]


@given(
    st.lists(
        st.tuples(st.floats(0.01, 2.0), *[st.one_of(st.none(), st.integers(1, 10**10))] * 3),
        min_size=2,
        max_size=8,
    )
)
def test_a_total_divided_by_the_seconds_is_every_rate_also_of_events_that_took_turns(intervals):
    """None stands for an interval in which the event was not counted."""
    lengths, *columns = zip(*intervals, strict=True)
    names = ["instructions", "cycles", "page-faults"]
    index = np.cumsum(lengths)
    counts = pd.DataFrame(dict(zip(names, columns, strict=True)), index, dtype=float)
    found = levels(counts)
    assert found["seconds"] == pytest.approx(interval_lengths(counts).sum())
    if counts["instructions"].notna().any():
        assert found["instructions a second"] == pytest.approx(found["instructions"] / found["seconds"])
    alone = counts[["cycles"]].rename(
        columns={"cycles": "instructions"}
    )  # the same law for a total of cycles
    if counts["cycles"].notna().any():
        expected = levels(alone)["instructions a second"]
        assert found["cycles"] / found["seconds"] == pytest.approx(expected)
    if counts["page-faults"].notna().any():
        seen = counts["page-faults"].notna().to_numpy()
        rate = counts["page-faults"].sum() / interval_lengths(counts)[seen].sum()
        assert found["faults"] == pytest.approx(rate)
