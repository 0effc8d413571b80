"""Detect performance anomalies of a new version of a program (AutoPerf).

`AutoPerf` is a scikit-learn estimator. It is fitted to good runs only and predicts whether another run is anomalous.
A run is a DataFrame with one row per sample: function, location, and one column per counter. Counts are divided by
instructions or by work. :mod:`cmlib.compare.counters` uses it to compare two versions of a program.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
