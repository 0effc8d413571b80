"""What a miss costs: planted truth, the formula in loops, laws, and what was measured on programs left out."""

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib import cost, places
from cmlib.cost import calibration, change, pooled
from cmlib.cost.savings import _enforce_cache_inclusion
from cmlib.errors import InputError
from cmlib.topdown import bounds, read_costs
from cmlib.topdown.event_bounds import select_sure_savings
from cmlib.topdown.summary import describe_misses
from tests.naive import cost as naive
from tests.test_notebooks import numbers

_TOOL = Path(__file__).resolve().parents[1] / "tools/make_cost_tables.py"

SAYS_NOTHING = ["436.cactusADM.1", "437.leslie3d.1", "470.lbm.1", "481.wrf.1"]


def planted(per_miss, *, n=1500, seed=0, base=0.5, noise=0.02):
    """Counts of two runs of a program in phases of 50 to 200 intervals, and misses per instruction."""
    rng = np.random.default_rng(seed)
    levels = np.repeat(rng.gamma(2, 0.003, 60), rng.integers(50, 200, 60))[:n]
    misses = levels * rng.lognormal(0, 0.2, n)
    instructions = rng.normal(1e8, 1e5, n).round()
    cycles = (base + per_miss * misses + noise * np.cumsum(rng.normal(0, 0.2, n)) / 5) * instructions
    counted = pd.DataFrame({"instructions": instructions, "cycles": cycles.round()})
    loads = pd.DataFrame({"instructions": instructions, "LLC-load-misses": (misses * instructions).round()})
    return counted, loads, misses.mean()


@pytest.mark.parametrize("per_miss", [30, 80, 150, 220])
def test_a_planted_cost_is_found_and_in_its_interval(per_miss):
    held = 0
    for seed in range(10):
        cycles, loads, misses = planted(per_miss, seed=seed)
        steepness, stderr = cost.slope(*cost.rates(cycles, loads).to_numpy().T)
        assert abs(steepness - per_miss) < max(4 * stderr, 0.05 * per_miss)
        prediction = cost.predict_change(cycles, loads, -misses / 2)
        held += prediction.low <= -per_miss * misses / 2 <= prediction.high
        assert prediction.known and not prediction.reason
    assert held >= 9


def test_slope_is_its_definition():
    rng = np.random.default_rng(1)
    for n in (24, 25, 100, 333):
        cycles, misses = rng.random(n) + 1, rng.random(n)
        npt.assert_allclose(cost.slope(cycles, misses), naive.slope(list(cycles), list(misses)), rtol=1e-9)


def test_the_posterior_is_its_definition():
    model, (X, _) = cost.default_cost_model(), cost.changes()
    found = model.posterior(X)
    constants = {"center": model.center_, "spread": model.spread_, "slope_error": model.slope_error_}
    constants |= {"store_weight": model.store_weight_, "latency": model.latency, "width": model.width}
    for place in range(0, len(X), 7):
        mean, sd = naive.posterior(X.iloc[place], costs=list(pooled.COSTS[0]), **constants)
        npt.assert_allclose(found.iloc[place][["cost", "sd"]].to_list(), [mean, sd], rtol=1e-6)


@given(st.floats(0.01, 100), st.floats(-3, 3), st.integers(0, 20))
def test_units_and_bases_change_no_slope(factor, base, seed):
    rng = np.random.default_rng(seed)
    cycles, misses = rng.random(100), rng.random(100)
    expected = np.array(cost.slope(cycles, misses))
    npt.assert_allclose(cost.slope(factor * cycles + base, misses), factor * expected, rtol=1e-6, atol=1e-9)
    npt.assert_allclose(cost.slope(cycles, factor * misses + base), expected / factor, rtol=1e-6, atol=1e-9)


@given(st.floats(0.001, 50), st.floats(-0.01, 0.01))
def test_counting_more_of_everything_changes_nothing(factor, change):
    cycles, loads, _ = planted(90, n=200)
    expected = cost.predict_change(cycles, loads, change)
    npt.assert_allclose(
        cost.predict_change(cycles * factor, loads * factor, change)[:4], expected[:4], rtol=1e-6
    )
    npt.assert_allclose(
        cost.predict_change(cycles.cumsum(), loads.cumsum(), change)[:4], expected[:4], rtol=1e-6
    )
    back = cost.predict_change(cycles, loads, -change)
    assert back.cost == expected.cost
    # What is saved has a limit: all but a quarter of a cycle an instruction.
    assert max(back.change, expected.change) >= -min(back.change, expected.change) * (1 - 1e-12)
    if change <= 0:
        assert expected.low <= expected.change <= expected.high
    else:  # the coverage of intervals for more misses was not measured
        assert np.isnan([expected.low, expected.high]).all()


def test_a_cost_is_no_less_than_nothing_and_no_more_than_memory_or_the_program_takes():
    X = cost.changes()[0]
    strange = pd.concat([X.assign(slope=value, stderr=1.0) for value in (-500.0, 0.0, 1e5)])
    found = cost.default_cost_model().posterior(strange)
    assert (found["cost"] > 0).all() and (found["cost"] <= found["limit"]).all()
    assert (found["limit"] * strange["misses"] <= strange["cycles"] - 0.25 + 1e-9).all()


def test_what_intervals_do_not_tell_is_said_with_the_reason():
    cycles, loads, misses = planted(90, n=800)
    few = cost.predict_change(cycles[:20], loads[:20], -misses)
    steady = cost.predict_change(
        cycles, loads.assign(**{"LLC-load-misses": loads["instructions"] / 200}), -misses
    )
    none = cost.predict_change(cycles, loads.assign(**{"LLC-load-misses": 0}), -misses)
    shuffled = loads.sample(frac=1, random_state=0).reset_index(drop=True)
    unlike = cost.predict_change(cycles, shuffled, -misses)
    stores = cycles.assign(**{"LLC-store-misses": 9 * loads["LLC-load-misses"]})
    reasons = {
        "too few intervals": few,
        "constant": steady,
        "no miss": none,
        "time scales": unlike,
        "stores miss 9 times": cost.predict_change(stores, loads, -misses),
    }
    for part, told in reasons.items():
        assert (
            part in told.reason and not told.known and np.isfinite([told.low, told.change, told.high]).all()
        )
    assert cost.predict_change(stores, loads, -misses, stores_change=-9 * misses).known


def test_what_was_not_counted_is_named():
    cycles, loads, _ = planted(90, n=50)
    with pytest.raises(
        ValueError, match="no column of misses was found among instructions, cycles. Possible names"
    ):
        cost.predict_change(cycles, cycles, -0.001)
    with pytest.raises(ValueError, match="no interval has instructions"):
        cost.predict_change(cycles * np.nan, loads, -0.001)
    named = loads.rename(columns={"LLC-load-misses": "ls_dmnd_fills"})
    expected = cost.predict_change(cycles, loads, -0.001)
    assert cost.predict_change(cycles, named, -0.001, misses="ls_dmnd_fills") == expected


def test_names_of_perf_and_of_its_constants_are_the_same():
    cycles, loads, _ = planted(90, n=100)
    constants = cycles.set_axis(["#PERF_COUNT_HW_INSTRUCTIONS", "#PERF_COUNT_HW_CPU_CYCLES"], axis=1)
    reads = loads.set_axis(["PERF_COUNT_HW_INSTRUCTIONS", "PERF_COUNT_HW_CACHE_LL_MISS_R"], axis=1)
    assert cost.predict_change(constants, reads, -1e-3) == cost.predict_change(cycles, loads, -1e-3)


@pytest.fixture(scope="module")
def made():
    """Tables of models and of their coverage, made again by the tool, and the stored ones."""
    X, y = cost.changes((*calibration.LARGER_CACHE, *calibration.PREFETCHERS))
    X = X.drop(columns="stores_change")
    spec = importlib.util.spec_from_file_location("make_cost_tables", _TOOL)
    make_cost_tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_cost_tables)
    tables = make_cost_tables.make_models(X, y), make_cost_tables.make_coverage(X, y)
    stored = (pd.read_csv(places.shipped("cost") / f"{name}.csv") for name in ("models", "coverage"))
    return list(zip(tables, stored, strict=True))


@pytest.mark.full
def test_models_and_their_coverage_are_those_that_the_tool_makes(made):
    for table, stored in made:
        pd.testing.assert_frame_equal(table, stored, rtol=1e-3, atol=1e-3, check_dtype=False)


def measured(**chosen):
    """Rows of coverage.csv with the chosen values."""
    table = pd.read_csv(places.shipped("cost") / "coverage.csv")
    for column, value in chosen.items():
        table = table[table[column] == value]
    assert len(table)
    return table


def test_intervals_hold_as_stated_on_each_suite_and_release_left_out():
    larger = measured(model="this processor", setting="larger caches")
    assert (larger["holds"] >= 90).all() and (larger["error"] < larger["nothing"]).all()
    for by in ("suite", "release"):
        (row,) = measured(
            model="this processor", setting="larger caches", by=by, left_out="each"
        ).itertuples()
        assert row.score < row.constant_score
    prefetchers = measured(model="this processor", setting="prefetchers")
    assert prefetchers["holds"].min() < 90  # which is why there is no interval for more misses


def test_the_documentation_has_the_measured_numbers():
    page = (Path(__file__).resolve().parents[1] / "docs/cost.md").read_text(encoding="utf-8")
    table = measured(model="this processor").set_index(["by", "left_out", "setting"])
    rows = {
        left_out: table.loc[(by, left_out, "larger caches")]
        for by, left_out, _ in table.index
        if left_out != "each"
    }
    rows |= {size: table.loc[("suite", "each", size)] for size in calibration.LARGER_CACHE}
    rows |= {
        f"all, each {by} left out": table.loc[(by, "each", "larger caches")] for by in ("suite", "release")
    }
    for name, row in rows.items():
        errors = f"{row['bias']:+.1f} | {row['error']:.1f} | {row['nothing']:.1f} | {row['score']:.1f}"
        constant = f"{row['constant_holds']:.0f} % | {row['constant_score']:.1f}"
        assert f"| {name} | {row['changes']} | {row['holds']:.0f} % | {errors} | {constant} |" in page
    other = measured(model="other processor", by="suite", left_out="each", setting="larger caches").iloc[0]
    assert f"Its interval score for suites left out is {other['score']:.0f}." in page
    assert f"A constant width is better, with a score of {other['constant_score']:.0f}." in page
    ranges = measured(model="range over latencies", by="suite")
    inside = (ranges["holds"] * ranges["changes"] / 100).sum()
    assert f"{inside:.0f} of the {ranges['changes'].sum()} changes that removed at least three fifths" in page


def test_coverage_counts_what_lies_inside_and_scores_what_does_not():
    rows = pd.DataFrame(
        {"measured": [10.0, 10.0], "predicted": [10.0, 4.0], "low": [9.0, 1.0], "high": [12.0, 7.0]}
    )
    found = cost.coverage(rows.assign(program=["a", "b"], constant=6.0))
    assert found["holds"] == 50 and found["bias"] == -3 and found["error"] == 3 and found["nothing"] == 10
    assert found["score"] == pytest.approx((3 + 6 + 20 * 3) / 2)
    assert found["constant_holds"] == 100 and found["constant_score"] == 12


def test_width_is_set_by_programs_that_the_model_did_not_learn_from():
    X, y = cost.changes()
    X = X.drop(columns="stores_change")
    expected = []
    for suite in X["suite"].unique():
        rest = X["suite"] != suite
        left_out = cost.learn(X[rest], y[rest])
        at = X[~rest]
        quotients = (y[~rest] - left_out.predict(at)).abs() / left_out.scale(at)
        expected.append(quotients.groupby(at["program"]).max().max())
    assert cost.learn(X, y).half_width_ == pytest.approx(max(expected))


def test_a_model_without_calibrated_intervals_says_how_to_get_them():
    X, y = cost.changes()
    model = cost.PooledCost().fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(InputError, match=r"cmlib\.cost\.learn"):
        model.predict_interval(X)


@pytest.mark.slow
def test_programs_whose_intervals_say_nothing_are_not_known_or_right():
    X, y = cost.changes()
    X = X.drop(columns="stores_change")
    held_out = cost.held_out(X, y)
    holds = held_out["measured"].between(held_out["low"], held_out["high"])
    for name in SAYS_NOTHING:
        known = not change.reason_unreliable(X[X["program"] == name].iloc[0])
        assert not known or holds[held_out["program"] == name].all()
    known = [not change.reason_unreliable(row) for _, row in X.drop_duplicates("program").iterrows()]
    assert 15 <= sum(known) <= 25


def test_on_another_processor_what_other_programs_cost_tells_nothing():
    here, there = cost.default_cost_model(), cost.default_cost_model(other_processor=True)
    X = cost.changes()[0].drop_duplicates("program").assign(slope=0.0, stderr=np.inf, stores=0.0)
    assert (there.posterior(X)["sd"] > here.posterior(X)["sd"]).all()
    limit = there.posterior(X)["limit"]
    middle = (limit - 1) / np.log(limit)  # mean of what is flat as a logarithm
    npt.assert_allclose(there.posterior(X)["cost"], middle, rtol=0.05)


def test_the_notebook_foretells_better_than_what_is_simpler(smoke):
    found = numbers(smoke, "cost_of_misses")
    error = {name.split("by ")[1].split(",")[0]: value for name, value in found.items() if "error by" in name}
    assert error["pooled"] <= 2
    assert all(error["pooled"] < value for name, value in error.items() if name != "pooled")
    assert 85 <= found["90 % intervals that hold, all sizes"] < 100


def saved(counts, costs, *, running=1.0):
    rows = cost.savings_without_misses([(counts, counts * 0 + running)], costs)
    return {row["without"]: row for row in rows}


def test_savings_without_misses_a_planted_cost_goes_and_no_cache_saves_more_than_those_before_it():
    counts, loads, misses = planted(60, n=800)
    counts = counts.assign(**loads[["LLC-load-misses"]])
    counts["L1-dcache-load-misses"] = 3 * counts["LLC-load-misses"]
    found = saved(counts, read_costs())
    share = 100 * 60 * misses / (counts["cycles"].sum() / counts["instructions"].sum())
    assert list(found) == ["LLC misses", "L1D misses"]
    last, first = found["LLC misses"], found["L1D misses"]
    assert last["low"] <= share <= last["high"] and last["percent"] == pytest.approx(share, rel=0.3)
    assert "range over plausible latencies" in describe_misses([last])[0]
    assert last["percent"] <= first["high"] and last["low"] <= first["low"] and last["high"] <= first["high"]
    assert not last["reason"] and "not known" not in describe_misses(found.values())[0]


def test_estimates_of_all_runs_are_combined_and_limited_by_the_back_end():
    runs = []
    for seed in range(3):
        counts, loads, _ = planted(60, n=800, seed=seed)
        counts = counts.assign(**{"LLC-load-misses": loads["LLC-load-misses"]})
        runs.append((counts, counts * 0 + 1.0))
    runs.append((counts.assign(**{"LLC-load-misses": 0.01 * counts["instructions"]}), runs[0][1]))
    costs = read_costs()
    (row,) = cost.savings_without_misses(runs, costs)
    alone = [cost.savings_without_misses([run], costs)[0] for run in runs[:3]]
    assert (row["runs"], row["of_runs"]) == (3, 4) and not row["overstates"]
    for end in ("percent", "low", "high"):
        assert row[end] == pytest.approx(np.median([reading[end] for reading in alone]))
    assert "from 3 of 4 runs" in describe_misses([row])[0]
    totals = pd.DataFrame({"rate": [1.0], "error": [0.0]}, ["instructions"])
    shares = bounds(totals, costs).shares
    shares.loc["back end", "high"] = row["percent"] / 200
    (limited,) = cost.savings_without_misses(runs, costs, shares=shares)
    assert limited["high"] == limited["percent"] == pytest.approx(row["percent"] / 2)
    sure = row | {"low": 20.0}
    assert bounds(totals, costs, savings=[sure]).shares.at["back end", "low"] == pytest.approx(0.2)


def test_an_event_that_counts_more_than_loads_overstates_and_bounds_nothing():
    counts, loads, _ = planted(60, n=800)
    counts = counts.assign(**{"cache-misses": loads["LLC-load-misses"]})
    found = saved(counts, read_costs())["LLC misses"]
    assert found["overstates"] and "overstates" in describe_misses([found])[0]
    sure = found | {"low": 20.0}
    assert not select_sure_savings([sure]) and select_sure_savings([sure | {"overstates": False}])


def test_savings_without_misses_says_where_intervals_do_not_tell_or_physics_does():
    counts, loads, _ = planted(60, n=800)
    counts = counts.rename(columns={"cpu_cycles": "cycles"})
    few = counts.assign(**{"LLC-load-misses": 1e-6 * counts["cycles"]})
    found = saved(few, read_costs())["LLC misses"]
    assert (
        found["percent"] == 0
        and 0 < found["high"] < 1
        and describe_misses([found])[0].startswith("Without `LLC-load-misses` (LLC misses): at most 0.")
    )
    steep = counts.assign(cycles=counts["cycles"] * 100, **loads[["LLC-load-misses"]])
    unsteady = counts.assign(**{"LLC-load-misses": counts["instructions"] * 0.01})
    for frame in (
        steep,
        unsteady,
        counts.assign(cycles=counts["cycles"].iloc[::-1].to_numpy(), **loads[["LLC-load-misses"]]),
    ):
        found = saved(frame, read_costs())["LLC misses"]
        assert found["percent"] is None and found["reason"]
        assert describe_misses([found])[0].startswith("Without LLC misses: not known, as ")
    assert not saved(counts, read_costs()) and not saved(few.drop(columns="cycles"), read_costs())
    assert not saved(few.assign(instructions=0.0), read_costs())


@given(st.lists(st.lists(st.floats(0, 50), min_size=3, max_size=3), min_size=2, max_size=4))
def test_each_saving_lies_in_its_interval_and_an_outer_cache_saves_no_less(ends):
    """Misses of a cache are misses of those before it; entries come with the last cache first."""
    names = ("low", "percent", "high")
    savings = [dict(zip(names, sorted(three), strict=True)) | {"reason": ""} for three in ends]
    consistent = _enforce_cache_inclusion(savings)
    assert all(row["low"] <= row["percent"] <= row["high"] for row in consistent)
    for behind, before in itertools.pairwise(consistent):
        assert all(behind[name] <= before[name] for name in names)
