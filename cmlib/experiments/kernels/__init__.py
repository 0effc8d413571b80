"""List the small programs that stand for those of AutoPerf's Table 2, and read their recordings.

`programs` has the table of the programs (:class:`~cmlib.experiments.kernels.programs.Kernel`), and `recordings` reads
the recordings of ``cmlib record-kernels``. NothingRecordedError if nothing is recorded.
"""
