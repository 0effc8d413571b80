"""Run programs and count what they do, by perf or under Valgrind, and examine the machine that counts."""
