"""Widgets for the ends of the notebooks: turn a control, see what changes."""

from cmlib.explore.anomaly import anomaly
from cmlib.explore.cleaning import cleaning
from cmlib.explore.compression import compression
from cmlib.explore.fingerprint import fingerprint
from cmlib.explore.interactions import interactions
from cmlib.explore.panel import Panel
from cmlib.explore.ranking import ranking
from cmlib.explore.topdown import topdown
from cmlib.explore.tuning import tuning
