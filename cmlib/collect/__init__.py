"""Run programs and count their events, under perf or under Valgrind.

- `machine`: examine the processor and its counters
- `record`: count events of programs by perf, and store the counts as recordings
- `simulate`: simulate programs under Valgrind's Callgrind, and store the counts as recordings

Nothing else in cmlib starts programs.
"""
