"""Labels with their rules, phases, shares, and how well known programs were labelled."""

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.fingerprint.c45 import C45Classifier
from cmlib.fingerprint.diagnosis import advice, label_slices, phases, score_programs
from cmlib.fingerprint.unknown import UnknownRejector
from cmlib_workloads.micro import cases

CLASSES = [f"{form}_{bound}" for form in "PN" for bound in ("Mem_L2", "Mem_L3", "Mem_M", "CPU")]


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(0)
    y = np.repeat(["P_Mem_M", "P_CPU", "N_CPU"], 40)
    misses = np.where(y == "P_Mem_M", 0.02, 1e-4) * rng.uniform(0.8, 1.25, 120)
    branches = np.where(y == "P_CPU", 0.03, 1e-3) * rng.uniform(0.8, 1.25, 120)
    X = pd.DataFrame({"misses": misses, "mispredicted": branches}).round(5)  # rules show six digits
    return X, y, np.tile(np.repeat([0, 1], 20), 3)


def labelled(labels, slice_s=0.4, rules=None):
    index = pd.Index(slice_s * (1 + np.arange(len(labels))), name="time_s")
    return pd.DataFrame({"label": labels, "rule": rules or labels}, index=index)


def test_a_label_comes_with_the_rule_that_decided(trained):
    X, y, _ = trained
    found = label_slices(C45Classifier().fit(X, y), X)
    npt.assert_array_equal(found["label"], y)
    for rule, of_rule in found.groupby("rule"):
        held = X.query(rule)
        assert list(held.index) == list(of_rule.index)


def test_far_slices_are_unknown_by_a_rule_of_their_own(trained):
    X, y, runs = trained
    model = UnknownRejector(C45Classifier(), margin=1.5).fit(X, y, groups=runs)
    found = label_slices(model, pd.concat([X.iloc[:5], X.iloc[:2] * 1e4]))
    assert found["label"].tolist() == ["P_Mem_M"] * 5 + ["unknown"] * 2
    assert (found["rule"] == "far from all training data").tolist() == [False] * 5 + [True] * 2


@given(st.lists(st.sampled_from(CLASSES), min_size=1, max_size=40))
def test_phases_cover_the_run_and_none_continues_the_one_before(labels):
    found = phases(labelled(labels))
    assert found["n_slices"].sum() == len(labels)
    assert np.repeat(found["label"], found["n_slices"]).tolist() == labels
    assert (found["label"] != found["label"].shift()).all()
    npt.assert_allclose(found["start_s"].iloc[1:], found["end_s"].iloc[:-1])
    npt.assert_allclose(found["end_s"] - found["start_s"], 0.4 * found["n_slices"], atol=1e-9)


def test_two_rules_of_one_class_are_two_phases():
    found = phases(labelled(["P_CPU"] * 4, rules=["a > 1", "a > 1", "b > 2", "b > 2"]))
    assert found[["n_slices", "label", "rule"]].to_numpy().tolist() == [
        [2, "P_CPU", "a > 1"],
        [2, "P_CPU", "b > 2"],
    ]


def test_every_class_is_explained():
    recorded = {case.label for case in cases({"L2": [1], "L3": [1], "M": [1]}, trained=True)}
    assert recorded == set(CLASSES)
    explained = [advice(label) for label in [*CLASSES, "unknown"]]
    assert all(len(meaning) > 10 and len(remedy) > 10 for meaning, remedy in explained)
    with pytest.raises(ValueError, match="no class 'P_Disk'"):
        advice("P_Disk")


def test_programs_are_scored_by_what_is_known_of_them():
    labels = ["P_CPU"] * 9 + ["unknown"] + ["N_CPU"] * 3 + ["P_Mem_M"]
    scored = score_programs(labels, ["P_CPU"] * 10 + ["N_CPU"] * 4, ["filter"] * 10 + ["sorted"] * 4)
    assert scored.loc["filter"].to_dict() == {
        "expected": "P_CPU",
        "n_slices": 10,
        "right": 90.0,
        "pathological": 90.0,
        "unknown": 10.0,
        "most": "P_CPU",
        "most_share": 90.0,
    }
    assert scored.loc["sorted", ["right", "pathological", "most"]].tolist() == [75.0, 25.0, "N_CPU"]
