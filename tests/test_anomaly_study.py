"""Notebook 06 and what it asks, on made-up counts in recordings written by the code that records real ones."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import papermill
import pytest

from cmlib import explore, plot
from cmlib.errors import NothingRecordedError
from cmlib.report import paper
from cmlib.study import anomaly as study
from cmlib.study import anomaly_tables, grouping, versions
from tests.made_up_regions import make

ROOT = Path(__file__).parents[1]
NAMES = ("parallel_scalar_sum", "histogram")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    few = {"runs": (10, 5, 4), "diluted_runs": 2, "runs_again": 5, "n_samples": 8, "good_counters": 12}
    return make(tmp_path_factory.mktemp("data") / "regions", NAMES, **few)


@pytest.fixture(scope="module")
def subjects(folder):
    return study.recorded_subjects(folder)


@pytest.fixture(scope="module")
def judged(subjects):
    return {name: study.judge_subject(subject, points=2) for name, subject in subjects.items()}


def test_recordings_become_subjects(subjects):
    assert list(subjects) == list(NAMES)
    one = subjects["parallel_scalar_sum"]
    # 15 good runs are split as Table 2 splits its 53
    assert (len(one.training), len(one.good), len(one.bad), len(one.again)) == (9, 6, 4, 5)
    assert one.synthetic and one.original and len(one.overhead) == 10
    assert list(one.diluted) == sorted(one.diluted, reverse=True) and len(one.diluted) == 6
    assert [len(runs) for runs in one.diluted[0.5]] == [4, 2]
    assert one.training[0].shape == (8, 2 + 32)
    assert not subjects["histogram"].diluted


def test_the_committed_recordings_tell_the_forms_apart_and_name_the_lock():
    one = study.recorded_subjects(wanted="hash_table_lock")["hash_table_lock"]
    assert one.per == "work" and not one.synthetic
    row = study.judge_subject(one, points=2).row
    assert row["f1"] == 1 and row["slowdown"] > 2
    assert row["named"] in ("syscalls:sys_enter_futex", "raw_syscalls:sys_enter")


def test_without_recordings_the_command_to_run_is_told(tmp_path, folder):
    for where, wanted in ((tmp_path, "all"), (folder, "row_counters")):
        with pytest.raises(NothingRecordedError, match="python -m cmlib.workloads.kernels --record"):
            study.recorded_subjects(where, wanted)
    assert "python -m cmlib.workloads.kernels --record" in explore.anomaly({}).text


def test_a_program_that_is_none_is_told_from_one_that_is_not_recorded(folder):
    with pytest.raises(
        NothingRecordedError, match="'histogramm' is not among AutoPerf's .*did you mean histogram"
    ):
        study.recorded_subjects(folder, "histogram, histogramm")


def test_overhead_that_was_not_measured_is_left_out(subjects):
    name, subject = next(iter(subjects.items()))
    found = anomaly_tables.overhead_table({name: replace(subject, overhead=[])}, {subject.stands_for: 1.05})
    assert found["where"].tolist() == ["paper"] and found["overhead"].round(6).tolist() == [5.0]


def test_a_planted_anomaly_is_found_with_its_cause(judged):
    for one in judged.values():
        assert one.row["recall"] == 1 and one.row["cause_rank"] <= 3 and one.row["slowdown"] > 1.05
        assert set(one.samples["kind"]) == {"training", "good", "bad"}
        own = one.samples.drop(columns=["kind", "run", "error"])
        np.testing.assert_allclose(own.sum(axis=1), one.samples["error"])
        errors = one.samples.groupby("kind")["error"].median()
        assert errors["bad"] > one.threshold > errors["training"]
        assert set(one.thresholds.index) == {
            "10 %",
            "20 %",
            "40 %",
            "mean + 2 sd",
            "mean + 2 sd, by distance",
        }
        assert one.row["stopping_run"] <= one.settling.index[-1] <= one.row["training_runs"]


def test_the_tree_learns_from_other_kernels_only(subjects):
    scores = study.judge_by_tree(subjects)
    # There is no other kernel to learn scalar_sum's anomaly from.
    assert np.isnan(scores["parallel_scalar_sum"]) and scores["histogram"] > 0.5


def test_tables_have_the_papers_values_beside(subjects, judged):
    printed = paper("autoperf")
    table = anomaly_tables.table2(judged, study.judge_by_tree(subjects), printed["table2"]).set_index(
        "program"
    )
    assert (
        table.at["histogram", "paper, runs"] == 20 and table.at["histogram", "paper, tree finds it"] == "no"
    )
    topologies = anomaly_tables.table3(judged, printed["table3"])
    assert topologies["paper, topology"].iloc[0] == "32 → 10 → 6 → 10 → 32"
    assert topologies["topology"].str.startswith("32 → ").all()
    recorded = anomaly_tables.recorded_table(subjects).set_index("program here")
    assert len(recorded) == 15 and recorded.at["streamcluster", "why not"] == "needs 2 NUMA nodes"
    assert recorded.at["histogram", "samples"] == 19 * 8
    assert len(printed["variances"]["MySQL"]) == len(printed["variances"]["Boost"]) == 100


def test_every_value_of_the_paper_names_its_section_table_or_figure():
    above = []
    for line in (ROOT / "data/papers/autoperf.yaml").read_text(encoding="utf-8").splitlines():
        if re.match(r"\w", line):
            assert re.search(r"§\d|Table \d|Fig\. \d|Algorithm \d", " ".join(above)), line
        above = [*above, line] if line.startswith("#") else []
    printed = paper("autoperf")
    # The text's own number of clusters, where the rates behind Fig. 8 stop falling; Apache's do so at 4.
    lowest = {
        name: 1 + rates.index(min(rates)) for name, rates in printed["false_positive_rate_by_k"].items()
    }
    assert {name: k for name, k in printed["clusters"].items() if lowest.get(name, k) != k} == {"Apache": 7}


def test_the_least_that_is_found_is_the_hardest_programs():
    rows = [("a", 50, 9.0, True), ("a", 10, 4.0, True), ("a", 1, 0.1, True), ("b", 50, 20.0, True),
            ("b", 10, 7.0, True), ("b", 5, 3.0, False), ("b", 1, 1.0, True)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["program", "sharing", "slowdown", "found"])
    assert anomaly_tables.least_found(frame).to_dict() == {"sharing": 10, "slowdown": 7}
    missed = frame.assign(found=frame["program"] == "a")
    assert (
        anomaly_tables.least_found(missed).isna().all()
        and anomaly_tables.least_found(frame.iloc[:0]).isna().all()
    )


def test_versions_are_compared_with_themselves_and_diluted(judged):
    one = judged["histogram"]
    for again in (one.subject.again, []):
        same = replace(one, subject=replace(one.subject, again=again))
        told = versions.same_version_alarms(same, n_pairs=2)
        assert len(told) == 2 and not any(alarm for _, alarm in told) and all(0 < p <= 1 for p, _ in told)
    other = replace(one, subject=replace(one.subject, again=one.subject.bad))
    # Either is the new version in turn; to have become faster is no anomaly
    assert [alarm for _, alarm in versions.same_version_alarms(other, n_pairs=2)] == [True, False]
    diluted = versions.dilution(judged["parallel_scalar_sum"])
    assert diluted["sharing"].tolist() == [50, 20, 10, 5, 2, 1]
    assert diluted["slowdown"].iloc[0] > diluted["slowdown"].iloc[-1]
    assert versions.dilution(judged["histogram"]).empty


def test_one_bad_function_of_a_program_is_found(subjects):
    together = grouping.put_together(subjects)
    assert together.functions == NAMES and len(together.good) == 6
    assert len(together.training) == 8
    bad = together.bad["histogram"][0]
    same = bad["function"] == "parallel_scalar_sum"
    pd.testing.assert_frame_equal(bad[same], together.good[0][same])
    for k, n in (("each", 2), (1, 1)):
        scored = grouping.score_clusters(k, together)
        assert scored["autoencoders"] == n and 0 <= scored["false_positive_rate"] < 0.2
        assert set(scored["f1_by_function"]) == set(NAMES)
    assert set(grouping.samples_in_plane(together).index) == set(NAMES)


def test_plots_show_what_they_are_given(judged):
    one = judged["histogram"]
    figure, axes = plot.settling({"a": one.settling["mean"]}, stops={"a": 4}, ylabel="error")
    assert axes[0].get_title("left") == "a" and axes[0].lines[1].get_xdata()[0] == 4
    _, axes = plot.sample_errors({"a": one.samples}, thresholds={"a": 0.5})
    assert sum(len(line.get_xdata()) for line in axes[0].lines[:3]) == len(one.samples)
    assert axes[0].get_yscale() == "log" and axes[0].lines[3].get_ydata()[0] == 0.5
    scores = pd.DataFrame({"topology": ["16", "8"], "error": [0.1, 0.2], "f1": [1.0, 0.5]})
    _, axes = plot.topologies(scores)
    assert [bar.get_height() for bar in axes[1].patches] == [1.0, 0.5]


def test_the_threshold_turns(judged):
    panel = explore.anomaly(judged)
    strict = panel.text
    panel.controls["n_sd"].value = 10.0
    panel.controls["place"].value = 100
    panel.controls["program"].value = "histogram"
    assert panel.png and panel.text != strict and "near_cache" in panel.text
    figure = panel.figure()
    shares = [bar.get_width() for bar in figure.axes[1].patches]
    assert shares == sorted(shares, reverse=True) and 0 < sum(shares) <= 100.001


def test_the_notebook_runs_to_its_end(folder, tmp_path):
    given = {"folder": str(folder), "program": "parallel_scalar_sum", "results_folder": str(tmp_path), "points": 2, "k_max": 2, "n_pairs": 2,
             "jobs": 1, "interactive": False, "profile": "smoke"}  # fmt: skip
    papermill.execute_notebook(
        ROOT / "notebooks/06_anomaly_detection.ipynb", tmp_path / "out.ipynb", given, progress_bar=False
    )
    manifest = json.loads((tmp_path / "smoke/06_anomaly_detection/manifest.json").read_text())
    figures = {figure["name"]: figure["caption"] for figure in manifest["figures"]}
    assert {"fig04", "fig05", "fig06", "fig07", "fig08-fig09", "fig10", "fig11", "fig12", "explore"} <= set(
        figures
    )
    assert all("nothing was measured" in figures[name] for name in figures if name != "algorithm1")
    numbers = {number["name"]: number for number in manifest["numbers"]}
    assert numbers["stopping run of the paper's MySQL series"]["value"] == 58
    assert numbers["stopping run of the paper's Boost series"]["value"] == 100
    assert {"table2", "table3", "recorded", "dilution", "clusters"} <= {t["name"] for t in manifest["tables"]}
