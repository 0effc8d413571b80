"""C4.5 against Weka's J48, against its definition, and its laws."""

import re
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.utils.estimator_checks import check_estimator

from cmlib.fingerprint.c45 import C45Classifier
from cmlib.fingerprint.c45_tree import grow, pessimistic_errors
from tests.naive import fingerprint as naive

GOLDEN = Path(__file__).parent / "golden" / "j48"
OPTIONS = {"": {}, "-C0.05": {"confidence": 0.05}, "-M10": {"min_leaf": 10}}
TREES = sorted(path.stem.removeprefix("tree_") for path in GOLDEN.glob("tree_*.txt"))


def j48_text(node, depth=0):
    """Draw `to_dict` the way J48 prints its trees."""
    lines = []
    for sign, son in (("<=", node["left"]), (">", node["right"])):
        threshold = f"{node['threshold']:.6f}".rstrip("0").rstrip(".")
        line = "|   " * depth + f"{node['event']} {sign} {threshold}"
        if "left" in son:
            lines += [line, *j48_text(son, depth + 1)]
        else:
            wrong = f"/{son['wrong']}.0" if son["wrong"] else ""
            lines.append(f"{line}: c{son['label']} ({son['n']}.0{wrong})")
    return lines


def nested(model, node=0):
    """The fitted tree in the form of the plain definition."""
    if model.feature_[node] < 0:
        return int(model.classes_[np.argmax(model.counts_[node])])
    sons = (nested(model, model.left_[node]), nested(model, model.right_[node]))
    return (int(model.feature_[node]), float(model.threshold_[node]), *sons)


@st.composite
def labelled_samples(draw):
    n = draw(st.integers(6, 90))
    n_features, n_classes = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(0, draw(st.sampled_from([2, 5, 40])), (n, n_features)).astype(float)
    score = X @ rng.normal(size=(n_features, n_classes)) + draw(st.floats(0, 10)) * rng.normal(
        size=(n, n_classes)
    )
    y = score.argmax(axis=1)
    y[:n_classes] = range(n_classes)
    return X, y


@pytest.mark.parametrize("name", TREES)
def test_trees_are_those_of_j48(name):
    stored = (GOLDEN / f"tree_{name}.txt").read_text()
    drawn = [line for line in stored.splitlines() if re.search(r"^[| ]*x\d+ (<=|>) ", line)]
    dataset, option = re.fullmatch(r"([a-z_]+)(-.*)?", name).groups(default="")
    data = getattr(datasets, f"load_{dataset}")()
    model = C45Classifier(**OPTIONS[option]).fit(data.data, data.target)
    assert j48_text(model.to_dict()) == drawn
    assert len(model.feature_) == int(re.search(r"Size of the tree :\s*(\d+)", stored)[1])


@pytest.mark.parametrize("name", ["breast_cancer", "digits", "iris", "wine"])
def test_predictions_are_those_of_j48(name):
    rows = re.findall(r"\d+:c(\d+) +\d+:c(\d+) .* ([\d.]+)", (GOLDEN / f"predictions_{name}.txt").read_text())
    actual, predicted, share = np.array(rows, dtype=float).T
    data = getattr(datasets, f"load_{name}")()
    model = C45Classifier().fit(data.data[::2], data.target[::2])
    npt.assert_array_equal(data.target[1::2], actual)
    npt.assert_array_equal(model.predict(data.data[1::2]), predicted)
    leaves = model.counts_[model.apply(data.data[1::2])]
    npt.assert_allclose(leaves.max(axis=1) / leaves.sum(axis=1), share, atol=5.1e-4)


@given(labelled_samples())
def test_tree_is_its_definition(samples):
    X, y = samples
    expected = naive.c45([tuple(row) for row in X.tolist()], y.tolist(), int(y.max()) + 1)
    assert nested(C45Classifier().fit(X, y)) == expected


@given(labelled_samples(), st.sampled_from([1e-9, 0.125, 3.0, 1e6]), st.integers(0, 1000))
def test_neither_unit_nor_order_of_samples_nor_a_copied_column_matters(samples, unit, seed):
    X, y = samples
    model = C45Classifier().fit(X, y)
    npt.assert_array_equal(C45Classifier().fit(X * unit, y).predict(X * unit), model.predict(X))
    shuffled = np.random.default_rng(seed).permutation(len(y))
    assert nested(C45Classifier().fit(X[shuffled], y[shuffled])) == nested(model)
    assert nested(C45Classifier().fit(np.c_[X, X[:, 0]], y)) == nested(model)


@given(labelled_samples())
def test_rules_say_what_predict_does(samples):
    X, y = samples
    frame = pd.DataFrame(X, columns=[f"event_{i}" for i in range(X.shape[1])])
    model = C45Classifier().fit(frame, y)
    rules = model.rules()
    assert rules["n"].sum() == len(y)
    assert rules["wrong"].sum() == (model.predict(frame) != y).sum()
    for leaf, rule in rules.iterrows():
        held = frame if rule["rule"] == "always" else frame.query(rule["rule"])
        assert len(held) == rule["n"]
        assert set(model.apply(held)) == {leaf}
        assert set(model.predict(held)) == {rule["label"]}


def test_planted_thresholds_are_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 10))
    y = np.where(X[:, 3] <= 0.5, "N_CPU", np.where(X[:, 7] <= 0.2, "P_Mem_L2", "P_Mem_M"))
    root = C45Classifier().fit(X, y).to_dict()
    assert (root["event"], root["right"]["event"]) == ("x3", "x7")
    assert root["threshold"] == X[X[:, 3] <= 0.5, 3].max()
    npt.assert_allclose(root["right"]["threshold"], 0.2, atol=0.01)
    assert root["left"] == {"node": 1, "label": "N_CPU", "n": int((y == "N_CPU").sum()), "wrong": 0}


def test_a_single_class_is_one_leaf():
    model = C45Classifier().fit(np.arange(10.0)[:, None], ["N_CPU"] * 10)
    assert model.rules().to_dict("list") == {"rule": ["always"], "label": ["N_CPU"], "n": [10], "wrong": [0]}


def test_it_is_a_scikit_learn_estimator():
    checks = check_estimator(C45Classifier(), on_skip=None)
    assert {check["status"] for check in checks} <= {"passed", "skipped"}
    assert [c["check_name"] for c in checks if c["status"] == "skipped"] in ([], ["check_array_api_input"])


@given(st.integers(1, 500), st.integers(0, 500))
def test_pessimistic_errors_lie_between_those_seen_and_all(n, wrong):
    wrong = min(wrong, n // 2)
    errors = pessimistic_errors(np.array([n - wrong, wrong]), 0.25)
    assert wrong <= errors <= n
    assert errors <= pessimistic_errors(np.array([n - wrong, wrong]), 0.1) + 1e-12
    if wrong == 0:
        npt.assert_allclose((1 - errors / n) ** n, 0.25)


@given(labelled_samples())
def test_midpoints_are_half_way_between_values_and_decide_the_same(samples):
    X, y = samples
    usual, halfway = (grow(X, y, y.max() + 1, midpoints=midpoints) for midpoints in (False, True))
    for one, other in zip(usual.below(), halfway.below(), strict=True):
        npt.assert_array_equal(one.rows, other.rows)
        assert one.feature == other.feature
        if other.sons:
            left, right = (X[rows, other.feature] for rows in other.split(other.rows, X))
            npt.assert_allclose(other.threshold, (left.max() + right.min()) / 2)


@pytest.mark.parametrize("wrong", [{"min_leaf": 0}, {"confidence": 0.6}, {"confidence": 0}])
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        C45Classifier(**wrong).fit([[0.0], [1.0]], [0, 1])
