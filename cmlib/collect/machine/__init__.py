"""Examine the machine that counts: what it is, how many of its counters tell the truth, who may use them."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["examine"]
