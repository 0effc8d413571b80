"""Analyze recorded programs in ways that several notebooks share.

`programs` selects recorded programs. `recorded_matrix` reads a program into a Matrix: the rates of its events and
its IPC (instructions per cycle). `refine` ranks the events of a Matrix. `summarize_programs` estimates what limits
programs.

Names are imported at their first use, so that a notebook loads only the libraries that it needs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
