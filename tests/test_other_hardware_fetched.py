"""Sections of notebook 09a about recordings that are fetched: on what is made up here, and on the files themselves."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cmlib import public
from cmlib.public import content
from cmlib.study.public import counting, intruder, neighbours
from cmlib.study.public.reading import how_to_get
from cmlib.study.public.rows import pooled

fetched = pytest.mark.skipif(
    public.read("intervals/nfv-haswell/1-vnf-collocated-core-freq-1-all-fastclick.txt") is None
    or not (Path(os.environ.get("CMLIB_PUBLIC", "")) / "totals").is_dir(),
    reason="takes the folder CMLIB_PUBLIC with recordings whose licence lets nobody pass them on",
)


@pytest.fixture
def nothing_here(tmp_path, monkeypatch):
    monkeypatch.delenv("CMLIB_PUBLIC", raising=False)
    monkeypatch.setattr(content, "cache_dir", lambda: tmp_path)


def test_what_is_not_here_is_left_out_with_the_command_that_has_it(nothing_here):
    assert neighbours.recorded() == {} and intruder.recorded() == {} and counting.measured() is None
    assert neighbours.judge_cleaning(["joint"]).empty
    assert "`cmlib fetch nfv-haswell`" in how_to_get(neighbours.SET)


def polled(seed, *, of=("a", "b")):
    """A recording of six events, of which some explain IPC."""
    rng = np.random.default_rng(seed)
    counts = pd.DataFrame(rng.uniform(1e6, 2e6, (240, 6)).round(), columns=list("abcdef"))
    counts["instructions"] = 1e9
    counts["cycles"] = 1e9 + sum(500 * weight * counts[event] for weight, event in enumerate(reversed(of), 1))
    return pooled([counts.set_axis(pd.Index(np.arange(1.0, 241), name="time_s"))])


@pytest.mark.slow
def test_rankings_change_with_what_differs_and_hardly_between_halves():
    recordings = {
        (chain, place): polled(seed, of="abcd" if place == "collocated" else "fedc")
        for seed, (chain, place) in enumerate([(c, p) for c in "13" for p in ("collocated", "independent")])
    }
    kendall = neighbours.agreement(recordings)["kendall"]
    assert kendall["nothing: halves of a recording"] > 0.6 and kendall["the chain"] > 0.6
    assert kendall["perf's core"] < 0
    told = neighbours.describe(recordings)
    assert told.loc[("1", "collocated"), "first events"].startswith("a, b")
    assert (told["error"] < told["mean"] / 2).all()


def windows(rng, n, *, more=1.0):
    return [
        pd.DataFrame({"misses": rng.normal(1, 0.1, 20), "interrupts": more * rng.normal(5, 0.1, 20)}).assign(
            function="system", location=""
        )
        for _ in range(n)
    ]


@pytest.mark.slow
def test_a_planted_attack_is_found_and_normal_runs_are_not():
    rng = np.random.default_rng(0)
    recordings = {
        ("quiet", "normal"): windows(rng, 24),
        ("quiet", "normal-1"): windows(rng, 8),
        ("quiet", "spectre-v1"): windows(rng, 8, more=2),
    }
    judged = intruder.judge(recordings).set_index("what")
    assert judged.loc["spectre-v1", ["attack", "runs", "anomalous", "beyond"]].tolist() == [True, 8, 8, 8]
    assert judged.loc[["normal", "normal-1"], "runs"].tolist() == [12, 8]
    assert judged.loc[["normal", "normal-1"], ["anomalous", "beyond"]].sum().sum() <= 1


def test_an_event_is_exact_if_every_run_counted_what_was_expected(tmp_path, monkeypatch):
    rows = [
        "machine,section,expected,raw_average,raw_pm,raw_diff,all_values",
        "one,Branches,1000000,1000000,0,0,1000000;1000000",
        "two,Branches,1000000,1000100,0,100,1000100;1000100",
        "three,Branches,1000000,1000000,50,0,999950;1000050",
        "one,Uops,0,5,0,5,5;5",
    ]
    file = tmp_path / "totals/deterministic/expected.csv"
    file.parent.mkdir(parents=True)
    file.write_text("\n".join(rows))
    monkeypatch.setenv("CMLIB_PUBLIC", str(tmp_path))
    told = counting.exactness(counting.measured())
    assert told.index.tolist() == ["Branches"]
    assert told.loc["Branches"].tolist() == pytest.approx([3, 1, 2, 0, 100])


@fetched
def test_where_perf_runs_changes_no_ipc():
    ipc = neighbours.describe(neighbours.recorded())["IPC"].unstack("perf's core")
    assert len(ipc) == 3 and (ipc["collocated"] - ipc["independent"]).abs().max() < 0.01


@fetched
@pytest.mark.slow
def test_joint_cleaning_brings_two_names_of_an_event_nearer_in_the_mean_and_apart_in_no_file():
    left = neighbours.judge_cleaning(["joint"]).groupby("file")["left"].mean()
    assert left.mean() < 92 and left.max() <= 100 + 1e-6


@fetched
def test_most_events_counted_by_hand_are_not_exact():
    told = counting.exactness(counting.measured())
    assert told.loc["Retired Instructions", "exact"] == 0
    assert told.loc["Conditional Branches", "exact"] > told.loc["Conditional Branches", "machines"] / 2
