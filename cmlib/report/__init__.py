"""Run the notebooks of a profile and write their results as HTML pages.

A profile is a set of parameter values for the notebooks. For example, ``smoke`` (small) and ``paper`` (full).
:func:`run_profile` runs the notebooks of a profile. A notebook saves its figures, tables and numbers with
:class:`Results`. Names are imported on first use, so that a notebook does not import the code that runs
notebooks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
