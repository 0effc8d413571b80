"""Analyses of recordings that several notebooks share: matrices, targets, clusters and profiles of a program.

Names are imported when they are first used, so that a user of one does not load the models of all.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
