"""Widgets for the ends of notebooks: controls above a figure, which is drawn anew when a control moves.

:func:`ranking` and :func:`fingerprint` take results of a notebook and return a :class:`Panel`, which Jupyter
displays. :func:`dropdown` and :func:`slider` make the controls of a new Panel. A Panel shows the message of a
ValueError or CmlibError in place of the figure.
"""

from cmlib.explore.fingerprint import fingerprint
from cmlib.explore.panel import Panel, dropdown, offer, slider
from cmlib.explore.ranking import ranking

__all__ = ["Panel", "dropdown", "fingerprint", "offer", "ranking", "slider"]
