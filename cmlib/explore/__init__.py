"""Widgets for the ends of notebooks: controls above a figure that is redrawn when one moves."""

from cmlib.explore.fingerprint import fingerprint
from cmlib.explore.panel import Panel, dropdown, offer, slider
from cmlib.explore.ranking import ranking
