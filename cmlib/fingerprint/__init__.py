"""Fingerprints of hardware bottlenecks: key events, time slices and the decision tree (Yoo et al. 2012)."""

from cmlib.lazy import loader

_HOMES = {"C45Classifier": "c45", "select_key_events": "key_events"}
__all__ = list(_HOMES)
__getattr__ = loader(__name__, _HOMES)
