"""Examine the machine that counts: its processor, how many of its counters count right, and who may use them."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["examine"]
