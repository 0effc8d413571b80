"""What the rows of a file of counts mean: kinds of core, places, modes, readings, processors and metrics.

Readers (:mod:`cmlib.io.formats`) return what a file says, with its own names. The modules of this package derive
from these rows everything that is known afterwards; each has one subject and pure functions, from data to new data.
"""
