"""Notebook 07, run as a user runs it; series read back from lines; the widgets over a real stream."""

import json

import matplotlib.pyplot as plt
import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmlib import explore, plot, store
from cmlib.compress import compress, intervals
from cmlib.errors import NothingRecordedError
from cmlib.samples import read_lines
from cmlib.samples.files import samples_dir
from cmlib.study.compression import alternatives, consequences, sample_streams


@pytest.fixture
def made(smoke):
    return smoke / "07_compression"


@pytest.fixture(scope="module")
def perl():
    return sample_streams.load(kind="software", wanted="perl-2")


# --- the notebook -------------------------------------------------------------------------------


def test_the_notebook_ends_with_its_numbers(made):
    manifest = json.loads((made / "manifest.json").read_text(encoding="utf-8"))
    found = {number["name"]: number["value"] for number in manifest["numbers"]}
    assert found["reduction, least"] == pytest.approx(1580 / 70, abs=0.01)
    assert 10 < found["reduction, median"] < 100
    for method in ("printed", "drift", "bounded"):
        assert 0 < found[f"greatest MNESD of all events and cases, {method}"] < 0.1
    assert found["cases with a smaller error than swinging door at equal size"] > 50
    assert found["interval series with a smaller error than swinging door at equal size"] > 50
    assert 0 < found["overhead of the regression, replayed, greatest"] < 1.7
    assert 0 < found["overhead of the recording process, greatest"] < 0.5
    assert -1 <= found["rank correlation of events, lines against recordings, mean"] <= 1


def test_every_figure_of_the_paper_is_there_and_says_what_was_counted(made):
    figures = {f["name"]: f["caption"] for f in json.loads((made / "manifest.json").read_text())["figures"]}
    wanted = {"fig01", "fig02", "fig03-fig04", "fig05", "fig06-fig09", "fig10", "drift", "peers"}
    assert wanted <= set(figures)
    for name in figures.keys() - {"ranking", "explore"}:
        assert "oftware events and tracepoints, not hardware events" in figures[name], name
    n_lines = read_lines(samples_dir() / "perl-2" / "software-lines-00")[1]["n_lines"]
    assert "two runs of each program" in figures["stored"] and f"perl-2 {n_lines} steps" in figures["stored"]
    assert "oftware events and tracepoints" in figures["explore"] and "Hardware events" in figures["ranking"]


def test_the_drift_test_and_the_bound_hold_where_the_printed_method_strays(made):
    fits = pd.read_csv(made / "fits.csv").set_index(["case", "method"])["largest"]
    assert fits["perl-2", "printed"] > 0.1
    assert fits["perl-2", "drift"] < 0.02
    assert (fits.xs("bounded", level="method") <= 0.01 + 1e-9).all()


# --- lines as a series --------------------------------------------------------------------------


@settings(max_examples=60)
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


def test_a_constant_rate_comes_back_at_any_edges():
    x = np.arange(10.0, 1010.0, 10.0)
    lines = compress(x, pd.DataFrame({"loads": 3 * x}))
    counts = intervals(lines, "cycles", [5.0, 60.0, 1000.0])
    npt.assert_allclose(counts, [[5, 15], [55, 165], [940, 2820]], rtol=1e-9)
    with pytest.raises(ValueError, match="nothing to read at 1001"):
        intervals(lines, "cycles", [5.0, 1001.0])


@pytest.mark.parametrize("given_", [{}, {"edges": [20.0], "n": 3}])
def test_one_way_of_saying_where_is_needed(given_):
    lines = compress([10.0, 20.0], pd.DataFrame({"loads": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="either edges or n"):
        intervals(lines, "cycles", **given_)


def test_a_series_kept_as_lines_keeps_its_totals_and_shape():
    rng = np.random.default_rng(0)
    counts = pd.DataFrame(
        {"cycles": np.full(200, 1e6), "loads": rng.poisson(np.repeat([50, 500], 100)).astype(float)},
        index=pd.Index(np.arange(1, 201) / 10, name="time_s"),
    )
    even, n_numbers = consequences.through_lines(counts)
    kept, _ = consequences.through_lines(counts, edges="kept")
    assert n_numbers < 200 and even.shape == counts.shape
    npt.assert_array_equal(kept.index, counts.index)
    npt.assert_allclose(even.sum(), counts.sum(), rtol=0.01)
    assert np.corrcoef(kept["loads"], counts["loads"])[0, 1] > 0.95


def test_lines_in_the_store_are_the_same_work_as_samples_of_another_run(perl, tmp_path):
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    store.rebuild(tmp_path / "recordings", url, samples_dir=samples_dir())
    found = consequences.stored_beside_samples(url, perl)["perl-2"]
    lines, _ = read_lines(samples_dir() / "perl-2" / "software-lines-00")
    x, y = perl["perl-2"].series()
    assert len(found) == len(lines)
    npt.assert_allclose(found["samples of another run"].sum(), y.iloc[-1])
    npt.assert_array_equal(found["lines from the store"], intervals(lines, "t", n=len(lines))["page-faults"])
    npt.assert_allclose(*found.sum(), rtol=0.05)
    figure, axes = plot.steps({"perl-2": found}, ylabel="page-faults in a step")
    assert axes[0].get_title(loc="left") == "perl-2" and axes[0].get_ylabel() == "page-faults in a step"
    drawn = {line.get_label(): line.get_ydata() for line in axes[0].get_lines()}
    for column in found:
        npt.assert_array_equal(drawn[column], found[column])
    plt.close(figure)


def test_cases_without_lines_of_the_event_are_left_out_and_the_figure_says_so(perl, tmp_path):
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    store.rebuild(tmp_path / "recordings", url, samples_dir=samples_dir())
    assert consequences.stored_beside_samples(url, perl, "context-switches") == {}
    figure, axes = plot.steps({}, ylabel="x")
    assert "no lines of these cases" in axes[0].get_title(loc="left")
    plt.close(figure)


# --- cases and curves ---------------------------------------------------------------------------


def test_a_case_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="no sample stream 'nothing'; there are bzip2-1"):
        sample_streams.load(wanted="nothing")
    with pytest.raises(NothingRecordedError, match=r"cmlib record-samples"):
        sample_streams.load(kind="hardware")


def test_errors_that_are_equal_count_as_half():
    table = pd.DataFrame(
        [
            ("a", "bounded", 1, 2),
            ("a", "swinging door", 2, 2),
            ("b", "bounded", 5, 1),
            ("b", "swinging door", 4, 3),
        ],
        columns=["case", "method", "largest", "rms"],
    )
    assert alternatives.smaller_errors(table, case=["case"]).tolist() == [50, 75, 2]


def test_constancy_is_the_largest_distance_from_a_constant_rate(perl):
    x, y = perl["perl-2"].series("page-faults")
    slope = (y.iloc[-1] - y.iloc[0]) / (x.iloc[-1] - x.iloc[0])
    off = max(abs(b - y.iloc[0] - slope * (a - x.iloc[0])) for a, b in zip(x, y, strict=True))
    assert sample_streams.constancy(perl, "page-faults").item() == pytest.approx(
        off / (y.iloc[-1] - y.iloc[0])
    )


# --- the widgets --------------------------------------------------------------------------------


def test_turning_a_knob_draws_other_lines_and_says_their_number(perl):
    panel = explore.compression(perl, event="page-faults")
    x, y = perl["perl-2"].series("page-faults")
    assert f"{len(compress(x, y)):,}</td>" in panel.text
    before = panel.png
    panel.controls["drift"].value = 20
    assert f"{len(compress(x, y, drift=20)):,}</td>" in panel.text and panel.png != before
    panel.controls["n_sigma"].value = 6.0
    panel.controls["alpha"].value = 0.05
    expected = compress(x, y, alpha=0.05, n_sigma=6.0, drift=20)
    assert f"{len(expected):,}</td>" in panel.text


def test_without_streams_the_widgets_say_what_to_run():
    assert "cmlib record-samples" in explore.compression({}).text
