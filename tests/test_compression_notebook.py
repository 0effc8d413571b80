"""Notebooks on compression, run as a user runs them; streams of others; series read back from lines; the widgets."""

import json
import lzma

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib import places, report
from cmlib.compress import compress, intervals
from cmlib.errors import NothingRecordedError, UnfitRecordingError
from cmlib.experiments import sample_streams
from cmlib.experiments.sample_streams import load_samples
from cmlib.io import streams
from cmlib.io.public import PublicError

PUBLIC = places.external_data_dir()
LLC = "#PERF_COUNT_HW_INSTRUCTIONS #PERF_COUNT_HW_CACHE_LL_ACCESS_R #PERF_COUNT_HW_CACHE_LL_MISS_R "


@pytest.fixture(scope="module")
def perl():
    return load_samples("perl-2", kind="software")


def numbers(folder):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return {number["name"]: number["value"] for number in manifest["numbers"]}


# --- the notebooks ------------------------------------------------------------------------------


def test_on_kernel_events_the_notebook_ends_with_its_numbers(smoke):
    found = numbers(smoke / "07_compression")
    assert found["samples a line (the paper's reduction), least"] == pytest.approx(1580 / 70, abs=0.01)
    for method in ("paper's rule", "drift test", "hard bound"):
        assert 0 < found[f"greatest standard deviation about a line (MNESD), {method}"] < 10
    fits = pd.read_csv(smoke / "07_compression/fits.csv").set_index(["case", "method"])["largest"]
    assert fits["perl-2", "printed"] > 0.1 and fits["perl-2", "drift"] < 0.02
    assert (fits.xs("bounded", level="method") <= 0.01 + 1e-9).all()


def test_lines_cost_less_than_the_paper_has(smoke):
    found = numbers(smoke / "recording_lines")
    assert 0 < found["overhead of the regression, replayed, greatest"] < 1.7
    assert 0 < found["overhead of the recording process, greatest"] < 0.5
    assert -1 <= found["rank correlation of events by lines with events by intervals, mean"] <= 1


def other_streams(folder, seed=0):
    """Cases of SPEC in the form of spec-llc, as another machine might have recorded them."""
    rng = np.random.default_rng(seed)
    for name in ("400.perlbench.1", "456.hmmer.2"):
        steps = [rng.integers(99_000_000, 101_000_000, 300), rng.integers(1e6, 2e6, 300)]
        counts = np.cumsum([*steps, rng.poisson(np.repeat([2e4, 3e5, 5e3], 100))], axis=1).T
        rows = [" ".join(map(str, row)) + " " for row in counts.astype(int)]
        file = folder / f"{name}.data.2.txt.xz"
        file.write_bytes(lzma.compress("\n".join([LLC, *rows, ""]).encode()))


@pytest.mark.slow
def test_other_streams_of_this_form_are_studied_as_well(tmp_path, monkeypatch):
    monkeypatch.delenv("CMLIB_PUBLIC", raising=False)
    (tmp_path / "streams").mkdir()
    other_streams(tmp_path / "streams")
    given_ = {"folder": str(tmp_path / "streams")}
    page = report.run_profile("paper", ["07_compression"], given_, results=tmp_path / "results")
    folder = page.parent / "07_compression"
    assert (folder / "fig03-fig04.svg").is_file() and (folder / "fig06-fig09.svg").is_file()
    fits = pd.read_csv(folder / "fits.csv")
    assert set(fits["case"]) == {"400.perlbench.1", "456.hmmer.2"} and set(fits["n_samples"]) == {300}


# --- streams of others --------------------------------------------------------------------------


@given(st.lists(st.tuples(*[st.integers(1, 10**9)] * 3), min_size=1, max_size=30))
def test_what_a_tool_wrote_is_read(tmp_path_factory, steps):
    counts = np.cumsum(steps, axis=0)
    file = tmp_path_factory.mktemp("streams") / "429.mcf.1.data.2.txt"
    file.write_text("\n".join([LLC, *(" ".join(map(str, row)) + " " for row in counts), ""]))
    read = streams.read_stream(file)
    assert list(read) == ["instructions", "LLC-loads", "LLC-load-misses"]
    npt.assert_array_equal(read, counts)
    assert streams.find_runs("spec-llc", file.parent)[["case", "run"]].values.tolist() == [["429.mcf.1", "2"]]


def test_another_file_is_no_stream(tmp_path):
    (tmp_path / "a.data.1.txt").write_text("# What\n1 2 3\n")
    with pytest.raises(PublicError, match="not a stream of counts: it begins with '# What"):
        streams.read_stream(tmp_path / "a.data.1.txt")


def test_samples_without_progress_are_left_out(tmp_path):
    (tmp_path / "a.txt").write_text(f"{LLC}\n100 1 1 \n100 2 1 \n200 5 2 \n300 \n")
    assert streams.read_stream(tmp_path / "a.txt").values.tolist() == [[100, 1, 1], [200, 5, 2]]


@pytest.mark.skipif(not PUBLIC or not (PUBLIC / "spec2000").is_dir(), reason="takes CMLIB_PUBLIC")
def test_perfmon2_writes_blocks_of_instructions():
    runs = streams.find_runs("spec2000")
    mcf = runs[(runs["case"] == "181.mcf.default") & (runs["run"] == "amd_branches_totalmiss")]
    counts = streams.read_stream(mcf["path"].item())
    assert counts.iloc[0].tolist() == [100000310, 22915083, 81200] and len(counts) > 100
    assert (counts.diff().iloc[1:] >= 0).all(axis=None)


# --- lines as a series --------------------------------------------------------------------------


@given(st.integers(2, 60), st.integers(1, 12), st.integers(0, 2**32))
def test_counts_read_from_lines_add_up(n_samples, n, seed):
    rng = np.random.default_rng(seed)
    totals = pd.DataFrame(rng.integers(0, 50, (n_samples, 2)).cumsum(axis=0), columns=["loads", "stores"])
    x = rng.integers(1, 9, n_samples).cumsum()
    lines = compress(x, totals, drift=20.0)
    counts = intervals(lines, "cycles", n=n)
    assert list(counts) == ["cycles", "loads", "stores"] and len(counts) == n
    assert (counts >= 0).all(axis=None)
    npt.assert_allclose(counts["cycles"], x[-1] / n)
    at_end = [lines[f"slope:{e}"].iloc[-1] * x[-1] + lines[f"intercept:{e}"].iloc[-1] for e in totals]
    assert (counts[["loads", "stores"]].sum() >= np.array(at_end) - 1e-6).all()


def test_a_constant_rate_comes_back_in_any_number_of_intervals():
    x = np.arange(10.0, 1010.0, 10.0)
    lines = compress(x, pd.DataFrame({"loads": 3 * x}))
    for n in (1, 7, 200):
        npt.assert_allclose(intervals(lines, "cycles", n), np.tile([1000 / n, 3000 / n], (n, 1)), rtol=1e-9)


# --- cases and curves ---------------------------------------------------------------------------


def test_a_case_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="no sample stream is named 'nothing'. Recorded: bzip2-1"):
        load_samples("nothing")
    with pytest.raises(NothingRecordedError, match=r"cmlib record-samples"):
        load_samples(kind="hardware")


def test_a_stream_too_short_for_lines_is_refused_with_what_to_do(monkeypatch):
    short = pd.DataFrame({"task-clock": [1.0, 2.0], "page-faults": [3.0, 4.0]})
    short.attrs["kind"] = "software"
    monkeypatch.setattr(sample_streams, "load_samples", lambda *_, **__: {"tiny": short})
    with pytest.raises(UnfitRecordingError, match=r"tiny: at most 2 samples, and lines need 10.*--period"):
        sample_streams.load_streams("samples", program="tiny")
