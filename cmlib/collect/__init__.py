"""Programs are started and counted: machine, perf, samples, Valgrind, workloads, campaign."""
