"""Analyze recordings, in ways that several notebooks share: matrices, targets and diagnoses of a program.

`programs` lists the recorded programs. `recorded_matrix` returns a program's events and its IPC (instructions per
cycle) as a Matrix, and `refine` ranks the events of a Matrix. Names are imported when they are first used, so that a
notebook loads only the libraries that it needs. NothingRecordedError if a program is not recorded, UnfitRecordingError
if its recordings are not enough for the analysis.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
