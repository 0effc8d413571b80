"""Widgets for the ends of the notebooks: turn a control, see what changes."""

from cmlib.explore.fingerprint import fingerprint
from cmlib.explore.panel import Panel, dropdown, offer, slider
from cmlib.explore.ranking import ranking
