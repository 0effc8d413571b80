"""The micro-benchmarks without counters: rates, levels put together, the committed recordings, and notebook 05."""

import json
import shutil

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cmlib import events, places
from cmlib.cli import main
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.fingerprint.simulated_rates import MODELLED_RATES, NEGLIGIBLE, simulated_rates
from cmlib.study import fingerprint, simulated_fingerprint, simulated_hardware
from cmlib.workloads.micro import build
from cmlib.workloads.micro import simulated as recorded
from tests.naive import simulated as naive

EVENTS = list(events.simulated_events().index)
_SETTLED = 5  # intervals after which a netlist has outgrown the caches
LEVELS = [f"sim.l2_{kind}_misses" for kind in ("instruction", "load", "store")]


@pytest.fixture(scope="module")
def found():
    return simulated_fingerprint.load()


def counts_of(numbers):
    """Counts of an interval a row, in which every miss of a level is one of the level before."""
    index = pd.Index(np.arange(1.0, 1 + len(numbers)), name="interval")
    counts = pd.DataFrame(numbers, index, [*EVENTS, *LEVELS], dtype=float)
    for kind in ("load", "store"):
        counts[f"sim.l2_{kind}_misses"] += counts[f"sim.ll_{kind}_misses"]
        counts[f"sim.l1d_{kind}_misses"] += counts[f"sim.l2_{kind}_misses"]
    counts["sim.instructions"] += 1
    return counts


row = st.lists(st.integers(0, 1000), min_size=16, max_size=16)


@settings(max_examples=30)
@given(st.lists(row, min_size=1, max_size=7), st.integers(1, 3))
def test_rates_are_their_definition(numbers, intervals):
    counts = counts_of(numbers)
    expected = naive.rates(counts.to_dict("records"), intervals, NEGLIGIBLE)
    if not expected:
        with pytest.raises(ValueError, match="hold no slice"):
            simulated_rates(counts, intervals)
        return
    rates = simulated_rates(counts, intervals)
    npt.assert_allclose(rates, pd.DataFrame(expected)[list(rates)])
    assert rates.index.tolist() == counts.index[intervals - 1 :: intervals].tolist()


def test_a_second_run_tells_the_middle_level_and_must_be_the_same_otherwise():
    last = counts_of([[10 * k + 1 for k in range(16)]] * 3)[EVENTS]
    second = last.assign(**{"sim.ll_load_misses": last["sim.ll_load_misses"] + 5})
    joined = recorded.join_levels(last, second)
    npt.assert_array_equal(joined[EVENTS], last)
    npt.assert_array_equal(joined["sim.l2_load_misses"] - joined["sim.ll_load_misses"], 5)
    npt.assert_array_equal(joined["sim.l2_store_misses"], joined["sim.ll_store_misses"])
    for other in (second.assign(**{"sim.instructions": 7.0}), second.iloc[:2]):
        with pytest.raises(ValueError, match="did not execute the same"):
            recorded.join_levels(last, other)


# --- the committed recordings -------------------------------------------------


def test_what_a_simulation_does_not_tell_is_named_and_left_out(found):
    left_out = {one.program.split("-")[1] for one in found.untold}
    assert left_out == {
        "reservation", "reservation_float", "floating_point", "logistic", "decimal", "interpreter",
    }  # fmt: skip
    table = simulated_fingerprint.untold(found)
    assert set(table["form"]) == {"P", "N"} and set(table["program"]) == left_out
    shown = [rate for rate in MODELLED_RATES if rate in table]
    twins = table.set_index(["program", "form"])[shown].clip(lower=pd.Series(NEGLIGIBLE)[shown], axis=1)
    assert (twins.xs("P", level="form") < 2 * twins.xs("N", level="form")).all(axis=None)
    assert all(name in found.left_out for name in left_out) and "Simulated" in found.caveat


def test_the_levels_are_those_of_the_simulated_caches(found):
    rates = simulated_fingerprint.miss_rates(found).set_index(["level", "form"])
    scattered, ordered = rates.xs("P", level="form"), rates.xs("N", level="form")
    assert (scattered["L1"] > 65).all()
    npt.assert_allclose(ordered["L1"], 12.5, atol=0.1)
    assert (ordered[["L2", "LL"]] < 1).all(axis=None)
    assert (scattered.loc["L2", ["L2", "LL"]] < 1).all(axis=None)
    assert (scattered.loc["L3", "L2"] > 65).all() and (scattered.loc["L3", "LL"] < 1).all()
    assert (scattered.loc["M", "LL"] > 85).all()


def test_the_tree_is_right_on_cases_and_programs_it_never_saw(found):
    micro = fingerprint.slices(found.key["micro"], 1)
    folds = fingerprint.table_2(*micro, "micro").set_index("folds")["accuracy"]
    assert folds["10-fold"] >= 99.9 and folds["by run"] >= 98
    model = fingerprint.train(*micro)
    _, scores = fingerprint.score(model, *fingerprint.slices(found.key["unseen"], 1))
    named = scores[scores["expected"] != "N"]
    assert (named["right"] >= 90).all() and len(named) == 8
    accused = scores.loc[scores["expected"] == "N", "pathological"]
    # The simulated prefetcher does not follow a table whose lines are left out.
    assert accused[accused > 5].index.tolist() == ["unseen-hash_join-N-L3-2"]


def test_one_run_tells_memory_from_caches(found):
    tree = simulated_fingerprint.train_for_one_run()
    assert set(tree.classes_) == {"P_Mem_L2/L3", "P_Mem_M", "P_CPU", "N"}
    said = {
        one.program: set(
            tree.predict(simulated_fingerprint.rates_of_one_run(one.counts.iloc[_SETTLED:-1][EVENTS]))
        )
        for one in found.key["unseen"]
    }
    assert said["unseen-netlist-P-M-2"] == said["unseen-hash_join-P-M-2"] == {"P_Mem_M"}
    assert said["unseen-hash_join-P-L3-2"] == {"P_Mem_L2/L3"} and said["unseen-filter-P"] == {"P_CPU"}
    assert said["unseen-filter-N"] == said["unseen-binary_search-N-M-2"] == {"N"}


def test_the_same_program_on_a_processor_stands_beside():
    table = simulated_hardware.beside_hardware().set_index(["program", "quantity"])
    exact = table.loc[("bzip2", "conditional branches")]
    assert exact["simulated as"] == "exact" and 0.9 < exact["ratio"] < 1.1
    assert set(table.index.get_level_values("program")) == {"bzip2", "gcc"}
    npt.assert_allclose(table["ratio"], table["simulated"] / table["counted"])


def test_a_lacking_run_and_runs_that_differ_are_told(tmp_path):
    source = places.recordings_dir() / recorded.FOLDER / "micro-branch-P"
    shutil.copytree(source, tmp_path / source.name)
    (tmp_path / source.name / f"{recorded.SECOND}-p0-00.json").unlink()
    with pytest.raises(CmlibError, match=r"micro-branch-P: a run of set sim_l2_pf is lacking"):
        recorded.read_simulated_series(tmp_path)
    with pytest.raises(NothingRecordedError, match="cmlib record-micro --simulate"):
        simulated_fingerprint.load(tmp_path)
    with pytest.raises(NothingRecordedError, match=r"cmlib record-micro`; nothing simulated yet"):
        simulated_fingerprint.sources(tmp_path)


# --- recording ----------------------------------------------------------------


@pytest.mark.needs("cc", "valgrind")
def test_a_case_is_simulated_without_what_prepares_it(tmp_path):
    build(tmp_path, ["branch"])
    command = [str(tmp_path / "branch"), "--form", "P", "--operations", "300000"]
    note = json.dumps({"label": "P_CPU", "size": None, "kind": "micro"})
    how = {"folder": tmp_path, "every_blocks": 100_000, "note": note, "function": "execute"}
    recorded.record_levels("micro-branch-P", command, recorded.CACHES, **how)
    (one,) = recorded.read_simulated_series(tmp_path)
    branches = one.counts["sim.conditional_branches"]
    assert branches.sum() <= 600_000 < branches.sum() + 2 * branches.max()
    mispredicted = one.counts["sim.conditional_mispredictions"].sum()
    assert 0.2 < mispredicted / branches.sum() < 0.3
    assert one.rates(1)["sim.fills_from_memory"].max() == NEGLIGIBLE["sim.fills_from_memory"]


def test_the_cases_are_listed():
    listed = CliRunner().invoke(main, ["record-micro", "--simulate", "--list"])
    assert listed.exit_code == 0, listed.output
    assert "micro-branch-P-3" in listed.output and "unseen-netlist-P-M-2" in listed.output
