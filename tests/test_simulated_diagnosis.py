"""Phases of a simulated run: where it changes, what they are called, and how they are told."""

import itertools
import re
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cmlib.cli import main
from cmlib.collect.simulate import read_parts
from cmlib.experiments.diagnosis import explain_simulated, simulated_profile
from cmlib.fingerprint.diagnosis import advice
from cmlib.fingerprint.phases import change_points, contributions, simulated_phases
from cmlib.io import events
from cmlib.io.callgrind import read_intervals
from cmlib.report.diagnosis import simulated_page
from tests.naive import segments
from tests.simulated_runs import build

GOLDEN = (Path(__file__).parent / "golden/callgrind-3.19/planted.out").read_text(encoding="utf-8")
WEIGHTS = events.simulated_events()["weight"]
EVENTS = list(events.simulated_events().index)
sample = st.tuples(st.lists(st.floats(0, 1), min_size=2, max_size=2), st.floats(0.1, 2))


@settings(max_examples=40)
@given(st.lists(sample, min_size=1, max_size=8), st.floats(0.01, 1))
def test_no_other_cut_is_cheaper(samples, penalty):
    X, weights = map(list, zip(*samples, strict=True))
    starts = change_points(X, weights=weights, penalty=penalty)
    _, cheapest = segments.change_points(X, weights, penalty)
    parts = [slice(*ends) for ends in itertools.pairwise([*starts, len(X)])]
    cost = sum(segments.cost(X[part], weights[part]) + penalty for part in parts)
    assert starts[0] == 0 and (np.diff(starts) > 0).all()
    npt.assert_allclose(cost, cheapest, atol=1e-9)


def test_planted_changes_are_found_beneath_noise():
    rng = np.random.default_rng(0)
    means = np.repeat([[0.2, 0.0], [0.5, 0.0], [0.5, 0.3], [0.2, 0.0]], [60, 40, 80, 20], axis=0)
    found = change_points(means + rng.normal(0, 0.05, means.shape))
    npt.assert_array_equal(found, [0, 60, 100, 180])
    npt.assert_array_equal(change_points(np.full((50, 2), 0.3)), [0])
    # What differs for a moment only is no phase: here 10 samples of a thousandth of the others' length.
    means[:10] = 0.9
    weights = np.where(np.arange(len(means)) < 10, 0.001, 1.0)
    npt.assert_array_equal(change_points(means, weights=weights), [0, 60, 100, 180])


@pytest.mark.parametrize(
    ("X", "how"),
    [(np.empty((0, 2)), {}), ([[1.0]], {"penalty": 0.0}), ([[1.0]], {"weights": [0.0]})],
)
def test_nothing_and_what_costs_nothing_are_refused(X, how):
    with pytest.raises(ValueError, match="change_points"):
        change_points(X, **how)


def test_contributions_add_up_to_the_estimate():
    counts, _ = read_intervals(GOLDEN)
    npt.assert_allclose(
        contributions(counts, WEIGHTS).sum(axis=1), events.cycle_estimate(counts) / counts["sim.instructions"]
    )


def test_phases_cover_the_run_and_their_shares_add_up():
    counts = pd.DataFrame(0.0, pd.Index(np.arange(1, 41) / 1000, name="time_s"), EVENTS)
    counts["sim.instructions"] = 1e6
    counts.loc[0.0105:0.0255, "sim.ll_load_misses"] = 1e4
    phases = simulated_phases(counts, WEIGHTS)
    assert phases["label"].tolist() == ["instructions only", "last-level data misses", "instructions only"]
    npt.assert_allclose(phases["start"], [0, 0.010, 0.025])
    npt.assert_allclose(phases["end"], [0.010, 0.025, 0.040])
    npt.assert_allclose(phases["share"], np.array([10, 30, 15]) / 55)
    npt.assert_allclose(phases["estimate"], [1, 2, 1])
    assert all(len(advice(label)) == 2 for label in phases["label"])


@pytest.mark.parametrize(
    ("event", "label"),
    [
        ("sim.ll_load_misses", "last-level data misses"),
        ("sim.conditional_mispredictions", "mispredictions"),
        ("sim.l1i_misses", "instruction-cache misses"),
        ("sim.l1d_store_misses", "first-level data misses"),
        ("sim.loads", "instructions only"),
    ],
)
def test_a_phase_is_called_after_what_costs_most(event, label):
    counts = pd.DataFrame(0.0, pd.Index([0.001, 0.002], name="time_s"), EVENTS)
    counts["sim.instructions"] = 1e6
    counts[event] += 5e4
    assert simulated_phases(counts, WEIGHTS)["label"].tolist() == [label]


def test_intervals_are_joined_and_keep_every_count():
    whole, functions = read_intervals(GOLDEN)
    few, of_few = read_intervals(GOLDEN, most=2)
    assert len(few) == 2 < len(whole) == len(read_parts(GOLDEN).totals)
    npt.assert_allclose(few.sum(), whole.sum())
    npt.assert_allclose(of_few.groupby("interval").sum(), few)
    npt.assert_allclose(functions.groupby("function").sum(), of_few.groupby("function").sum())


def test_the_page_says_simulated_and_names_the_functions():
    profile = simulated_profile(GOLDEN)
    assert profile.phases["functions"].iloc[0].startswith("fill ")
    page = simulated_page("./planted <90000>", profile)
    assert "<title>./planted &lt;90000&gt; (simulated)" in page and "<svg" in page
    assert "no cycles were counted" in page and "Threads ran one at a time" in page
    assert page.count("modelled") >= 8


@pytest.mark.needs("cc", "valgrind")
def test_the_command_runs_once_and_shows_what_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    program, page = build(tmp_path), tmp_path / "page.html"
    options = ["--simulate", "--every-blocks", "50000", "--html", str(page), "--keep", "app"]
    done = CliRunner().invoke(main, ["diagnose", *options, "--", program, "1000000"])
    assert done.exit_code == 0 and "Simulated by Valgrind" in done.stdout
    # `fill` misses with every store, and `sum` never once its table is there; they take turns, twice.
    assert re.search(r"first-level data misses: fill (9\d|100) %.*\n.*: sum (9\d|100) %", done.stdout)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    again = CliRunner().invoke(main, ["diagnose", "--simulate", "--recorded", "app"])
    assert again.exit_code == 0
    table = [line for line in done.stdout.splitlines() if " %  " in line]
    assert table == [line for line in again.stdout.splitlines() if " %  " in line] and len(table) >= 3
    without = CliRunner().invoke(main, ["diagnose", "--simulate", "--", program, "20000"])
    assert without.exit_code == 0 and "50 to 100 times" in without.stderr


def test_what_is_not_recorded_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    done = CliRunner().invoke(main, ["diagnose", "--simulate", "--recorded", "app"])
    assert done.exit_code == 2 and "cmlib record app --simulate" in done.stderr
    done = CliRunner().invoke(main, ["diagnose", "--every-blocks", "5", "--", "true"])
    assert done.exit_code == 2 and "belongs to --simulate" in done.stderr


def test_a_class_is_explained_by_what_a_simulation_tells():
    phases = pd.DataFrame({"label": ["mispredictions", "instructions only"], "class": ["P_CPU", ""]})
    told = {name: meaning for name, meaning, _ in explain_simulated(phases)}
    assert list(told) == ["mispredictions", "instructions only", "P_CPU"]
    assert told["P_CPU"] == told["mispredictions"]


def test_phases_have_a_class_where_streams_are_prefetched():
    assert set(simulated_profile(GOLDEN).phases["class"]) == {""}
    classes = simulated_profile(GOLDEN, prefetched=True).phases["class"]
    assert set(classes) <= {"N", "P_CPU", "P_Mem_M", "P_Mem_L2/L3"} and len(classes)
