"""What the labels of a program's slices say: phases, shares, the rules that fired, and what to do about it."""

import numpy as np
import pandas as pd

UNKNOWN_RULE = "far from all training data"
_HEALTHY = "nothing of what the tree was trained to find"
_ADVICE = {
    "P_Mem_L2": (
        "misses the first-level cache, on data that the second level holds",
        "Visit data in the order in which it lies; put fields that are used together side by side; work on blocks "
        "that fit the first level.",
    ),
    "P_Mem_L3": (
        "misses the second-level cache, on data that the third level holds",
        "Work on blocks that fit the second level; make elements smaller (indices for pointers, "
        "separate arrays for what "
        "is rarely used); replace lists and trees by arrays.",
    ),
    "P_Mem_M": (
        "waits for memory: scattered accesses to more data than the caches hold",
        "Look for lookups by name or key in a loop, pointer chasing and random order: keep the reference once found, "
        "sort or partition the accesses, store nodes in the order of their use, prefetch.",
    ),
    "P_CPU": (
        "waits inside the core: mispredicted branches, chains of dependent instructions, or arithmetic by software",
        "Sort or partition what a branch decides on, or compute both sides; break a chain into "
        "several independent ones; "
        "use the hardware's arithmetic instead of emulated (decimal, quadruple) types.",
    ),
    "P_Mem_L2/L3": (
        "misses the first-level cache, on data that another cache holds",
        "Visit data in the order in which it lies; work on blocks that fit the first level; make elements smaller.",
    ),
    "N_Mem_L2": (_HEALTHY, "The data fits the second-level cache and is used in order."),
    "N_Mem_L3": (_HEALTHY, "The data fits the third-level cache and is used in order."),
    "N_Mem_M": (
        _HEALTHY,
        "Data streams from memory in order; fewer bytes an element would be the next step.",
    ),
    "N_CPU": (_HEALTHY, "The core is busy with useful work; what is left is doing less of it."),
    "N": (_HEALTHY, "Of what a simulation sees nothing stands out; what is left is doing less work."),
    "unknown": (
        "behaves like nothing in the training data",
        "Look at the events farthest from training; a micro-benchmark with this behaviour would teach the tree.",
    ),
}


def label_slices(model, X):
    """Label slices and name the rule that decided.

    Parameters
    ----------
    model : fitted C45Classifier, or UnknownRejector of one
    X : DataFrame of float, shape (n_slices, n_events)

    Returns
    -------
    DataFrame
        Index of X; columns ``label`` and ``rule``.
    """
    tree = getattr(model, "classifier_", model)
    label = model.predict(X)
    rule = tree.rules()["rule"].loc[tree.apply(X)].to_numpy()
    if tree is not model:
        rule = np.where(model.is_unknown(X), UNKNOWN_RULE, rule)
    return pd.DataFrame({"label": label, "rule": rule}, index=X.index)


def phases(labelled):
    """Join neighbouring slices of one label and rule.

    Parameters
    ----------
    labelled : DataFrame
        From `label_slices`, of one run; index ``time_s``, the end of each slice [s].

    Returns
    -------
    DataFrame
        A row a phase: ``start_s``, ``end_s``, ``n_slices``, ``label``, ``rule``. A phase starts where the one
        before ended, the first one a slice's length before its first slice's end.
    """
    changed = (labelled != labelled.shift()).any(axis=1).cumsum()
    ends = labelled.index.to_numpy(dtype=float)
    length = float(np.median(np.diff(ends))) if len(ends) > 1 else ends[0]
    grouped = labelled.assign(end_s=ends).groupby(changed.to_numpy())
    stretches = grouped.agg(
        end_s=("end_s", "last"), n_slices=("end_s", "size"), label=("label", "first"), rule=("rule", "first")
    )
    start = stretches["end_s"].shift(fill_value=max(ends[0] - length, 0.0))
    return stretches.assign(start_s=start)[["start_s", "end_s", "n_slices", "label", "rule"]].reset_index(
        drop=True
    )


def shares(labels):
    """Share of each label [percent of slices], descending."""
    return (
        (100 * pd.Series(np.asarray(labels)).value_counts(normalize=True))
        .rename("share")
        .rename_axis("label")
    )


def label_shares(labels, programs):
    """How the slices of each program were labelled.

    Parameters
    ----------
    labels, programs : array-like of str, shape (n_slices,)

    Returns
    -------
    DataFrame
        Index ``program`` in order of appearance, a column a label [percent of the program's slices].
    """
    frame = pd.DataFrame({"program": np.asarray(programs), "label": np.asarray(labels)})
    counted = frame.groupby(["program", "label"], sort=False).size().unstack(fill_value=0)
    return 100 * counted.div(counted.sum(axis=1), axis=0)


def advice(label):
    """What a class means, and what a programmer can do about it.

    Parameters
    ----------
    label : str
        One of the eight classes, one of those that a single simulated run tells, or "unknown".

    Returns
    -------
    meaning, remedy : str

    Raises
    ------
    ValueError
        If there is no such class.
    """
    if label not in _ADVICE:
        raise ValueError(f"advice: no class {label!r}; there are {', '.join(_ADVICE)}.")
    return _ADVICE[label]


def score_programs(labels, expected, programs):
    """How well programs of known behaviour were labelled.

    Parameters
    ----------
    labels : array-like of str, shape (n_slices,)
        As labelled.
    expected : array-like of str, shape (n_slices,)
        Class of each slice's program.
    programs : array-like of str, shape (n_slices,)

    Returns
    -------
    DataFrame
        Index ``program``; columns ``expected``, ``n_slices``, ``right`` (percent in the expected class),
        ``pathological`` (percent in a P class), ``unknown`` (percent), ``most`` (the most frequent label).
    """
    frame = pd.DataFrame(
        {"label": np.asarray(labels), "expected": np.asarray(expected), "program": np.asarray(programs)}
    )
    frame = frame.assign(
        right=frame["label"] == frame["expected"],
        pathological=frame["label"].str.startswith("P_"),
        unknown=frame["label"] == "unknown",
    )
    grouped = frame.groupby("program", sort=False)
    percent = 100 * grouped[["right", "pathological", "unknown"]].mean()
    most = grouped["label"].agg(lambda values: values.value_counts().index[0]).rename("most")
    return pd.concat([grouped["expected"].first(), grouped.size().rename("n_slices"), percent, most], axis=1)
