"""Start Numba in the process from which kernels are forked; importing this module does it."""

import os

import numba

# Else the debugger, which is imported next, prints a warning.
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
# The first function initializes the compiler. Functions that are read from a cache need it, too.
numba.njit(lambda: None)()
