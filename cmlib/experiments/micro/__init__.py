"""The micro-benchmarks of Yoo et al. (2012), their recordings, and what is learned from them.

`programs` has the table of the programs; `recordings` reads their recordings and cuts them into time slices;
`fingerprint` trains trees on the slices, `validation` estimates their errors; `cache_levels` finds cache levels in
latencies; `single_run` records one run of a program to be diagnosed. A NothingRecordedError if nothing is recorded.
"""
