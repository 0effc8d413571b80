"""Notebooks on tuning, on the committed runs: numbers are those of the recordings, events have verdicts."""

import json

import numpy as np
import pandas as pd
import pytest

from cmlib.experiments.tuning.recordings import describe_tuned, load_levels, load_tuned
from cmlib.experiments.tuning.settings import TABLE_IV
from tests.notebook_functions import functions_of


@pytest.fixture(scope="module")
def tuned():
    return load_tuned(wanted="sort")


def read_manifest(folder):
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("notebook", "figures", "tables"),
    [
        (
            "08_tuning",
            ["times", "parameters", "fig13", "fig14", "explore"],
            ["data", "table4", "sessions", "variation", "pairs", "named"],
        ),
        ("number_of_runs", ["learning", "fig15"], ["table2", "alone"]),
        ("causes", ["causes"], ["quality", "causes", "moves"]),
    ],
)
def test_every_table_and_figure_of_the_papers_is_there(smoke, notebook, figures, tables):
    made = {file.name for file in (smoke / notebook).iterdir()}
    assert {f"{name}.{kind}" for name in figures for kind in ("png", "svg")} <= made
    assert {f"{name}.csv" for name in tables} <= made


def test_its_numbers_are_those_of_the_recordings(smoke, tuned):
    said = read_manifest(smoke / "08_tuning")
    found = {number["name"]: number["value"] for number in said["numbers"]}
    assert np.isfinite(list(found.values())).all()
    assert {entry["kind"] for entry in said["data"]} == {"software events"}
    levels = load_levels(wanted="sort")
    levels.loc[(levels["parameter"] == "exc") & (levels["level"] == "default"), "level"] = "low"
    assert set(tuned["sort"].levels["parameter"]) < set(levels["parameter"])
    for (session, parameter), own in levels.groupby(["session", "parameter"]):
        means = own.groupby("level")["seconds"].mean()
        expected = 100 * (means.max() / means.min() - 1)
        name = TABLE_IV[parameter].name.removeprefix("spark.")
        assert found[f"variation of the time of sort by {name}, {session[:10]}"] == pytest.approx(expected)


def test_runs_and_their_machine_are_described(tuned):
    described = describe_tuned(tuned).loc["sort"]
    assert described[["runs", "events", "processors"]].tolist() == [60, 25, 2]
    assert described["counted"] == "software events" and "Xeon" in described["processor"]


def test_methods_are_judged_by_the_parameter_that_changes_the_time(smoke):
    named = pd.read_csv(smoke / "08_tuning/named.csv").set_index("method")
    assert ((named["names"] == "executor.cores") == (named["right"] == "yes")).all()
    assert named.at["method B", "right"] == named.at["rank correlation, no model", "right"] == "yes"
    assert named.at["random choice", "right, resampled [%]"] == pytest.approx(100 / len(TABLE_IV))


def test_models_err_less_than_the_mean_and_name_the_parameter_that_changes_the_time(smoke):
    said = read_manifest(smoke / "number_of_runs")
    errors = {number["name"]: number["value"] for number in said["numbers"]}
    assert 0 < errors["error of a model of the time by parameters, sort"] < 11
    alone = pd.read_csv(smoke / "number_of_runs/alone.csv").set_index("name")["p"]
    assert alone.idxmin() == "executor.cores" and alone.min() <= 0.05
    assert "runs of sort" in said["findings"][0]["text"]


def test_every_important_event_has_its_verdict_and_the_finding_counts_them(smoke):
    judged = pd.read_csv(smoke / "causes/causes.csv")
    said = read_manifest(smoke / "causes")["findings"][0]["text"]
    verdicts = {"causes", "less than expected", "not shown"}
    assert len(judged) == 3 and set(judged["verdict"]) <= verdicts
    moved = pd.read_csv(smoke / "causes/moves.csv")
    assert (judged["verdict"][moved["factor"].isna()] == "not shown").all()
    assert f"{(judged['verdict'] == 'not shown').sum()} neither is shown" in said


def test_a_verdict_is_drawn_with_its_interval_and_what_the_model_says():
    row = {"program": "sort", "event": "close", "verdict": "less than expected", "expected": -8.0}
    frame = pd.DataFrame([row | {"observed": -1.0, "low": -2.5, "high": 0.5}])
    draw = functions_of("causes")["draw_verdicts"]
    _, (ax, empty) = draw(frame, programs=["sort", "join"], xlabel="change [%]")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["close: less than expected"]
    drawn = {line.get_label(): list(line.get_xdata()) for line in ax.lines}
    assert drawn["observed, 95 % of resamplings"] == [-1.0] and drawn["the model says"] == [-8.0]
    assert ax.collections[0].get_segments()[0][:, 0].tolist() == [-2.5, 0.5]
    assert empty.get_title(loc="left") == "join: no event was moved alone"


def test_pairs_of_the_table_are_ranked_by_both_measures(smoke):
    pairs = pd.read_csv(smoke / "08_tuning/pairs.csv")
    for _, own in pairs.groupby("program"):
        for measure in ("residual variance [%]", "H [%]"):
            assert own[measure].sum() == pytest.approx(100)
        assert own["H [%]"].is_monotonic_decreasing
        for place in ("place by H", "place by residual variance"):
            assert sorted(own[place]) == list(range(1, len(own) + 1))
