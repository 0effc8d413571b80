"""The small programs that stand for those of AutoPerf's Table 2, and their recordings.

`programs` has the table of the programs (:class:`~cmlib.experiments.kernels.programs.Kernel`), `recordings` reads what
``cmlib record-kernels`` recorded of them. A NothingRecordedError if nothing is recorded.
"""
