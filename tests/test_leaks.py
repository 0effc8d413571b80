"""What a ranking leaves out: start and exit of a process, IPC under another name, and speed that stands still."""

import numpy as np
import pandas as pd
import pytest

from cmlib import experiments as study
from cmlib import rank
from cmlib.errors import UnfitRecordingError
from cmlib.experiments import aliases
from cmlib.rank import find_start_and_exit
from cmlib.rank.leaks import find_proportional

NO_TABLE = pd.DataFrame({"description": []}, dtype=str)


def flat_run(n=213, *, seed=0, spread=0.008):
    """A run like one of povray: a flat IPC of 3.7, but for five intervals at the start and three at the exit."""
    rng = np.random.default_rng(seed)
    ipc = 3.7 * rng.normal(1, spread, n)
    ipc[:5] = [0.6, 0.9, 1.4, 1.1, 2.0]
    ipc[-3:] = [1.5, 0.8, 0.5]
    return made_run(ipc, rng)


def made_run(ipc, rng):
    """Counts of a run at 3 GHz with this IPC: misses that cost cycles, branches, loads and unrelated events."""
    n = len(ipc)
    cycles = np.full(n, 3e8)
    instructions = cycles * ipc
    counts = {
        "instructions": instructions,
        "cycles": cycles,
        "branches": instructions * rng.normal(0.2, 0.004, n),
        "r01c2": instructions * rng.normal(1.3, 0.01, n),
        "LLC-load-misses": instructions * (1 / ipc - 0.2) / 200 * rng.normal(1, 0.05, n),
        "page-faults": rng.poisson(300, n),
        "stalled-cycles-backend": (cycles - instructions / 5) * rng.normal(1, 0.02, n),
    }
    return pd.DataFrame(counts, pd.Index(np.arange(1, n + 1) / 10, name="time_s"), dtype=float)


def as_matrix(counts, **options):
    run = {"set": "x", "pass": 0, "counts": counts, "seconds": pd.Series(0.1, counts.index)}
    return study.matrix(pd.DataFrame([run]), table=NO_TABLE, **options)


def test_start_and_exit_are_found_and_hold_the_variance():
    counts = flat_run()
    cpi = counts["cycles"] / counts["instructions"]
    data = as_matrix(counts)
    assert data.ends == (5, 3) and len(data.X) == 205
    left = ((1 / data.ipc - cpi.mean()) ** 2).sum()
    assert left < 0.1 * ((cpi - cpi.mean()) ** 2).sum()


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e6])
def test_the_unit_of_a_rate_changes_no_end_and_neither_does_its_direction(factor):
    ipc = (lambda counts: counts["instructions"] / counts["cycles"])(flat_run())
    assert find_start_and_exit(factor * ipc) == find_start_and_exit(1 / ipc) == (5, 3)
    assert find_start_and_exit(ipc[::-1]) == (3, 5)


@pytest.mark.parametrize("seed", range(5))
def test_a_run_without_start_and_exit_loses_nothing(seed):
    rng = np.random.default_rng(seed)
    wandering = np.exp(np.cumsum(rng.normal(0, 0.05, 200))).clip(0.5, 2)
    phases = np.repeat([1.0, 2.0, 0.7, 1.5], 50) * rng.normal(1, 0.02, 200)
    assert find_start_and_exit(wandering) == find_start_and_exit(phases) == (0, 0)
    assert find_start_and_exit([0.1, *[1.0] * 17, 0.1]) == (0, 0)


def test_speed_that_does_not_vary_is_not_ranked():
    data = as_matrix(flat_run())
    assert not data.varies
    for refused in (lambda: study.refine(data), lambda: study.varying({"povray": data})):
        with pytest.raises(UnfitRecordingError, match=r"IPC without start and exit is 0\.8 % of its mean"):
            refused()
    moving = as_matrix(flat_run(spread=0.1))
    assert list(study.varying({"povray": data, "moving": moving})) == ["moving"]


@pytest.fixture(scope="module")
def wandering():
    rng = np.random.default_rng(3)
    return made_run(np.exp(np.cumsum(rng.normal(0, 0.1, 240))).clip(0.4, 3), rng)


def test_ipc_under_another_name_is_left_out_of_rates_per_cycle(wandering):
    data = as_matrix(wandering)
    # branches by their name; r01c2, of which nothing is known, by its constant rate per instruction
    assert list(data.aliases) == ["branches", "r01c2"]
    assert set(data.X) == {"LLC-load-misses", "stalled-cycles-backend"}
    assert list(data.ticking.index) == ["page-faults"]
    assert set(data.all_events) == {*data.X, "branches", "r01c2"}


def test_an_alias_names_no_reason_and_its_rule_is_kept(wandering):
    descriptions = {
        "ex_no_retire.all": "Cycles without retirement, whatever the reason.",
        "ex_no_retire.empty": "Cycles without retirement: no valid op in the retire queue.",
        "de_src_op_disp.all": "Ops dispatched.",
        "branches": "",
    }
    table = pd.DataFrame({"description": descriptions})
    idle = wandering["cycles"] - wandering["instructions"] / 8
    counts = wandering.assign(
        **{
            "ex_no_retire.all": idle,
            "ex_no_retire.empty": idle * np.linspace(0.2, 0.8, len(idle)),
            "de_src_op_disp.all": wandering["instructions"] * np.linspace(1, 3, len(idle)),
        }
    )
    run = {"set": "x", "pass": 0, "counts": counts, "seconds": pd.Series(0.1, counts.index)}
    data = study.matrix(pd.DataFrame([run]), table=table)
    assert data.alias_rules.to_dict() == {
        "branches": aliases.KIND_OF_INSTRUCTION,
        "r01c2": aliases.CONSTANT_RATE,
        "ex_no_retire.all": aliases.ALL_IDLE_CYCLES,
        "de_src_op_disp.all": aliases.OPS_OF_ALL_KINDS,
    }
    assert list(data.aliases) == list(data.alias_rules.index)
    assert "ex_no_retire.empty" in data.X


def test_counts_of_cycles_are_left_out_of_rates_per_instruction(wandering):
    data = as_matrix(wandering, per="instructions")
    assert list(data.aliases) == ["stalled-cycles-backend"]
    assert {"branches", "r01c2", "LLC-load-misses"} <= set(data.X)


def test_what_costs_cycles_is_in_proportion_to_no_instructions(wandering):
    per_cycle = wandering.div(wandering["cycles"], axis=0).drop(columns=["instructions", "cycles"])
    ipc = wandering["instructions"] / wandering["cycles"]
    assert find_proportional(per_cycle, ipc) == ["branches", "r01c2"]
    assert find_proportional(1e6 * per_cycle[::-1], ipc[::-1]) == ["branches", "r01c2"]


def test_a_run_of_aliases_alone_is_refused(wandering):
    with pytest.raises(UnfitRecordingError, match=r"IPC under another name \(branches, r01c2\)"):
        as_matrix(wandering[["instructions", "cycles", "branches", "r01c2"]])


def test_one_event_that_is_the_cause_predicts_as_well_as_the_model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"e{number}": rng.normal(1, 0.1, 240) for number in range(6)})
    X["cause"] = np.repeat(rng.uniform(1, 2, 24), 10)
    ipc = 3 - X["cause"] + rng.normal(0, 0.01, 240)
    refined = rank.refine(X, ipc, step=2)
    assert refined.one_event == "cause" and refined.one_event_suffices and refined.beats_mean
    assert refined.baselines["blocks_one_event"] < 2 < refined.baselines["blocks_mean"]
    both = rank.refine(X, ipc + 0.8 * (X["e0"] > 1) * (X["cause"] > 1.5) + 0.5, step=2)
    assert both.baselines["blocks_one_event"] < both.baselines["blocks_mean"] and not both.one_event_suffices


def test_a_model_of_noise_does_not_beat_the_mean():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({f"e{number}": rng.normal(1, 0.1, 120) for number in range(6)})
    refined = rank.refine(X, pd.Series(rng.uniform(1, 2, 120)), step=2)
    assert not refined.beats_mean


def test_the_share_of_models_that_agree_on_the_first_events():
    draws = pd.DataFrame([[50, 30, 20, 0], [60, 20, 15, 5], [30, 50, 5, 15]], columns=list("abcd"))
    agreement = rank.leading_agreement(draws)
    np.testing.assert_allclose(agreement, [200 / 3, 100, 200 / 3])
    assert list(rank.leading_agreement(draws[["a", "b"]]).index) == [1]
    spread = rank.importance_spread(draws)
    assert spread["first_three"].round(1).to_dict() == {"a": 100, "b": 100, "c": 66.7, "d": 33.3}


def test_a_line_is_the_least_squares_line_through_the_event_that_correlates_best():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50), "still": 1.0})
    y = 2 - 3 * X["b"] + rng.normal(size=50)
    slope, intercept = np.polyfit(X["b"], y, 1)
    np.testing.assert_allclose(rank.predict_by_one_event(X, y, X), intercept + slope * X["b"])
    np.testing.assert_allclose(rank.predict_by_one_event(X[["still"]], y, X), y.mean())
