"""The account with bounds: planted shares lie within, real accounts too, and no pass contradicts another."""

import itertools
import os
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.signal import lfilter

from cmlib import places, topdown
from cmlib.clean import replay
from cmlib.io.archive import read_content, read_object
from cmlib.io.meaning.stored import read_stored
from cmlib.topdown import bounds, find_bottleneck, phases, read_costs, totals
from cmlib.topdown.costs import common
from tests.perf_output import GOLDEN

ZEN5 = read_costs("amd_zen5")
PROGRAMS = ["bzip2", "gcc", "kmeans", "wordcount"]
LEVEL_1 = ["retired", "bad speculation", "front end", "back end"]
TREE = common()["parts"] | common()["more"]
WAYS = Path(os.environ.get("CMLIB_PUBLIC", "")) / "totals/cache-ways/metrics.csv.gz"


def recorded(program, run):
    file = places.recordings_dir() / program / f"{run}.json"
    meta = read_object(file, "a run", "")
    run = read_stored(read_content(file, meta["sha256"]), meta)
    return run.counts, run.running


def known_programs():
    """Events per cycle of programs in all of their recordings: a row an event, a column a program."""
    return pd.read_csv(GOLDEN / "accounts/amd_zen5.csv", index_col="event") / 1000


def accounts():
    """Level 1 of the programs whose account is known, a row a program."""
    found = topdown.account(known_programs().T, topdown.read_table("amd_zen5"))
    return found.level()[LEVEL_1]


def of(rates, error=0.0):
    return pd.DataFrame({"rate": pd.Series(rates, dtype=float), "error": error})


@pytest.mark.parametrize("name", [*topdown.known_costs(), "unknown"])
def test_every_processors_costs_are_whole(name):
    costs = read_costs(name)
    assert costs.source and 0 < costs.width[0] <= costs.width[1]
    for kind in filter(None, costs.kinds.values()):
        for categories, (least, most) in common()["kinds"][kind].items():
            assert set(categories.split(" + ")) <= set(itertools.chain(*TREE.values()))
            low, high = costs.cycles(least)[0], costs.cycles(most)[1]
            assert 0 <= low <= high
    assert set(costs.decide) <= {*topdown.LOSSES, "with"}


def test_generic_names_are_what_each_processor_counts():
    assert {
        read_costs(name).kind("cache-misses") for name in ("intel_haswell", "amd_zen5", "arm_cortex_a15")
    } == {
        "L3 miss",
        "L2 miss",
        "L1D miss",
    }
    assert read_costs("intel_westmere").kind("stalled-cycles-frontend") == "cycle without issue"
    assert not common()["kinds"][read_costs().kind("stalled-cycles-backend")]
    assert ZEN5.kind("LLC-load-misses:u") == ZEN5.kind("llc_load_misses") == "L3 miss"


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("run", ["mlpx12-p0-00", "mlpx12-p1-00"])
def test_one_pass_alone_bounds_the_account_of_all_recordings_and_names_what_it_names(program, run):
    found = totals([recorded(program, run)])
    told = bounds(found, ZEN5)
    truth = accounts().loc[program]
    assert (told.shares.loc[LEVEL_1, "low"] <= truth).all() and (
        truth <= told.shares.loc[LEVEL_1, "high"]
    ).all()
    assert not told.exact and not told.contradiction
    verdict = find_bottleneck(told, found, ZEN5)
    largest = truth[list(topdown.LOSSES)].idxmax()
    assert largest in verdict.limits
    assert "de_no_dispatch_per_slot.backend_stalls" in {event["name"] for event in verdict.deciding_events}


@pytest.mark.parametrize("program", PROGRAMS)
def test_where_all_events_are_there_it_is_the_account(program):
    rates = of(known_programs()[program], error=0.01)
    told, truth = bounds(rates, ZEN5), accounts().loc[program]
    assert told.exact
    npt.assert_array_less(told.shares.loc[LEVEL_1, "low"] - 1e-9, truth)
    npt.assert_array_less(truth, told.shares.loc[LEVEL_1, "high"] + 1e-9)
    assert (told.shares["high"] - told.shares["low"]).loc[LEVEL_1].max() < 0.02
    verdict = find_bottleneck(told, rates, ZEN5)
    assert verdict.certainty == "counted" and truth[list(topdown.LOSSES)].idxmax() in verdict.limits


def planted(seed):
    """Shares of every category that add up, and events that cost between the least and the most of theirs."""
    rng = np.random.default_rng(seed)
    share = {"all": 1.0}
    for parent, parts in TREE.items():
        split = rng.dirichlet(np.ones(len(parts) + (parent in common()["more"])))
        share |= {part: share[parent] * one for part, one in zip(parts, split, strict=False)}
    rates = {}
    for event in ["ex_ret_brn_misp", "bp_redirects.resync", "de_op_queue_empty", "de_src_op_disp.all", "ex_div_busy",
                  "l2_cache_req_stat.ls_rd_blk_c", "ls_l1_d_tlb_miss.all", "L1-dcache-load-misses",
                  "L1-icache-load-misses", "LLC-load-misses", "bp_l1_tlb_miss_l2_tlb_miss.all"]:  # fmt: skip
        least = []
        for categories, (_, most) in common()["kinds"][ZEN5.kind(event)].items():
            cost = ZEN5.cycles(most)[1]
            least.append(sum(share[name] for name in categories.split(" + ")) / cost)
        exact = event in ("de_op_queue_empty", "de_src_op_disp.all")
        rates[event] = max(least) * (1.0 if exact else rng.uniform(1, 3))
    rates["instructions"] = share["retired"] / ZEN5.cycles("slot")[0] * rng.uniform(0.5, 1.0)
    return share, rates


@given(seed=st.integers(0, 10_000), kept=st.sets(st.integers(0, 11)))
def test_planted_shares_lie_within_and_more_events_never_widen(seed, kept):
    share, rates = planted(seed)
    some = {event: rate for number, (event, rate) in enumerate(rates.items()) if number in kept}
    without, everything = bounds(of(some), ZEN5), bounds(of(rates), ZEN5)
    for told in (without, everything):
        assert told.contradiction == 0
        truth = pd.Series(share)[told.shares.index]
        rare = "pipeline restarts" if "bp_redirects.resync" not in some else None
        if rare is None or told is everything:
            npt.assert_array_less(told.shares["low"], truth + 1e-6)
            npt.assert_array_less(truth, told.shares["high"] + 1e-6)
    if "bp_redirects.resync" in some:
        npt.assert_array_less(without.shares["low"], everything.shares["low"] + 1e-5)
        npt.assert_array_less(everything.shares["high"], without.shares["high"] + 1e-5)


def test_what_mispredictions_surely_cost_is_not_all_of_bad_speculation():
    """Pipeline restarts that nobody counted may be part of it."""
    printed = {"retired": 0.5, "bad speculation": 0.2, "front end": 0.1, "back end": 0.2}
    low, high = bounds(of({"cycles": 1.0}), ZEN5, printed=printed).shares.loc[
        "mispredicted branches", ["low", "high"]
    ]
    assert low == 0 and high == pytest.approx(0.2, abs=0.01)


def test_printed_shares_are_not_used_where_level_1_was_counted():
    rates = {"slots": 6.0, "topdown-retiring": 2.4, "topdown-bad-spec": 0.6}
    rates |= {"topdown-fe-bound": 1.8, "topdown-be-bound": 1.2}
    printed = {"retired": 0.4, "bad speculation": 0.1, "front end": 0.2, "back end": 0.3}
    told = bounds(of({"cycles": 1.0} | rates), read_costs(), printed=printed)
    assert told.exact and not told.printed and not told.disputed
    assert told.shares.at["front end", "low"] == pytest.approx(0.3)


@pytest.mark.parametrize("name", ["unknown", "intel_icelake"])
@pytest.mark.parametrize("error", [0.0, 0.1])
def test_intels_four_categories_are_shares_of_their_sum_where_it_is_near_the_slots(name, error):
    costs, rates = read_costs(name), {"topdown-retiring": 2.5, "topdown-bad-spec": 0.5}
    rates |= {"topdown-fe-bound": 1.0, "topdown-be-bound": 1.2}
    near, off = (bounds(of({"slots": slots} | rates, error), costs) for slots in (5.0, 9.0))
    at = near.shares.loc[LEVEL_1, ["low", "high"]].mean(axis=1)
    npt.assert_allclose(at, np.array([2.5, 0.5, 1.0, 1.2]) / 5.2, atol=1e-6)
    assert (near.shares.loc[LEVEL_1, "high"] > at).all() == (error > 0)
    assert near.gap == 0 and off.gap == pytest.approx(5.2 / 9 - 1)


@pytest.mark.parametrize(("bad", "error", "certainty"), [(1.4, 0.1, "counted"), (1.0, 0.9, "open")])
def test_counted_categories_are_about_as_much_only_if_none_may_be_small(bad, error, certainty):
    rates = {"cycles": 1.0, "slots": 6.0, "topdown-retiring": 2.9 - bad, "topdown-bad-spec": bad}
    counts = of(rates | {"topdown-fe-bound": 1.6, "topdown-be-bound": 1.5})
    counts.loc[["topdown-bad-spec", "topdown-fe-bound", "topdown-retiring"], "error"] = error, 0.15, 0.3
    assert find_bottleneck(bounds(counts, read_costs()), counts, read_costs()).certainty == certainty


@pytest.mark.parametrize(
    ("shares", "is_used"),
    [((0.16, 0.02, 0.1, 0.75), True), ((0.19, 0.02, 0.1, 0.75), False), ((0.1, 0.0, 0.2, 0.5), False)],
)
def test_printed_shares_are_used_if_they_add_up(shares, is_used):
    printed = dict(zip(("retired", "bad speculation", "front end", "back end"), shares, strict=True))
    told = bounds(of({"cycles": 1.0}), ZEN5, printed=printed)
    assert told.printed is is_used
    assert told.printed_gap == pytest.approx(0 if is_used else sum(shares) - 1)
    assert told.disputed == ({} if is_used else printed)
    assert find_bottleneck(told, of({"cycles": 1.0}), ZEN5).certainty == ("counted" if is_used else "open")


@given(seed=st.integers(0, 10_000), kept=st.sets(st.integers(0, 11), min_size=1))
def test_bounds_are_never_narrower_than_a_linear_program_s(seed, kept):
    """The same inequalities, solved for the least and the most of each category."""
    _, rates = planted(seed)
    rates = {event: rate for number, (event, rate) in enumerate(rates.items()) if number in kept}
    rates["bp_redirects.resync"] = 0.5
    told = bounds(of(rates), ZEN5).shares
    names = ["all", *told.index]
    rows, limits = [], []
    for parent, parts in TREE.items():
        rows.append([(name in parts) - (name == parent) for name in names])
        limits.append(0.0)
        if parent in common()["parts"]:
            rows.append([-one for one in rows[-1]])
            limits.append(0.0)
    for event, rate in rates.items():
        if event == "instructions":
            rows += [[(n == "retired") for n in names], [-(n == "retired") for n in names]]
            limits += [min(1, 2 * rate / 8), -0.5 * rate / 8]
            continue
        for categories, (least, most) in common()["kinds"][ZEN5.kind(event)].items():
            inside = [float(name in categories.split(" + ")) for name in names]
            rows += [inside, [-one for one in inside]]
            limits += [min(1, rate * ZEN5.cycles(most)[1]), -rate * ZEN5.cycles(least)[0]]
            if ZEN5.kind(event) == "misprediction":
                rows.append([-float(name in ("mispredicted branches", "branch resteers")) for name in names])
                limits.append(-rate * ZEN5.restart[0])
    for category in LEVEL_1:
        for sign, column in ((1, "low"), (-1, "high")):
            cost = [sign * (name == category) for name in names]
            solved = linprog(cost, rows, limits, [[int(name == "all")] * 1 for name in names][:0] or None,
                             bounds=[(1, 1) if name == "all" else (0, 1) for name in names])  # fmt: skip
            assert solved.status == 0
            best = sign * solved.fun
            assert sign * (told.at[category, column] - best) <= 1e-5


def test_the_front_end_is_decided_where_half_of_the_cycles_had_no_op():
    rates = of({"instructions": 1.0, "de_op_queue_empty": 0.6})
    told = bounds(rates, ZEN5)
    assert find_bottleneck(told, rates, ZEN5).certainty == "decided"
    assert find_bottleneck(told, rates, ZEN5).limits == ("front end",)
    rates = of({"instructions": 1.0, "de_op_queue_empty": 0.2})
    verdict = find_bottleneck(bounds(rates, ZEN5), rates, ZEN5)
    assert verdict.certainty == "open" and set(verdict.limits) == set(topdown.LOSSES)
    rates = of({"instructions": 7.0, "branches": 0.5})
    assert find_bottleneck(bounds(rates, ZEN5), rates, ZEN5).certainty == "little lost"


def test_two_losses_of_exactly_the_same_size_both_limit_the_program():
    rates = {"slots": 4.0, "topdown-retiring": 1.0, "topdown-bad-spec": 0.5}
    counts = of(rates | {"topdown-fe-bound": 1.25, "topdown-be-bound": 1.25})
    verdict = find_bottleneck(bounds(counts, read_costs()), counts, read_costs())
    assert verdict.certainty == "counted" and set(verdict.limits) == {"front end", "back end"}


def test_counts_that_contradict_each_other_are_told():
    rates = of({"de_no_dispatch_per_slot.no_ops_from_frontend": 4.0, "de_op_queue_empty": 0.9})
    told = bounds(rates, ZEN5)
    assert told.contradiction > 0.1
    assert (told.shares["low"] <= told.shares["high"]).all()


def test_a_total_is_weighted_by_how_much_of_each_interval_was_counted():
    rng = np.random.default_rng(0)
    index = pd.Index(np.arange(1, 201) / 10, name="time_s")
    counts = pd.DataFrame({"cycles": rng.uniform(1e8, 2e8, 200)}, index)
    counts["a"] = 0.3 * counts["cycles"]
    counts["b"] = 0.01 * counts["cycles"] * rng.uniform(0.5, 1.5, 200)
    running = pd.DataFrame({"cycles": 1.0, "a": 1.0, "b": rng.uniform(0.1, 0.4, 200)}, index)
    counts.loc[index[7], "b"], running.loc[index[7], "b"] = 5e12, 0.01
    found = totals([(counts, running)])
    npt.assert_allclose(found.at["a", "rate"], 0.3)
    assert found.at["a", "error"] == 0 and found.at["b", "dropped"] == 1
    assert abs(found.at["b", "rate"] / 0.01 - 1) < found.at["b", "error"] < 0.1


@given(st.floats(0.1, 1000))
def test_a_longer_unit_of_time_changes_no_total(factor):
    counts, running = recorded("gcc", "mlpx12-p0-00")
    counts, running = counts.iloc[:40], running.iloc[:40]
    slower = counts.set_axis(counts.index * factor)
    pd.testing.assert_frame_equal(
        totals([(counts, running)]), totals([(slower, running.set_axis(slower.index))])
    )


def test_the_error_of_a_total_is_the_size_of_what_passes_differ_by():
    """Ten events of two passes of gcc, multiplexed: differences of 1 to 4 %, but for fills from memory."""
    one, other = (totals([recorded("gcc", f"mlpx12-p{number}-00")]) for number in (0, 1))
    apart = (
        (one["rate"] / other["rate"])
        .apply(np.log)
        .abs()
        .drop(["instructions", "ls_any_fills_from_sys.dram_io_near"])
    )
    expected = np.hypot(one["error"], other["error"])[apart.index]
    assert 0.3 < (apart / expected).median() < 3


def test_levels_are_perf_stats_and_phases_tell_what_differs():
    index = pd.Index(np.arange(1.0, 101.0), name="time_s")
    slow = (index > 60) & (index <= 90)
    counts = pd.DataFrame({"task-clock": 1000.0, "context-switches": 50.0}, index)
    counts["cycles"] = np.where(slow, 2e9, 3e9)
    counts["instructions"] = np.where(slow, 3e9, 4e9)
    told = topdown.levels(counts)
    assert told["seconds"] == 100 and told["CPUs"] == 1 and told["switches"] == 50
    npt.assert_allclose([told["GHz"], told["instructions a cycle"]], [2.7, 370 / 270])
    found = topdown.phases(counts)
    npt.assert_allclose(found[["start", "end"]], [[0, 60], [60, 90], [90, 100]])
    npt.assert_allclose(found["GHz"], [3, 2, 3])
    assert "switches" not in found and found["instructions a cycle"].iloc[1] == 1.5
    assert topdown.phases(counts[~slow].iloc[:50]).empty


@pytest.mark.skipif(
    not WAYS.is_file(), reason="takes the folder CMLIB_PUBLIC with recordings nobody may pass on"
)
def test_no_program_of_605_stalls_longer_for_a_miss_than_its_latency():
    """SPEC on a Skylake server with 1 to 11 ways of cache, each alone: stalls by misses of the L3, and of the L2."""
    measured, costs = pd.read_csv(WAYS), read_costs("intel_skylake")
    stalls = measured["stalls_l3_miss"] / (measured["llcmpkc"] / 1000).where(lambda misses: misses > 0)
    assert stalls.max() < costs.cycles("memory", ghz=2.2)[1]
    hits = (measured["stalls_l2_miss"] - measured["stalls_l3_miss"]) * 1000
    most = costs.cycles("L3")[1] * (measured["llcrpkc"] - measured["llcmpkc"]).clip(lower=0)
    most += costs.cycles("memory", ghz=2.2)[1] * measured["llcmpkc"]
    assert (hits <= most + 1e-9).all()


@pytest.mark.parametrize("n, correlation", [(20, 0), (60, 0), (60, 0.7), (200, 0.9)])
def test_intervals_that_differ_by_chance_are_one_phase(n, correlation):
    """Also where neighbours are alike (AR(1)), of which all were cut when noise was told by neighbours alone."""
    chance = np.random.default_rng(1)
    several = 0
    for _ in range(10):
        noise = lfilter([1], [1, -correlation], chance.normal(0, 0.05, (n + 100, 2)), axis=0)[100:]
        noise *= np.sqrt(1 - correlation**2)
        ends = np.arange(1, n + 1) * 0.1
        counts = pd.DataFrame(1e8 * (1 + noise), ends, ["instructions", "cycles"])
        several += len(phases(counts)) > 0
    assert several <= 2
    counts.iloc[n // 2 :, 0] *= 2
    assert len(phases(counts)) == 2


def test_printed_shares_that_counts_contradict_are_not_used():
    printed = {"retired": 0.6, "bad speculation": 0.12, "front end": 0.25, "back end": 0.03}
    rates = {"cycles": 1.0, "instructions": 2.4, "branch-misses": 2e-4}
    told = bounds(of(rates), read_costs(), printed=printed)
    assert not told.printed and told.disputed == printed
    assert told.shares.equals(bounds(of(rates), read_costs()).shares)


def test_the_error_of_a_total_counts_intervals_in_which_an_event_was_not_counted():
    """Groups that take turns by whole intervals: shares are 0 or 1, and the error was once taken for 0."""
    counts, _ = recorded("gcc", "ocoe-p0-00")
    counts = counts.fillna(0)
    turning = [event for event in counts if event not in ("instructions", "cycles")]
    truth = counts[turning].sum() / counts["cycles"].sum()
    held = []
    for phase in range(4):
        hidden = replay(counts, [turning, [], [], []], phase=phase)
        found = totals([(hidden.counts, hidden.running)]).loc[turning]
        assert (found["error"] > 0).all()
        held += list((found["rate"] / truth - 1).abs() <= found["error"])
    assert np.mean(held) >= 0.8
