"""Detect performance anomalies of a new version from good runs alone (AutoPerf).

A run is a DataFrame, a row per sample: function, location, and a column per counter, its count divided by
instructions or by work. `AutoPerf` is a scikit-learn estimator that is fitted to good runs and predicts whether a
run is anomalous; :mod:`cmlib.compare.counters` compares several runs of two versions by it. Names are imported when
they are first used. Raises a ValueError for a run with other counters or functions than the good ones, or with
values that are not finite.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
