"""Tables of hardware events by processor, and functions that recognise, name, encode and add up events."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["kinds", "recognise", "table", "umask_sums"]
