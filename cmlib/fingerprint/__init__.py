"""Fingerprints of hardware bottlenecks: key events, time slices and the decision tree (Yoo et al. 2012).

Runs are cut into time slices: X is a DataFrame of rates (events per cycle), a row per slice, y the classes
(bottlenecks such as ``P_LLC``, or none). `select_key_events` returns the few events that classify best;
`C45Classifier` is a scikit-learn classifier, and `UnknownRejector` one that may answer "unknown". Raises a
ValueError for values that are not finite.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
