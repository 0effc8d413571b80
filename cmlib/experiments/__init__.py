"""Analyses of recordings that several notebooks share: matrices, targets and diagnoses of a program.

`programs` lists what is recorded; `recorded_matrix` gives a program's events and its IPC (instructions per cycle)
as a Matrix; `refine` ranks the events of one. Names are imported when they are first used, so that a user of one
does not load the models of all. A NothingRecordedError if nothing is recorded of what
is asked for, an UnfitRecordingError if what is recorded is not enough.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
