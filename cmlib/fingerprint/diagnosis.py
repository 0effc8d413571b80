"""What the labels of a program's slices say: phases, shares, the rules that fired, and what to do about it."""

import numpy as np
import pandas as pd

from cmlib.fingerprint.phases import IN_ORDER, NOTHING_ELSE

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
    # What stands out in a phase of a simulated run.
    NOTHING_ELSE: (
        "executes instructions, and nothing that is simulated adds a tenth to them",
        "What is left is doing less work; a simulation does not see chains of dependent instructions and slow "
        "arithmetic.",
    ),
    "first-level data misses": (
        "misses the simulated first-level data cache, on data that the last level holds",
        "Visit data in the order in which it lies; put fields that are used together side by side; work on blocks "
        "that fit the first level. A processor prefetches what lies in order into the first level, the model does not.",
    ),
    IN_ORDER: (
        "misses the simulated first-level data cache line after line, as a processor prefetches them",
        "Fewer bytes an element would be the next step.",
    ),
    "last-level data misses": (
        "misses the simulated last-level cache",
        "Use less data, or use it again before going on; keep references instead of looking up again; store nodes "
        "in the order of their use. The model of `cmlib diagnose` prefetches what lies in order, and never too late.",
    ),
    "mispredictions": (
        "takes branches that the simulated predictor gets wrong",
        "Sort or partition what a branch decides on, or compute both sides. A processor predicts better than the "
        "model.",
    ),
    "instruction-cache misses": (
        "misses the simulated instruction cache",
        "Let the compiler order code by a profile (-fprofile-use), and keep rarely used code out of loops.",
    ),
    "unknown": (
        "behaves like nothing in the training data",
        "Look at the events farthest from training; a micro-benchmark with this behaviour would teach the tree.",
    ),
}


def label_slices(model, X):
    """Label slices and name the rule that decided."""
    tree = getattr(model, "classifier_", model)
    label = model.predict(X)
    rule = tree.rules()["rule"].loc[tree.apply(X)].to_numpy()
    if tree is not model:
        rule = np.where(model.is_unknown(X), UNKNOWN_RULE, rule)
    return pd.DataFrame({"label": label, "rule": rule}, index=X.index)


def phases(labelled):
    """Join neighbouring slices of one label and rule."""
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


def advice(label):
    """What a class means, and what a programmer can do about it."""
    if label not in _ADVICE:
        raise ValueError(f"advice: no class {label!r}; there are {', '.join(_ADVICE)}.")
    return _ADVICE[label]


def score_programs(labels, expected, programs):
    """How well programs of known behaviour were labelled."""
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
