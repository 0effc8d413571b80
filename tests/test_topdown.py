"""Where the cycles go: formulas, tables, the account, and merging runs."""

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib import topdown
from cmlib.errors import InputError
from cmlib.io import events
from cmlib.topdown import FormulaError, evaluate, names_in
from tests.naive import topdown as naive

AMD = topdown.read_table("amd_zen5")


@pytest.mark.parametrize(
    "formula, expected",
    [
        ("8 * cycles", 16.0),
        ("de_src.all - ex_ret", 3.0),
        ("min(cycles, 8 * ex_ret) + max(-1, 0)", 2.0),
        ("ex_ret * topdown-be-bound / (cycles + exe.1_ports)", 4.0),
    ],
)
def test_formulas_are_arithmetic_over_event_names(formula, expected):
    values = {"cycles": 2.0, "de_src.all": 5.0, "ex_ret": 2.0, "topdown-be-bound": 10.0, "exe.1_ports": 3.0}
    assert evaluate(formula, values) == expected
    assert set(names_in(formula)) <= values.keys()


@given(a=st.floats(0.1, 1e6), b=st.floats(0.1, 1e6), c=st.floats(0.1, 1e6))
def test_a_formula_is_what_python_makes_of_it(a, b, c):
    found = evaluate("a.x * (b.y - 2.5) / (c.z + a.x)", {"a.x": a, "b.y": b, "c.z": c})
    npt.assert_allclose(found, a * (b - 2.5) / (c + a))


@pytest.mark.parametrize(
    "formula", ["cycles.__class__()", "cycles ** 2", "cycles +", "[cycles]", "min(cycles)", "'a'"]
)
def test_nothing_but_arithmetic_is_a_formula(formula):
    with pytest.raises(FormulaError):
        evaluate(formula, {"cycles": 1.0})


def test_a_minus_without_blanks_is_part_of_a_name_and_the_error_says_so():
    with pytest.raises(FormulaError, match="blank"):
        evaluate("slots-ex_ret_ops", {"slots": 8.0, "ex_ret_ops": 2.0})


@pytest.mark.parametrize("formula, expected", [("1e9 * cycles", 2e9), ("2.5e-3 + 1.E3", 1000.0025)])
def test_the_exponent_of_a_number_is_no_event(formula, expected):
    assert evaluate(formula, {"cycles": 2.0}) == expected
    assert set(names_in(formula)) <= {"cycles"}


def test_an_unknown_table_is_refused_with_the_names_of_all_tables():
    with pytest.raises(InputError, match="amd_zen5.*intel_skylake"):
        topdown.read_table("amd_zen9")


@pytest.mark.parametrize("name", topdown.tables())
def test_every_table_is_whole(name):
    table = topdown.read_table(name)
    assert table.source and table.slots and len(table.parts()) >= 3
    for category in table.categories:
        assert category.about.endswith(".")
        siblings = table.parts(category.parent)
        assert sum(not part.formulas for part in siblings) <= 1, (
            f"two parts of {category.parent} are the rest"
        )
        for text in category.formulas:
            evaluate(text, dict.fromkeys(names_in(text), pd.Series([1.0, 2.0])))
    assert not table.has_testable_sum or all(part.formulas for part in table.parts())
    names = [category.name for category in table.categories]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["amd_zen4", "amd_zen5"])
def test_the_events_of_amd_are_in_their_event_tables(name):
    known = set(events.table(name).index) | {"cycles"}
    assert set(topdown.read_table(name).events()) <= known


def planted(n_steps=40, seed=0):
    """Rates per cycle of slots that were handed out: every event that the Zen 5 table takes."""
    rng = np.random.default_rng(seed)
    slots = 8 * rng.dirichlet([3, 2, 4, 3], n_steps)
    rates = pd.DataFrame(rng.uniform(0.01, 0.02, (n_steps, len(AMD.events()))), columns=AMD.events())
    rates = rates.drop(columns=["cycles", "de_no_dispatch_per_slot.smt_contention"])
    rates["ex_ret_ops"], rates["de_src_op_disp.all"] = slots[:, 0], slots[:, 0] + slots[:, 1]
    rates["de_no_dispatch_per_slot.no_ops_from_frontend"] = slots[:, 2]
    rates["de_no_dispatch_per_slot.backend_stalls"] = slots[:, 3]
    rates["ex_no_retire.not_complete"] = 0.4
    rates["ex_no_retire.load_not_complete"] = 0.3
    return rates, slots / 8


def test_planted_slots_are_found_and_add_up():
    rates, shares = planted()
    found = topdown.account(rates, AMD)
    named = found.level()[["retired", "bad speculation", "front end", "back end"]]
    npt.assert_allclose(named, shares)
    assert found.level()["sibling thread"].eq(0).all() and not found.missing
    npt.assert_allclose(found.shares["memory"], 0.75 * found.shares["back end"])
    npt.assert_allclose(found.level().sum(axis=1), 1, atol=1e-12)
    for parent in ("retired", "bad speculation", "front end", "back end", "memory"):
        npt.assert_allclose(found.level(parent).sum(axis=1), found.shares[parent])


def test_what_was_not_counted_is_told_by_name_and_nothing_is_made_up():
    rates, _ = planted()
    found = topdown.account(rates.drop(columns=["ex_no_retire.load_not_complete", "ex_ret_ucode_ops"]), AMD)
    assert found.missing["memory"] == ("ex_no_retire.load_not_complete",)
    assert found.missing["microcode"] == ("ex_ret_ucode_ops",)
    assert not {"memory", "core", "L2 hits", "plain ops"} & set(found.shares)
    without_front = topdown.account(rates.drop(columns="de_no_dispatch_per_slot.no_ops_from_frontend"), AMD)
    assert list(without_front.level()) == ["retired", "bad speculation", "back end", "sibling thread"]
    assert "front end" in without_front.missing


def test_a_remainder_makes_the_sum_1_which_then_tests_nothing():
    table = topdown.read_table("intel_skylake")
    rates = pd.DataFrame(
        {
            "uops_retired.retire_slots": [1.0, 2.0],
            "uops_issued.any": [1.5, 2.0],
            "int_misc.recovery_cycles": [0.1, 0.0],
            "idq_uops_not_delivered.core": [0.5, 1.0],
        }
    )
    found = topdown.account(rates, table)
    npt.assert_allclose(found.level().sum(axis=1), 1.0)
    npt.assert_allclose(found.shares["back end"], [1 - (1 + 0.5 + 0.4 + 0.5) / 4, 0.25])
    assert not table.has_testable_sum


def test_a_table_is_chosen_by_what_was_counted():
    assert topdown.choose_table(
        ["topdown-retiring", "topdown-fe-bound", "topdown-be-bound", "cycles"]
    ).name.startswith("intel_")
    four = ["topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"]
    assert topdown.choose_table(["slots", *four]).divides_all_slots
    assert topdown.choose_table(["stalled-cycles-frontend", "instructions"]).name == "generic"
    assert topdown.choose_table(["page-faults"]) is None
    assert topdown.choose_table(["cycles", "instructions", *events.core_events(events.table())]) is None


def test_the_machines_own_table_is_chosen_unless_nothing_of_it_was_counted():
    own, stalled = "topdown-retiring", ["stalled-cycles-frontend", "stalled-cycles-backend"]
    assert topdown.choose_table([own, *stalled]).name == "generic"
    assert topdown.choose_table([own, *stalled], "intel_sapphirerapids").name == "intel_sapphirerapids"
    assert topdown.choose_table(stalled, "intel_sapphirerapids").name == "generic"
    assert topdown.choose_table([own], "a machine without a table").name == topdown.choose_table([own]).name
    assert topdown.choose_table(["page-faults"], "intel_sapphirerapids") is None


def made_steps(n_runs, n_steps, seed):
    """Runs whose IPC differs a little; each counts one event, which follows IPC in its own way."""
    rng = np.random.default_rng(seed)
    ipc = 1 + rng.random(n_steps)
    steps = []
    for number in range(n_runs):
        own = ipc * rng.uniform(0.9, 1.1, n_steps)
        event = f"event {number % 2}"
        rate = 0.5 + (0.3 if number % 2 else -0.2) * own
        cycles = rng.uniform(1e6, 2e6, n_steps)
        steps.append(pd.DataFrame({"instructions": own * cycles, "cycles": cycles, event: rate * cycles}))
    return steps, ipc


@given(n_runs=st.integers(1, 5), n_steps=st.integers(2, 12), seed=st.integers(0, 1000))
def test_merging_is_its_definition(n_runs, n_steps, seed):
    steps, _ = made_steps(n_runs, n_steps, seed)
    rates, ipc = topdown.merge_steps(steps)
    expected, reference = naive.merged(steps)
    npt.assert_allclose(ipc, reference)
    for event, values in expected.items():
        npt.assert_allclose(rates[event], values, rtol=1e-9, atol=1e-12)


def test_rates_of_runs_of_another_speed_are_moved_to_the_mean_speed():
    steps, _ = made_steps(6, 60, 0)
    adjusted, ipc = topdown.merge_steps(steps)
    plain, _ = topdown.merge_steps(steps, adjust=False)
    truth = 0.5 + 0.3 * ipc
    npt.assert_allclose(adjusted["event 1"], truth)
    assert np.abs(plain["event 1"] - truth).mean() > 0.005


def test_one_run_is_left_as_it_is():
    steps, _ = made_steps(1, 10, 0)
    adjusted, _ = topdown.merge_steps(steps)
    plain, _ = topdown.merge_steps(steps, adjust=False)
    pd.testing.assert_frame_equal(adjusted, plain)
    with pytest.raises(ValueError, match="into the same number"):
        topdown.merge_steps([steps[0], steps[0].iloc[:5]])
