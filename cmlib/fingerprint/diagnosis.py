"""Label time slices by a fitted classifier, join them to phases, and explain the classes.

Slices are rows of a DataFrame X of events per cycle; a class is a bottleneck (``P_…``) or none (``N_…``); a phase
is a stretch of slices of the same class. :func:`label_slices` and :func:`phases` return DataFrames, :func:`advice`
returns text. Raises a ValueError for an unknown class.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cmlib.errors import InputError
from cmlib.places import yaml_beside

_ADVICE = yaml_beside(__file__)  # meaning and advice by class
UNKNOWN_RULE = "far from all training data"


def label_slices(model, X):
    """Label slices (rows of X) by a fitted classifier: a DataFrame of label and rule, with the index of X.

    `X` is a DataFrame of the rates that it was trained on, such as events per cycle; `model` is a fitted
    C45Classifier (of :mod:`cmlib.fingerprint.c45`), or an UnknownRejector around one (which may answer "unknown";
    :mod:`cmlib.fingerprint.unknown`). The rule is the condition of the tree's leaf as text, or "far from all
    training data".
    """
    tree = getattr(model, "classifier_", model)
    label = model.predict(X)
    rule = tree.rules()["rule"].loc[tree.apply(X)].to_numpy()
    if tree is not model:
        rule = np.where(model.is_unknown(X), UNKNOWN_RULE, rule)
    return pd.DataFrame({"label": label, "rule": rule}, index=X.index)


def phases(labelled):
    """Join neighboring slices of the same label and rule: a DataFrame, a row per phase.

    `labelled` is what :func:`label_slices` returns, indexed by the slices' ends [s]. Columns: start_s and end_s
    [s], n_slices, label, rule.
    """
    changed = (labelled != labelled.shift()).any(axis=1).cumsum()
    ends = labelled.index.to_numpy(dtype=float)
    length = float(np.median(np.diff(ends))) if len(ends) > 1 else ends[0]
    grouped = labelled.assign(end_s=ends).groupby(changed.to_numpy())
    firsts = {name: (name, "first") for name in ("label", "rule")}
    stretches = grouped.agg(end_s=("end_s", "last"), n_slices=("end_s", "size"), **firsts)
    start = stretches["end_s"].shift(fill_value=max(ends[0] - length, 0.0))
    columns = ["start_s", "end_s", "n_slices", "label", "rule"]
    return stretches.assign(start_s=start)[columns].reset_index(drop=True)


def advice(label: str) -> tuple[str, str]:
    """Return what a class means, and what a programmer can do about it.

    Parameters
    ----------
    label : str
        A class, such as ``P_LLC``.

    Returns
    -------
    meaning : str
        What slices of that class have in common.
    advice : str
        What to try.

    Raises
    ------
    ValueError
        If there is no such class.
    """
    if label not in _ADVICE:
        raise InputError(f"advice: no class {label!r}; there are {', '.join(_ADVICE)}.")
    entry = _ADVICE[label]
    return entry["meaning"], entry["advice"]


def score_programs(labels: ArrayLike, expected: ArrayLike, programs: ArrayLike) -> pd.DataFrame:
    """Score how well programs of known behavior were labelled.

    Parameters
    ----------
    labels : array-like of str, shape (n_slices,)
        Predicted labels.
    expected : array-like of str, shape (n_slices,)
        Correct labels.
    programs : array-like of str, shape (n_slices,)
        Program of each slice.

    Returns
    -------
    DataFrame
        A row for each program: expected (of its first slice), right, pathological and unknown [% of its slices],
        n_slices, most (the most frequent label), most_share (its share [% of its slices]).
    """
    columns = {"label": labels, "expected": expected, "program": programs}
    frame = pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})
    label = frame["label"]
    frame = frame.assign(right=label == frame["expected"], unknown=label == "unknown")
    frame["pathological"] = label.str.startswith("P_")
    grouped = frame.groupby("program", sort=False)
    percent = 100 * grouped[["right", "pathological", "unknown"]].mean()
    most = grouped["label"].agg(lambda values: values.value_counts().index[0]).rename("most")
    is_most = frame["label"] == frame["program"].map(most)
    share = 100 * is_most.groupby(frame["program"], sort=False).mean().rename("most_share")
    sizes = grouped.size().rename("n_slices")
    return pd.concat([grouped["expected"].first(), sizes, percent, most, share], axis=1)
