"""Read the recordings of the micro-benchmarks of Yoo et al. (2012), and learn from them.

`programs` has the table of the programs; `recordings` reads their recordings and cuts them into time slices;
`fingerprint` trains trees on the slices, and `validation` estimates their errors; `cache_levels` finds cache levels in
latencies; `single_run` records one run of a program to be diagnosed. NothingRecordedError if nothing is recorded.
"""
