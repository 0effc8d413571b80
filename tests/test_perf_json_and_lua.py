"""What APerf and google-benchmark write, and counters as statements of Lua or Python."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cmlib.io import perf
from cmlib.io.archive.programs import RecordError
from cmlib.io.imports import import_files
from tests.perf_output import GOLDEN, golden

COUNT = st.integers(0, 10**12)

# --- APerf

METRICS = {
    "stall-backend-pkc": "stall-backend",
    "branch-mpki": "branch-misses",
    "inst-tlb-tw-pki": "inst-tlb-tw",
}
PAIR = st.tuples(st.integers(0, 10**9), st.integers(1, 10**9))


@given(
    st.lists(st.lists(st.tuples(PAIR, PAIR, PAIR, PAIR), min_size=1, max_size=3), min_size=1, max_size=3),
    st.sampled_from(["", ".089", ".089998", ".089998820"]),
)
def test_aperfs_metrics_are_their_ratios_of_cycles_or_instructions(seconds, fraction):
    """Of several CPUs; each metric was counted at other times than the others."""
    text = ""
    for number, cpus in enumerate(seconds):
        lines = [
            f"{cpu} {name}; {above} {cpu}; {below};1000"
            for cpu, pairs in enumerate(cpus)
            for name, (above, below) in zip(["ipc", *METRICS], pairs, strict=True)
        ]
        lengths = "\x07\0\0\0\0\0\0\0\x1e\0\0\0\0\0\0\0", "\udcb3\x1e\0\0\0\0\0\0"
        text += f"{lengths[0]}2026-01-30T08:27:3{number}{fraction}Z{lengths[1]}" + "\n".join(lines) + "\n"
    counts, running = perf.series(perf.parse_stat(text))
    assert counts.index.tolist() == list(range(1, len(seconds) + 1)) and running.isna().all(axis=None)
    for (_, row), cpus in zip(counts.iterrows(), seconds, strict=True):
        (ipc_above, ipc_below), *sums = (np.sum(cpus, axis=0) + [sum(range(len(cpus))), 0]).tolist()
        assert (row["instructions"], row["cycles"]) == (ipc_above, ipc_below)
        for (metric, event), (above, below) in zip(METRICS.items(), sums, strict=True):
            assert row[event] == pytest.approx(
                above / below * (ipc_below if metric.endswith("pkc") else ipc_above)
            )


def test_a_file_of_aperf_is_read(tmp_path):
    """Three seconds of two CPUs of sixteen."""
    content = (GOLDEN / "elsewhere/aperf-graviton.bin").read_bytes()
    (made,) = import_files("a", [GOLDEN / "elsewhere/aperf-graviton.bin"], folder=tmp_path)
    counts, _ = perf.read_run(content.decode(errors="replace"), json.loads(made.read_text()))
    assert counts.shape == (3, 15) and counts["instructions"].iloc[0] == 88892966 + 2867383


# --- google-benchmark


@given(
    st.lists(
        st.tuples(st.sampled_from(["BM_a/8", "BM_b<int>"]), st.integers(1, 10**6), COUNT, COUNT),
        min_size=1,
        max_size=5,
    )
)
def test_repetitions_of_google_benchmark_are_runs(runs):
    entries = [
        {"name": name, "run_type": "iteration", "iterations": n, "real_time": 2.5, "time_unit": "us"}
        | {"CYCLES": cycles, "INSTRUCTIONS": instructions, "bytes_per_second": 1.5, "threads": 1}
        for name, n, cycles, instructions in runs
    ]
    entries.append(
        {"name": "BM_a_mean", "run_type": "aggregate", "iterations": 1, "real_time": 2.5, "CYCLES": 5}
    )
    for one in perf.totals(json.dumps({"context": {}, "benchmarks": entries}, indent=2)):
        own = [run for run in runs if run[0].replace("/", "-") == one.command]
        counts, running = perf.series(perf.as_intervals(one))
        assert_allclose(
            counts[["CYCLES", "INSTRUCTIONS"]], [(n * cycles, n * done) for _, n, cycles, done in own]
        )
        assert_allclose(one.seconds, [2.5e-6 * n for _, n, _, _ in own])
        assert running["CYCLES"].isna().all()
        (again,) = perf.totals(one.text)
        assert again.table.to_pandas().equals(one.table.to_pandas())


def test_benchmarks_are_programs_whose_shares_are_unknown(tmp_path):
    made = import_files("lib", [GOLDEN / "elsewhere/google-benchmark.json"], folder=tmp_path)
    assert [file.parent.name for file in made] == ["lib-BM_Sort_int_1024", "lib-BM_Copy"]
    meta = json.loads(made[0].read_text())
    assert meta["mode"] == "unknown" and meta["running_shares"] is False
    assert meta["names"] == {"CYCLES": "cycles", "INSTRUCTIONS": "instructions"}
    assert "no running shares" in meta["note"] and "name no event are left out: swaps" in meta["note"]


# --- statements of Lua and Python


@st.composite
def statements(draw):
    """Counters of two places and two events that run on, and what was counted between samples."""
    n, quote = draw(st.integers(1, 4)), draw(st.sampled_from("\"'"))
    steps = np.array(draw(st.lists(st.lists(COUNT, min_size=4, max_size=4), min_size=n, max_size=n)))
    begins = np.array(draw(st.lists(COUNT, min_size=4, max_size=4)))
    series = [
        f"core_counts[{cpu}][{quote}{event}{quote}]"
        for cpu in (0, 1)
        for event in ("INST_RETIRED.ANY", "X.Y")
    ]
    lines = ["nr_cpus = 2", "IA32_FIXED_CTR_CTRL[0] = 0x333"]
    for sample, values in enumerate(np.vstack([begins, begins + np.cumsum(steps, axis=0)])):
        lines += [f"walltime[0][{sample}] = {1532379481 + sample}", f"walltime[1][{sample}] = {100 * sample}"]
        lines += [f"{name}[{sample}] = {value}" for name, value in zip(series, values, strict=True)]
    return "\n".join(lines) + "\n", steps


@given(statements())
def test_counters_that_run_on_are_taken_apart_and_added_up(told):
    text, steps = told
    counts, running = perf.series(perf.parse_stat(text))
    assert_allclose(counts["INST_RETIRED.ANY"], steps[:, 0] + steps[:, 2])
    assert_allclose(counts["X.Y"], steps[:, 1] + steps[:, 3])
    assert_allclose(counts.index, 1.0001 * np.arange(1, len(steps) + 1), atol=1e-6)
    assert (running == 1).all(axis=None)


def test_counters_that_fall_back_are_not_believed_from_there_on():
    """STREAM, two CPUs of 96: at the first of its samples another tool took the counters of instructions."""
    text = golden("elsewhere/mccalpin-stream.lua")
    counts, _ = perf.series(perf.parse_stat(text))
    assert counts["Inst_Retired.Any"].notna().tolist() == [True] * 5 + [False] * 3
    assert counts[["CAS_COUNT.READS", "CAS_COUNT.WRITES", "CPU_CLK_Unhalted.Core"]].gt(0).all(axis=None)
    assert "Inst_Retired.Any (sample 18)" in perf.remarks(text)[1]


@pytest.mark.parametrize(
    "text, told",
    [
        ("2026-01-30T08:27:33.0Z\n0 branch-mpki; 1; 2;1000\n", "a second without ipc"),
        ('{"benchmarks": [{"name": "a", "real_time": 1, "iterations": 5}]}', "'a' has no counters of events"),
        ('{"benchmarks": [{"name": "a", "real_time": 1, "iterations": "x"}]}', "is not the JSON that"),
        ('{"benchmarks": [{"real_time": 1', "is not the JSON that google-benchmark writes"),
        ('c[0]["A"][0] = 5\nc[0]["A"][1] = 9\n', "no walltime tells when samples were taken"),
        (
            'walltime[0][0] = 1\nwalltime[0][1] = 2\nc[0]["A"][0] = 5\nc[0]["A"][1] = 9\nc[0]["A"][1] = 19\n',
            "two counts",
        ),
    ],
)
def test_a_wrong_file_of_these_is_refused_with_a_sentence(tmp_path, text, told):
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(RecordError, match=told):
        import_files("app", [tmp_path / "x.txt"], folder=tmp_path / "in")
