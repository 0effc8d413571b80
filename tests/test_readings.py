"""Evidence that a single multiplexed run holds of its own errors, planted and found."""

import gzip
import os
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest

from cmlib.clean import estimate_counts, replay
from cmlib.experiments import readings
from cmlib.io import events, perf
from cmlib.io.recording import Recording
from tests.planted_series import multiplexed_run

PUBLIC = Path(os.environ.get("CMLIB_PUBLIC", Path(__file__).parents[2] / "shared/public"))
HASWELL = {"vendor": "GenuineIntel", "family": 6, "model": 63}
ZEN5 = {"vendor": "AuthenticAMD", "family": 26, "model": 2}


def slots_of(seed=0, n=1200, **also):
    """Counts of slots, of events that restlessly follow one activity."""
    rng = np.random.default_rng(seed)
    activity = np.exp(0.3 * rng.normal(size=n) + 0.3 * np.sin(np.arange(n) / 90))
    names = [
        "branches",
        "branch-misses",
        "branch-load-misses",
        "L1-dcache-stores",
        "LLC-loads",
        "dTLB-stores",
    ]
    scale = dict(zip(names, [9, 2, 2, 5, 1, 5], strict=True))
    counted = pd.DataFrame({name: 1e6 * scale[name] * activity for name in names}, np.arange(n) + 1.0)
    counted["task-clock"] = 25.0
    counted["ref-cycles"] = 2.5e6 * counted["task-clock"]
    return counted.assign(**also)


def run_of(hidden, machine=None, again=()):
    meta = {"machine": machine or {}, "groups": [[name] for name in hidden.counts], "program": "planted"}
    own = [name for name in hidden.counts if name not in again]
    interval = pd.Series(1.0, hidden.counts.index)
    return Recording(
        meta, hidden.counts[own], hidden.running[own], interval,
        hidden.counts[list(again)], hidden.running[list(again)],
    )  # fmt: skip


@pytest.fixture(scope="module")
def run():
    """Seven events in turns, one at a time, thirteen slots an interval, so that shares vary."""
    turning = [name for name in slots_of() if name != "task-clock"]
    return run_of(replay(slots_of(), [[name] for name in turning], slots=13), HASWELL)


def test_names_with_one_code_are_one_event():
    names = ["cpu-cycles", "branches", "branch-loads:u", "dTLB-loads", "L1-dcache-loads", "LLC-loads"]
    pairs = events.same_events(names, HASWELL)
    assert [pair[:2] for pair in pairs] == [("branches", "branch-loads:u"), ("dTLB-loads", "L1-dcache-loads")]
    assert all(pair.certain and pair.processors == ("intel_haswell",) for pair in pairs)
    assert [pair[:2] for pair in events.same_events(["ex_ret_brn", "branches", "r00c2"], ZEN5)] == [
        ("ex_ret_brn", "branches"), ("ex_ret_brn", "r00c2"), ("branches", "r00c2"),
    ]  # fmt: skip
    assert events.same_events(["LLC-loads", "LLC-stores", "node-loads"], HASWELL) == [], (
        "one code, two filters"
    )
    assert events.same_events(["dTLB-loads", "L1-dcache-loads"], ZEN5) == []


def test_of_an_unknown_machine_all_processors_are_looked_at_that_have_the_names():
    stores = ["L1-dcache-stores", "dTLB-stores"]
    (pair,) = events.same_events(stores)
    assert not pair.certain and "intel_sandybridge" not in pair.processors
    assert {"intel_haswell", "intel_icelake"} <= set(pair.processors)
    (pair,) = events.same_events([*stores, "iTLB-loads", "L1-icache-load-misses"])
    assert set(pair.processors) == {"intel_westmere", "intel_haswell", "intel_skylake"}
    assert (
        events.same_events(["a", "b"])
        == []
        == events.same_events(stores, {"vendor": "x", "family": 1, "model": 1})
    )


def test_two_names_of_one_event_are_found_and_how_far_apart_they_are(run):
    pairs = readings.readings(run).set_index("first")
    assert list(pairs["second"]) == ["branch-load-misses", "dTLB-stores"]
    assert pairs["apart"].to_dict() == {"branch-misses": 1, "L1-dcache-stores": 2}
    assert (pairs["shared"] == 0).all() and pairs["evidence"].all()
    a, b = run.counts["L1-dcache-stores"], run.counts["dTLB-stores"]
    off = 100 * np.mean(np.abs(a - b)) / np.mean((a + b) / 2)
    assert pairs.at["L1-dcache-stores", "off"] == pytest.approx(off)


def neighbours():
    """Two events on the counters at a time: each event shares half of its time with the next in the list."""
    names = [name for name in slots_of() if name not in ("task-clock", "ref-cycles")]
    turns = pd.DataFrame(0.0, slots_of().index, names)
    for place, name in enumerate(names):
        at = np.arange(len(turns)) % len(names)
        turns[name] = (at == place) | (at == (place + 1) % len(names))
    slots, shares = slots_of()[names], turns.groupby(np.arange(len(turns)) // 13).mean()
    counts = (slots * turns).groupby(np.arange(len(turns)) // 13).mean() / shares
    return run_of(pd.Series({"counts": counts, "running": shares}), HASWELL)


def test_neighbours_that_share_their_time_are_no_evidence():
    pairs = readings.readings(neighbours()).set_index("first")
    assert pairs["shared"].to_dict() == {"L1-dcache-stores": 0, "branch-misses": 50}
    assert pairs["evidence"].to_dict() == {"L1-dcache-stores": True, "branch-misses": False}


def test_names_that_may_be_one_event_must_agree_in_total(run):
    unknown = run_of(pd.Series({"counts": run.counts, "running": run.running}))
    assert len(readings.readings(unknown)) == 2
    run_off = run.counts.assign(**{"dTLB-stores": 1.2 * run.counts["dTLB-stores"]})
    assert list(
        readings.readings(run_of(pd.Series({"counts": run_off, "running": run.running})))["first"]
    ) == ["branch-misses"]


def test_second_readings_of_the_recorder_stand_where_they_took_turns():
    slots = slots_of()[["branches", "LLC-loads", "branch-misses"]].assign(last=slots_of(1)["LLC-loads"])
    slots["branches#2"] = slots["branches"]
    slots = slots[["branches", "LLC-loads", "branch-misses", "branches#2", "last"]]
    hidden = replay(slots, [[name] for name in slots], slots=12)
    pairs = readings.readings(run_of(hidden, HASWELL, again=["branches#2"]))
    assert pairs[["first", "second", "apart"]].to_numpy().tolist() == [["branches", "branches#2", 2]]
    assert pairs.at[0, "told_by"] == "counted twice by the recorder"


def test_groups_of_a_recording_are_told_apart_though_their_shares_agree():
    slots = slots_of()[["branches", "LLC-loads", "branch-misses", "L1-dcache-stores"]]
    slots["branches#2"] = slots["branches"]
    groups = [["branches", "LLC-loads"], ["branch-misses"], ["L1-dcache-stores", "branches#2"]]
    run = run_of(replay(slots, groups, slots=12), HASWELL, again=["branches#2"])
    run.meta["groups"] = groups
    assert (run.running.nunique() == 1).all()
    assert readings.readings(run)[["apart", "shared", "evidence"]].to_numpy().tolist() == [[1, 0, True]]


def test_sums_and_constants_are_evidence_as_well():
    names = ["ls_dispatch.ld_dispatch", "ls_dispatch.store_dispatch", "ls_dispatch.ld_st_dispatch"]
    slots = pd.DataFrame({name: slots_of(seed)["LLC-loads"] for seed, name in enumerate(names)})
    slots["ls_dispatch.all"] = slots.sum(axis=1)
    slots = slots.assign(**slots_of()[["task-clock", "ref-cycles"]])
    hidden = replay(slots, [[name] for name in slots if name != "task-clock"], slots=12)
    found = readings.evidence(run_of(hidden, ZEN5)).set_index("kind")
    whole = hidden.counts["ls_dispatch.all"]
    off = 100 * np.mean(np.abs(whole - hidden.counts[names].sum(axis=1)))
    assert found.at["exact sum", "off"] == pytest.approx(
        off / np.mean((whole + hidden.counts[names].sum(axis=1)) / 2)
    )
    assert found.at["constant", "what"] == "ref-cycles by task-clock"
    assert found.at["constant", "off"] == pytest.approx(0, abs=1e-9)
    said = readings.describe_evidence({"x": found.reset_index()}, {})["x"]
    assert said.startswith("`ls_dispatch.all` and `ls_dispatch.ld_dispatch + ")
    assert (
        "apart as printed; `ref-cycles by task-clock` does not change, and is printed with an error of 0 %."
        in said
    )


def test_without_evidence_one_sentence_says_what_more_it_takes():
    planted = multiplexed_run(60)
    nothing = readings.evidence(run_of(planted))
    assert nothing.empty
    said = readings.describe_evidence({"a": nothing, "b": nothing, "c": nothing}, {})[""]
    assert said.startswith("Nothing in the run of a, b and c tells") and "Name one event twice" in said


def test_a_reading_is_repaired_without_the_other_and_what_shared_its_time(run):
    judged = readings.judge_by_readings(run).set_index(["cleaned", "method"])
    printed = judged.xs("perf", level="method")
    npt.assert_allclose(printed["left"], 100)
    npt.assert_array_equal(printed["raw"], printed["off"])
    row = judged.loc[("dTLB-stores", "kalman")]
    without = [name for name in run.counts if name != "L1-dcache-stores"]
    cleaned = estimate_counts(run.counts[without], run.running[without])[0]["dTLB-stores"]
    other = run.counts["L1-dcache-stores"]
    assert row["off"] == pytest.approx(100 * (cleaned - other).abs().mean() / other.mean())
    assert 80 < row["covered"] <= 100 and readings.PERFECT - 5 < row["left"] < 95
    said = readings.describe_evidence({"x": readings.evidence(run)}, {"x": judged.reset_index()})["x"]
    assert f"one reading is {judged.xs('kalman', level='method')['left'].mean():.0f} % as far" in said


def test_a_perfect_cleaner_is_left_with_the_other_readings_error():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 100_000))
    assert 100 * np.abs(second).mean() / np.abs(first - second).mean() == pytest.approx(
        readings.PERFECT, rel=0.01
    )


def test_packet_processing_on_a_haswell_tells_of_its_errors():
    """The real recording, where it is on this machine; else one of its form."""
    file = PUBLIC / "intervals/nfv-haswell/3-vnf-independent-core-freq-1-all-fastclick.txt.gz"
    run = neighbours()
    if file.is_file():
        counts, running = perf.series(perf.parse_stat(gzip.decompress(file.read_bytes()).decode()))
        run = run_of(pd.Series({"counts": counts.iloc[:150], "running": running.iloc[:150]}))
    pairs = readings.readings(run).set_index("first")
    assert pairs["evidence"].to_dict() == {"L1-dcache-stores": True, "branch-misses": False}
    left = readings.judge_by_readings(run).groupby("method")["left"].mean()
    assert left["kalman"] < 97 and left["counterminer"] > 97 and left["lines"] > 90
