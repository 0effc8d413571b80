"""Examine the machine that counts: its processor, how many of its counters count correctly, and who may use them.

`examine` returns an Examination with findings, `describe` a dict of the machine for metadata, `census` a Census with
the number of good counters, `known_events` the table of the events that can be counted (DataFrame); `counters_lock`
keeps others from counting. CountersBusy, a CmlibError, if another process counts.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["examine"]
