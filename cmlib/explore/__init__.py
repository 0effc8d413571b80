"""Widgets for the ends of the notebooks: turn a knob, see what changes."""

from cmlib.explore.cleaning import cleaning
from cmlib.explore.compression import compression
from cmlib.explore.fingerprint import fingerprint
from cmlib.explore.panel import Panel

__all__ = ["Panel", "cleaning", "compression", "fingerprint"]
