"""Programs to measure, each with its recipe: how its input is made, how it is started, and what it needs.

`catalog` has all programs by name, `campaign` records all that the notebooks read, `commands` are its commands.
Recipes are in `cpu`, `spark`, `servers`, `kernels` (AutoPerf's programs) and `micro` (micro-benchmarks); modules
`recordings` of `kernels`, `micro` and `tuning` read what was recorded of these. A CmlibError if something that a
program needs is not installed.
"""
