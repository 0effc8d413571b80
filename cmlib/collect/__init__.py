"""Start programs and count them, by perf or under Valgrind, and examine the machine."""
