"""What the process that kernels are forked from does beside its imports: importing this module starts Numba."""

import os

import numba

# Else the debugger, which is imported next, prints a warning.
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
# The first function initializes the compiler, which those need, too, that are read from a cache.
numba.njit(lambda: None)()
