"""Fingerprints of hardware bottlenecks: key events, time slices and the decision tree (Yoo et al. 2012)."""

from cmlib.fingerprint.c45 import C45Classifier

__all__ = ["C45Classifier"]
