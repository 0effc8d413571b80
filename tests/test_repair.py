"""The bench for repair: what it hides, what it holds back, and what it says of methods whose errors are known."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cmlib.experiments import repair

PUBLIC = Path(os.environ.get("CMLIB_PUBLIC", Path(__file__).parents[2] / "shared/public")).absolute()
MISSES = pd.DataFrame(
    {
        "a": 1000 + 100 * np.random.default_rng(0).normal(size=600).cumsum() ** 2,
        "b": 5e4 + 1e3 * np.random.default_rng(1).normal(size=600),
    }
)


def perf_output(counts, shares):
    """What `perf stat -I 1000 -x,` writes."""
    return "".join(
        f"{at + 1}.000000000,{counts[event].iloc[at]:.0f},,{event},1000,{100 * shares[event].iloc[at]:.2f},,\n"
        for at in range(len(counts))
        for event in counts
    )


@pytest.fixture
def counted(tmp_path):
    """A recording in which every event was on a counter all the time."""
    file = tmp_path / "counted.csv"
    cycles = MISSES.assign(cycles=1e6)[["cycles", "a", "b"]]
    file.write_text(perf_output(cycles, 0 * cycles + 1))
    return file


def test_what_perf_prints_errs_as_much_as_what_perf_prints(counted):
    judged = repair.score_method(lambda counts, shares: counts, [counted], name="same").set_index("method")
    assert list(judged.index) == ["perf", "lines", "counterminer", "same"]
    assert judged.at["same", "ratio"] == 1 and judged.at["same", "error"] == judged.at["perf", "error"] > 0
    assert judged["kind"].eq("replayed").all() and judged["series"].eq(2 * len(repair.ROTATIONS)).all()
    assert judged["covered"].isna().all()


def test_truth_is_judged_right_and_intervals_by_what_they_hold(counted):
    cases = iter(repair.cases(counted))

    def exact(counts, shares):
        truth = next(cases).truth.assign(cycles=counts["cycles"])[list(counts)]
        return truth + 1.0, truth * 0 + 1.0

    known = repair.score_method(exact, [counted], name="known").set_index("method").loc["known"]
    assert known["error"] < 0.1 * 100 and known["ratio"] < 0.1 and known["covered"] == 100
    off = (
        repair.score_method(lambda c, s: (c, 0.0 * c), [counted], name="sure").set_index("method").loc["sure"]
    )
    assert off["covered"] < 5 and off["noise"] == 0


def test_a_rotation_hides_what_had_no_turn(counted):
    slow = next(case for case in repair.cases(counted) if case.name == "2 groups, 1 slots")
    assert slow.counts["a"].notna().mean() == 0.5 and (slow.counts["cycles"] == 1e6).all()
    seen = slow.counts["a"].notna()
    pd.testing.assert_series_equal(slow.counts["a"][seen], slow.truth["a"][seen])


def test_what_shared_time_with_the_other_reading_is_held_back(tmp_path):
    names = ["L1-dcache-stores", "x", "y", "dTLB-stores", "z", "u", "v"]
    rng = np.random.default_rng(2)
    load = 1e6 * np.exp(0.1 * rng.normal(size=(200, 1)))
    counts = pd.DataFrame(load * np.exp(0.05 * rng.normal(size=(200, len(names)))), columns=names)
    file = tmp_path / "twice.csv"
    file.write_text(perf_output(counts, 0 * counts + 2 / 7))
    first, second = repair.cases(file)
    assert list(first.counts) == ["L1-dcache-stores", "x", "u", "v"] and list(first.truth) == names[:1]
    assert list(second.counts) == ["y", "dTLB-stores", "z", "u"]
    apart = (counts["L1-dcache-stores"] - counts["dTLB-stores"]).round()
    assert (first.error[names[0]] * np.sqrt(2)).mean() == pytest.approx(apart.std(), rel=0.2)
    judged = (
        repair.score_method(lambda c, s: (c, 0.05 * c), [file], name="told").set_index("method").loc["told"]
    )
    assert 85 < judged["covered"] < 95 and judged["kind"] == "second reading"


def test_a_run_is_compared_with_runs_of_few_events_at_the_same_progress(tmp_path):
    rate = pd.Series(1e4 + 5e3 * np.sin(np.arange(120) / 9))
    counts = pd.DataFrame({"instructions": 1e6, "a": rate})
    for number in range(2):
        (tmp_path / f"ocoe-p{number}.csv").write_text(perf_output(counts, 0 * counts + 1))
    fast = counts.iloc[::2] + counts.iloc[1::2].to_numpy()
    file = tmp_path / "mlpx.csv"
    file.write_text(perf_output(fast, pd.DataFrame({"instructions": 1, "a": 0.3}, fast.index)))
    (case,) = repair.cases(file)
    np.testing.assert_allclose(case.truth["a"], fast["a"], rtol=1e-3)
    assert (case.error["a"] < 2).all()


def test_lists_share_no_file_and_no_program():
    listed = repair.listed()
    assert not listed["file"].duplicated().any() and set(listed["kind"]) == {
        "replayed",
        "second reading",
        "few events",
    }
    tuning, judging = (listed[listed["list"] == name] for name in ("tuning", "judging"))
    assert len(tuning) + len(judging) == len(listed) and not set(tuning["program"]) & set(judging["program"])
    assert set(tuning["set"]) & set(judging["set"]) == {"own"}
    spec = listed["file"].str.extract(r"\b\d{3}\.([a-z]+)", flags=re.IGNORECASE)[0].dropna()
    assert (
        spec.str.lower() == listed.loc[spec.index, "program"].str.lower().str.extract("([a-z]+)")[0]
    ).all()


@pytest.mark.skipif(not (PUBLIC / "spec2000").is_dir(), reason="takes the folder CMLIB_PUBLIC")
def test_each_kind_of_public_file_is_told(monkeypatch):
    monkeypatch.setenv("CMLIB_PUBLIC", str(PUBLIC))
    chosen = repair.listed().groupby(["kind", "set"]).first().reset_index()
    for row in chosen.itertuples():
        judged = repair.score_method(lambda counts, shares: counts, [row.file])
        assert set(judged["kind"]) == {row.kind} and judged["error"].notna().all(), row.file


def test_ratios_have_intervals_over_programs():
    ratios = [("a", 0.5), ("b", 1.0), ("c", 1.0), ("c", 4.0)]
    rows = [
        ("replayed", program, f"{n}", "m", 1.0, ratio, 90.0, 5.0, 4)
        for n, (program, ratio) in enumerate(ratios)
    ]
    judged = pd.DataFrame(
        rows, columns=["kind", "program", "file", "method", "error", "ratio", "covered", "noise", "series"]
    )
    told = repair.ratios(judged).loc[("replayed", "m")]
    assert told["ratio"] == pytest.approx(1) and told["worst"] == pytest.approx(4)
    assert told["programs"] == 3 and told["files"] == 4 and told["least"] == 90
    assert 0.5 <= told["low"] < 1 < told["high"] <= 2
