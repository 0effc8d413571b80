"""Classify the phases of a simulated run by the decision tree that cmlib ships.

The tree was trained on simulated micro-benchmarks with known bottlenecks. It is stored in
``data/fingerprint/simulated_tree.json``, which ``python tools/simulated_tree.py`` makes from the recordings in
``data/recordings/fingerprint-simulated``.
"""

import functools
import json

from cmlib.fingerprint.simulated_rates import EXACT_RATES, simulated_counts
from cmlib.fingerprint.stored_tree import tree_from_json
from cmlib.io.events import simulated_events
from cmlib.places import shipped

TREE_FILE = "simulated_tree.json"


def classify_phases(counts):
    """Return the class of each phase.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_phases, n_events)
        Simulated counts (``sim.…``).

    Returns
    -------
    ndarray of str, shape (n_phases,)
        Such as ``P_Mem_M`` (waits for memory) or ``N`` (no bottleneck that the tree knows).
    """
    return shipped_tree().predict(rates_of_one_run(counts))


@functools.cache
def shipped_tree():
    """Return the tree that cmlib ships, a fitted C45Classifier."""
    text = (shipped("fingerprint") / TREE_FILE).read_text(encoding="utf-8")
    return tree_from_json(json.loads(text))


def rates_of_one_run(counts):
    """Compute the rates of misses and mispredictions from counts of a simulation with two cache levels.

    Parameters
    ----------
    counts : DataFrame
        Counts of Callgrind's events, one row per phase or interval.

    Returns
    -------
    DataFrame
        Events per 1,000 estimated cycles, one row for each row of `counts`.

    Raises
    ------
    KeyError
        If an event is missing.
    """
    events = simulated_events()
    counts = simulated_counts(counts[events.index], events["weight"])
    return counts.drop(columns=["instructions", "cycles", *EXACT_RATES]).div(counts["cycles"], axis=0)
