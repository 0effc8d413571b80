"""Store a fitted C4.5 tree as plain numbers and names, and restore it.

:func:`tree_to_json` returns a dict that JSON can hold, and :func:`tree_from_json` makes the classifier from it.
"""

import numpy as np

from cmlib.fingerprint.c45 import C45Classifier

_NODE_ARRAYS = {"feature_": np.int64, "left_": np.int64, "right_": np.int64, "counts_": np.int64}


def tree_to_json(tree):
    """Return a fitted tree as a dict of parameters, names of features and classes, and arrays of its nodes.

    Parameters
    ----------
    tree : C45Classifier
        Fitted to a DataFrame, so that its features have names.

    Returns
    -------
    dict
        Of lists, texts and numbers; a leaf has None as its threshold.
    """
    return {
        "parameters": tree.get_params(),
        "features": tree.feature_names_in_.tolist(),
        "classes": tree.classes_.tolist(),
        "threshold_": [None if np.isnan(value) else float(value) for value in tree.threshold_],
        **{name: getattr(tree, name).tolist() for name in _NODE_ARRAYS},
    }


def tree_from_json(stored):
    """Return the fitted C45Classifier that :func:`tree_to_json` stored in a dict."""
    tree = C45Classifier(**stored["parameters"])
    tree.feature_names_in_ = np.array(stored["features"], dtype=object)
    tree.n_features_in_ = len(stored["features"])
    tree.classes_ = np.array(stored["classes"])
    tree.threshold_ = np.array(stored["threshold_"], dtype=np.float64)
    for name, dtype in _NODE_ARRAYS.items():
        setattr(tree, name, np.array(stored[name], dtype=dtype))
    return tree
