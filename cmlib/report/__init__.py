"""Run the notebooks of a profile, keep their results, and lay these out as HTML pages.

A profile is a set of values for the notebooks' parameters, such as ``smoke`` (small) and ``paper`` (full).
:func:`run_profile` does all of it; a notebook keeps what it finds with :class:`Results`. Names are loaded when they
are asked for: a notebook that keeps its results needn't load what runs notebooks. ValueError for an unknown profile,
notebook or parameter, NotebookError for a notebook that fails.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
