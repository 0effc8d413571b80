"""Start Numba's compiler when this module is imported.

Kernels are forked from a process that imports this module. So kernels do not wait for the compiler.
"""

import os

import numba

# Otherwise the debugger, which is imported next, prints a warning.
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
# The first compiled function starts the compiler. Functions from a cache need it, too.
numba.njit(lambda: None)()
