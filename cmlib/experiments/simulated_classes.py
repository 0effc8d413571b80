"""Classify parts of a simulated run by their bottleneck.

:func:`classify_phases` applies the decision tree that cmlib ships. The tree was trained on small programs with
known bottlenecks, which Valgrind simulated. It is in the file ``data/fingerprint/simulated_tree.json``. To train it
again, run ``python tools/simulated_tree.py``.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

from cmlib.fingerprint.simulated_rates import EXACT_RATES, simulated_counts
from cmlib.fingerprint.stored_tree import tree_from_json
from cmlib.io.events import simulated_events
from cmlib.places import shipped

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

TREE_FILE = "simulated_tree.json"


def classify_phases(counts: pd.DataFrame) -> np.ndarray:
    """Predict the bottleneck of each part of a simulated run.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_parts, n_events)
        Counts of Callgrind's events. The names of the columns begin with ``sim.``.

    Returns
    -------
    ndarray of str, shape (n_parts,)
        Name of the bottleneck. For example, ``P_Mem_M`` (main memory), or ``N`` (no known bottleneck).
    """
    return _load_tree().predict(rates_of_one_run(counts))


@functools.cache
def _load_tree():
    """Return the fitted decision tree that cmlib ships."""
    text = (shipped("fingerprint") / TREE_FILE).read_text(encoding="utf-8")
    return tree_from_json(json.loads(text))


def rates_of_one_run(counts: pd.DataFrame) -> pd.DataFrame:
    """Compute the rates of cache misses and branch mispredictions.

    The counts must come from a simulation with two cache levels.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_rows, n_events)
        Counts of Callgrind's events.

    Returns
    -------
    DataFrame, shape (n_rows, n_rates)
        Events per 1,000 estimated cycles.

    Raises
    ------
    KeyError
        If an event is missing.
    """
    events = simulated_events()
    counts = simulated_counts(counts[events.index], events["weight"])
    return counts.drop(columns=["instructions", "cycles", *EXACT_RATES]).div(counts["cycles"], axis=0)
