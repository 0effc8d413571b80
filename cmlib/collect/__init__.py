"""Programs are started and counted: machine, perf, samples, Valgrind, and the compilers that this takes."""
