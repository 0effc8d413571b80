"""Widgets for the ends of the notebooks: turn a control, see what changes."""

from cmlib.explore.cleaning import cleaning
from cmlib.explore.interactions import interactions
from cmlib.explore.panel import Panel
from cmlib.explore.panels import anomaly, compression, fingerprint, topdown, tuning
from cmlib.explore.ranking import ranking
