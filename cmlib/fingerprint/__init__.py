"""Fingerprints of hardware bottlenecks: key events, time slices and the decision tree (Yoo et al. 2012)."""

from cmlib.fingerprint.c45 import C45Classifier
from cmlib.fingerprint.key_events import select_key_events

__all__ = ["C45Classifier", "select_key_events"]
