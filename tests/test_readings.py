"""Evidence that a single multiplexed run holds of its own errors, planted and found."""

import gzip
import os
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest

from cmlib.clean import estimate_counts, replay
from cmlib.experiments import repair
from cmlib.io import events, perf

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


def pairs_of(hidden, groups=(), machine=HASWELL):
    cases = repair.twice_counted(hidden.counts, hidden.running, groups, machine)
    return [tuple(case.name.split(" by ")) for case in cases]


@pytest.fixture(scope="module")
def run():
    """Seven events in turns, one at a time, thirteen slots an interval, so that shares vary."""
    turning = [name for name in slots_of() if name != "task-clock"]
    return replay(slots_of(), [[name] for name in turning], slots=13)


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


BOTH = [("branch-misses", "branch-load-misses"), ("branch-load-misses", "branch-misses"),
        ("L1-dcache-stores", "dTLB-stores"), ("dTLB-stores", "L1-dcache-stores")]  # fmt: skip


def test_two_names_of_one_event_are_repaired_one_without_the_other(run):
    assert pairs_of(run) == BOTH
    case = next(case for case in repair.twice_counted(run.counts, run.running, (), HASWELL)
                if case.name == "dTLB-stores by L1-dcache-stores")  # fmt: skip
    assert "L1-dcache-stores" not in case.counts
    pd.testing.assert_series_equal(case.truth["dTLB-stores"], run.counts["L1-dcache-stores"],
                                   check_names=False)  # fmt: skip


def neighbours():
    """Two events on the counters at a time: each event shares half of its time with the next in the list."""
    names = [name for name in slots_of() if name not in ("task-clock", "ref-cycles")]
    turns = pd.DataFrame(0.0, slots_of().index, names)
    for place, name in enumerate(names):
        at = np.arange(len(turns)) % len(names)
        turns[name] = (at == place) | (at == (place + 1) % len(names))
    slots, shares = slots_of()[names], turns.groupby(np.arange(len(turns)) // 13).mean()
    counts = (slots * turns).groupby(np.arange(len(turns)) // 13).mean() / shares
    return pd.Series({"counts": counts, "running": shares})


def test_neighbours_that_share_their_time_are_no_evidence():
    assert pairs_of(neighbours()) == BOTH[2:]


def test_names_that_may_be_one_event_must_agree_in_total(run):
    assert pairs_of(run, machine=None) == BOTH
    off = run.counts.assign(**{"dTLB-stores": 1.2 * run.counts["dTLB-stores"]})
    assert pairs_of(pd.Series({"counts": off, "running": run.running}), machine=None) == BOTH[:2]


def test_second_readings_of_the_recorder_are_one_event():
    slots = slots_of()[["branches", "LLC-loads", "branch-misses"]].assign(last=slots_of(1)["LLC-loads"])
    slots["branches#2"] = slots["branches"]
    slots = slots[["branches", "LLC-loads", "branch-misses", "branches#2", "last"]]
    hidden = replay(slots, [[name] for name in slots], slots=12)
    assert ("branches#2", "branches") in pairs_of(hidden)


def test_groups_of_a_recording_are_told_apart_though_their_shares_agree():
    slots = slots_of()[["branches", "LLC-loads", "branch-misses", "L1-dcache-stores"]]
    slots["branches#2"] = slots["branches"]
    groups = [["branches", "LLC-loads"], ["branch-misses"], ["L1-dcache-stores", "branches#2"]]
    hidden = replay(slots, groups, slots=12)
    assert (hidden.running.nunique() == 1).all()
    assert ("branches#2", "branches") in pairs_of(hidden, groups)


def test_a_reading_is_judged_by_the_other_as_printed(run):
    cases = repair.twice_counted(run.counts, run.running, (), HASWELL)
    cells = repair.score_cases({"shrinkage": estimate_counts}, cases).set_index(["event", "method"])
    npt.assert_allclose(cells.xs("perf", level="method")["ratio"], 1)
    row = cells.loc[("dTLB-stores", "shrinkage")]
    without = [name for name in run.counts if name != "L1-dcache-stores"]
    cleaned = estimate_counts(run.counts[without], run.running[without])[0]["dTLB-stores"]
    other = run.counts["L1-dcache-stores"]
    assert row["error"] == pytest.approx(100 * (cleaned - other).abs().mean() / other.mean())
    assert 80 < row["covered"] <= 100 and 100 / np.sqrt(2) - 5 < 100 * row["ratio"] < 98


def test_packet_processing_on_a_haswell_tells_of_its_errors():
    """The real recording, where it is on this machine; else one of its form."""
    file = PUBLIC / "intervals/nfv-haswell/3-vnf-independent-core-freq-1-all-fastclick.txt.gz"
    run = neighbours()
    if file.is_file():
        counts, running = perf.series(perf.parse_stat(gzip.decompress(file.read_bytes()).decode()))
        run = pd.Series({"counts": counts.iloc[:150], "running": running.iloc[:150]})
    assert pairs_of(run, machine=None) == BOTH[2:]
    cases = repair.twice_counted(run.counts, run.running)
    left = repair.score_cases({"shrinkage": estimate_counts}, cases).groupby("method")["ratio"].mean()
    assert left["shrinkage"] < 0.985 and left["lines"] > 0.9
