"""Run programs and count what they do, by perf or under Valgrind, and examine the machine that counts.

Packages: `machine` (processor, counters, names of events), `record` (runs under perf, stored as recordings),
`simulate` (runs under Valgrind's Callgrind). Nothing else in cmlib starts programs.
"""
