"""Ask of recordings what two notebooks or more ask: matrices, targets, clusters and profiles of a program.

Names are loaded when they are asked for: what runs notebooks takes one that needs no model.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
