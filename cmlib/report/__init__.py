"""Run the notebooks of a profile, keep their results, and lay these out as HTML pages.

A profile is a set of values for the notebooks' parameters, such as ``smoke`` (small) and ``paper`` (full).
:func:`run_profile` runs them; a notebook keeps its results with :class:`Results`. Names are loaded when they are first
used, so that a notebook that keeps its results does not load the code that runs notebooks. ValueError for an unknown
profile, notebook or parameter, NotebookError for a notebook that fails.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
