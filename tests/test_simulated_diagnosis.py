"""Phases of a simulated run: where it changes, what they are called, and how they are told."""

import html
import itertools
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cmlib.cli import main
from cmlib.collect.simulate import read_parts
from cmlib.errors import CmlibError
from cmlib.experiments.simulated_classes import classify_phases
from cmlib.experiments.simulated_diagnosis import answer_simulated, explain_simulated, simulated_profile
from cmlib.experiments.simulated_runs import read_simulated_run
from cmlib.experiments.simulated_summary import advise
from cmlib.fingerprint.diagnosis import advice
from cmlib.fingerprint.emulation import is_emulated_float
from cmlib.fingerprint.phases import contributions, simulated_phases
from cmlib.fingerprint.segments import segment_starts
from cmlib.io import events
from cmlib.io.callgrind import read_intervals
from cmlib.report.diagnosis import simulated_page
from tests.naive import segments
from tests.simulated_runs import build

GOLDEN = (Path(__file__).parent / "golden/callgrind-3.19/planted.out").read_text(encoding="utf-8")
WEIGHTS = events.simulated_events()["weight"]
EVENTS = list(events.simulated_events().index)
sample = st.tuples(st.lists(st.floats(0, 1), min_size=2, max_size=2), st.floats(0.1, 2))


@given(st.lists(sample, min_size=1, max_size=8), st.floats(0.01, 1))
def test_no_other_cut_is_cheaper(samples, penalty):
    X, weights = map(list, zip(*samples, strict=True))
    starts = segment_starts(X, weights=weights, penalty=penalty)
    _, cheapest = segments.segment_starts(X, weights, penalty)
    parts = [slice(*ends) for ends in itertools.pairwise([*starts, len(X)])]
    cost = sum(segments.cost(X[part], weights[part]) + penalty for part in parts)
    assert starts[0] == 0 and (np.diff(starts) > 0).all()
    npt.assert_allclose(cost, cheapest, atol=1e-9)


def test_planted_changes_are_found_beneath_noise():
    rng = np.random.default_rng(0)
    means = np.repeat([[0.2, 0.0], [0.5, 0.0], [0.5, 0.3], [0.2, 0.0]], [60, 40, 80, 20], axis=0)
    found = segment_starts(means + rng.normal(0, 0.05, means.shape))
    npt.assert_array_equal(found, [0, 60, 100, 180])
    npt.assert_array_equal(segment_starts(np.full((50, 2), 0.3)), [0])
    # What differs for a moment only is no phase: here 10 samples of a thousandth of the others' length.
    means[:10] = 0.9
    weights = np.where(np.arange(len(means)) < 10, 0.001, 1.0)
    npt.assert_array_equal(segment_starts(means, weights=weights), [0, 60, 100, 180])


@pytest.mark.parametrize(
    ("X", "how"),
    [(np.empty((0, 2)), {}), ([[1.0]], {"penalty": 0.0}), ([[1.0]], {"weights": [0.0]})],
)
def test_nothing_and_what_costs_nothing_are_refused(X, how):
    with pytest.raises(ValueError, match="segment_starts"):
        segment_starts(X, **how)


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
    few, of_few = read_intervals(GOLDEN, max_intervals=2)
    assert len(few) == 2 < len(whole) == len(read_parts(GOLDEN).totals)
    npt.assert_allclose(few.sum(), whole.sum())
    npt.assert_allclose(of_few.groupby("interval").sum(), few)
    npt.assert_allclose(functions.groupby("function").sum(), of_few.groupby("function").sum())


@pytest.mark.parametrize("shape", ["", "desc: D1 cache: 32768 B, 0 B, x\n", "desc: D1 cache: 8-way\n"])
def test_caches_without_the_length_of_their_lines_are_refused(shape):
    text = re.sub("desc: D1 cache: .*\n", shape, GOLDEN)
    assert text != GOLDEN
    with pytest.raises(CmlibError, match="no line length of the cache D1"):
        simulated_profile(text, prefetched=True, n_sequential_lines=5)


def test_the_page_says_simulated_and_names_the_functions():
    profile = simulated_profile(GOLDEN)
    assert profile.phases["functions"].iloc[0].startswith("fill ")
    page = simulated_page(answer_simulated("./planted <90000>", profile), profile)
    assert "<title>./planted &lt;90000&gt; (simulated)" in page and "<svg" in page
    assert "Cycles were not counted" in page and "Threads ran one at a time" in page
    assert page.count("modelled") >= 8


@pytest.mark.needs("cc", "valgrind")
def test_the_command_runs_once_and_shows_what_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    program, page = build(tmp_path), tmp_path / "page.html"
    options = ["--simulate", "--every-blocks", "50000", "--html", str(page), "--keep", "app"]
    done = CliRunner().invoke(main, ["diagnose", *options, "--", program, "1000000"])
    assert (
        done.exit_code == 0 and "Simulated by Valgrind" in done.stdout and "takes longer than" in done.stderr
    )
    # `fill` misses with every store, and `sum` never once its table is there; they take turns, twice.
    assert re.search(r"\n *\d+ % of the estimated cycles in phases of P_Mem_L2/L3 \(fill", done.stdout)
    assert re.search(r"first-level data misses: fill (9\d|100) %", done.stdout)
    assert re.search(r": sum (9\d|100) %", done.stdout)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    again = CliRunner().invoke(main, ["diagnose", "--recorded", "app"])  # whether it says --simulate or not
    assert again.exit_code == 0 and "takes longer than" not in again.stderr
    assert done.stdout.split("Simulated by")[1].rpartition("\n\n")[0] in again.stdout
    told = json.loads(
        CliRunner().invoke(main, ["diagnose", "--simulate", "--recorded", "app", "--json"]).stdout
    )
    whole, weights = simulated_profile(*read_simulated_run("app")).counts.sum(), WEIGHTS
    misses = whole[["sim.l1d_load_misses", "sim.l1d_store_misses"]].sum() * weights["sim.l1d_load_misses"]
    # Of the estimate it is much less than of the phases that are called so, and is said first, everywhere alike.
    split = told["split"]["first-level data misses"]
    npt.assert_allclose(split, 100 * misses / (whole @ weights))
    assert split < 60 and sum(told["split"].values()) == pytest.approx(100, abs=2)
    text = " ".join(done.stdout.split())
    for said in (text, html.unescape(" ".join(page.read_text(encoding="utf-8").split()))):
        assert told["text"].replace("*", "").replace("`", "") in said
    options = ["--runs", "1", "--every-blocks", "50000"]
    recorded = CliRunner().invoke(main, ["record", "same", "--simulate", *options, "--", program, "1000000"])
    assert recorded.exit_code == 0
    other = answer_simulated("same", simulated_profile(*read_simulated_run("same"), classify=classify_phases))
    assert other["split"] == pytest.approx(told["split"], abs=0.5) and other["advice"] == told["advice"]
    without = CliRunner().invoke(main, ["diagnose", "--simulate", "--", program, "20000"])
    assert without.exit_code == 0 and "takes longer than" in without.stderr


def test_what_is_not_recorded_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    done = CliRunner().invoke(main, ["diagnose", "--simulate", "--recorded", "app"])
    assert done.exit_code == 2 and "cmlib record app --simulate" in done.stderr
    done = CliRunner().invoke(main, ["diagnose", "--every-blocks", "5", "--", "true"])
    assert done.exit_code == 2 and "It is valid with --simulate" in done.stderr


def test_a_class_is_explained_by_what_a_simulation_tells_and_a_healthy_one_by_what_it_does_not():
    told = {row["name"]: row for row in explain_simulated(["P_CPU", "instructions only", "N"])}
    assert list(told) == ["P_CPU", "instructions only", "N"]
    assert told["P_CPU"]["meaning"] == advice("mispredictions")[0]
    assert "chains of dependent instructions" in told["instructions only"]["remedy"] == told["N"]["remedy"]


@pytest.mark.parametrize(
    ("function", "emulated"),
    [
        ("__multf3", True),
        ("__adddf3", True),
        ("__divsf3", True),
        ("__lttf2", True),
        ("__extenddftf2", True),
        ("__trunctfdf2", True),
        ("__floatsitf", True),
        ("__fixtfdi", True),
        ("__bid_adddd3", True),
        ("__aeabi_dmul", True),
        ("__powidf2", False),  # a loop of the hardware's multiplications
        ("__muldc3", False),  # of complex numbers, by the hardware's
        ("__udivti3", False),  # of integers
        ("__fixdfti", False),  # to a 128-bit integer
        ("add", False),
        ("my__multf3", False),
    ],
)
def test_emulated_floating_point_is_known_by_its_names(function, emulated):
    assert is_emulated_float(function) == emulated


EMULATED = """int main(int count, char **words) {
    volatile __float128 sum = count;
    for (int i = 0; i < 4000; i++) sum = sum * 1.0000001q + 1.5q;
    return sum < 0;
}"""
DEPENDENT = """int main(int count, char **words) {
    double sum = count;
    for (int i = 0; i < 400000; i++) sum = sum * 1.0000001 + 1.5;
    return sum < 0;
}"""


@pytest.mark.needs("cc", "valgrind")
def test_emulated_floating_point_is_named_and_a_chain_is_not_called_healthy(tmp_path):
    emulated = build(tmp_path, name="emulated", source=EMULATED)
    done = CliRunner().invoke(main, ["diagnose", "--simulate", "--json", "--", emulated])
    answer = json.loads(done.stdout)
    first = answer["classes"][0]
    assert first["name"] == answer["limited_by"] == "emulated floating point"
    assert "__multf3" in first["functions"]
    assert "double in place of __float128" in answer["advice"][0]["remedy"]
    dependent = build(tmp_path, name="dependent", source=DEPENDENT)
    shown = CliRunner().invoke(main, ["diagnose", "--simulate", "--", dependent]).stdout
    assert "nothing that a simulation shows stands out" in shown
    assert "does not show chains of dependent instructions" in shown


def test_phases_have_a_class_where_streams_are_prefetched():
    assert set(simulated_profile(GOLDEN).phases["class"]) == {""}
    assert set(simulated_profile(GOLDEN, classify=classify_phases).phases["class"]) == {""}
    classes = simulated_profile(GOLDEN, prefetched=True, classify=classify_phases).phases["class"]
    assert set(classes) <= {"N", "P_CPU", "P_Mem_M", "P_Mem_L2/L3"} and len(classes)


def test_phases_that_are_alike_are_put_together():
    profile = simulated_profile(GOLDEN)
    for together in (profile.kinds, profile.classes):
        assert together["share"].sum() == pytest.approx(1) and together["n_phases"].sum() == len(
            profile.phases
        )
        assert together["share"].is_monotonic_decreasing
    assert not profile.kinds.duplicated(["class", "label", "main"]).any()


_TURNS = """#include <stdlib.h>
#define APART __attribute__((noinline)) static
static volatile long table[1 << 20], sink;
%s
int main(void) { for (int turn = 0; turn < 12; turn++) { %s } return 0; }"""


@pytest.mark.needs("cc", "valgrind")
def test_many_phases_are_summed_up_first(tmp_path):
    """Fourteen functions that work for some intervals each, twelve times: 120 phases and more."""
    names = [f"part{number}" for number in range(14)]
    functions = "\n".join(
        f"APART void {name}(void) {{ for (long i = 0; i < 40000; i++) "
        + ("table[(i * 7919 * 8) & 0xfffff] = i; }" if number % 2 else "sink += table[i & 63]; }")
        for number, name in enumerate(names)
    )
    program = build(
        tmp_path, name="turns", source=_TURNS % (functions, " ".join(f"{name}();" for name in names))
    )
    page = tmp_path / "page.html"
    options = ["--simulate", "--every-blocks", "20000", "--html", str(page), "--cache-ll", "256K,8,64"]
    done = CliRunner().invoke(main, ["diagnose", *options, "--", program])
    table = re.findall(r"^ +[\d.]+ % +\d+ +[\d.]+ +[\d.]+  .*$", done.stdout, re.MULTILINE)
    assert done.exit_code == 0 and len(table) == 10
    assert re.search(r"^ +[\d.]+ %  in \d+ other kinds of phases$", done.stdout, re.MULTILINE)
    assert re.search(
        r"\n [\d ]\d % of the estimated cycles in phases of P_Mem_M \((part\d+ \d+ %(, )?)+\)\n", done.stdout
    )
    assert len(re.findall("<tr><td class=.n.>", page.read_text(encoding="utf-8"))) == 10
    assert page.read_text(encoding="utf-8").index(
        "of the estimated cycles in phases of"
    ) < page.read_text().index("Phases")


@pytest.mark.needs("cc", "valgrind")
@pytest.mark.parametrize(("step", "expected"), [("i * 8", "N"), ("(i * 7919 * 8)", "P_Mem_M")])
def test_a_stream_is_healthy_and_scattered_accesses_are_not(tmp_path, step, expected):
    """A value a line, in order or scattered, of 8 MB in a last level of 256 KiB."""
    walk = f"APART void walk(void) {{ for (long i = 0; i < 131072; i++) sink += table[{step} & 0xfffff]; }}"
    program = build(tmp_path, name="walk", source=_TURNS % (walk, "walk();"))
    options = ["--simulate", "--every-blocks", "100000", "--cache-ll", "256K,8,64"]
    done = CliRunner().invoke(main, ["diagnose", *options, "--", program])
    assert re.search(rf"\n *(9\d|100) % of the estimated cycles in phases of {expected} \(walk", done.stdout)
    assert f"\n{expected}: " in done.stdout and "→" in done.stdout


SCRIPT = """
def busy(n):
    total = 0
    for number in range(n):
        total += number & 3
    return total
print(busy(60_000))
"""


@pytest.mark.needs("valgrind")
def test_python_functions_are_named_where_python_names_them_and_else_the_interpreter_is_said(tmp_path):
    """Python from 3.12 on writes a map of addresses for perf, which is not left behind."""
    script, before = tmp_path / "script.py", set(Path("/tmp").glob("perf-*.map"))
    script.write_text(SCRIPT)
    done = CliRunner().invoke(main, ["diagnose", "--simulate", "--", sys.executable, "-I", "-S", str(script)])
    assert done.exit_code == 0 and "is an interpreter. " in done.stdout
    named = sys.version_info >= (3, 12)
    assert (f"py::busy:{script}" in done.stdout) == named and (
        "not the functions of the script" in done.stdout
    ) != named
    assert "0x" not in done.stdout and set(Path("/tmp").glob("perf-*.map")) <= before


def test_no_advice_is_given_on_a_class_that_costs_little():
    profile = SimpleNamespace(classes=pd.DataFrame({"name": ["N", "P_BP"], "share": [0.7, 0.3]}))
    advice = [{"name": "P_BP", "meaning": "", "remedy": "Sort the data."}]
    costly = {"limited_by": "mispredictions", "advice": advice, "split": {"mispredictions": 30.0}}
    assert [entry["action"] for entry in advise(costly, profile)] == ["Sort the data"]
    plain = costly | {"limited_by": "instructions"}
    assert advise(plain, profile) == []
    rare = SimpleNamespace(classes=pd.DataFrame({"name": ["N", "P_BP"], "share": [0.97, 0.03]}))
    assert advise(costly, rare) == []
