"""Load recordings of micro-benchmarks, and train decision trees on them.

A micro-benchmark is a small program with one known bottleneck (Yoo et al. 2012). `fingerprint` loads the recordings
and trains the trees, `validation` measures their errors, and `recordings` reads single runs. `programs` lists the
micro-benchmarks. `single_run` records one run of any program, so that a tree can diagnose it. `cache_levels` finds
the cache levels of a machine by its latencies, and `processor_counts` compares simulated counts with measured
counts.
"""
