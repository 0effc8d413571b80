"""Examine this machine: its processor, its counters and its events.

- `examine`: check whether and how well this machine can count
- `describe`: describe the machine for the metadata of a recording
- `census`: find the number of counters that count correctly
- `known_events`: list the events of the processor
- `counters_lock`: prevent other processes from counting at the same time
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["examine"]
