"""Detect performance anomalies of a new version from good runs alone (AutoPerf), and compare times of two versions.

Names are imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
