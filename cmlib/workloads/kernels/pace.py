"""Is the machine as fast as usual? A program that does the same again and again tells.

Neighbours on one host slow each other down without taking processors: they share caches, memory, and the two
threads of a core. Nothing counts that from inside a virtual machine.
"""

import statistics

from cmlib.workloads.kernels.recipe import execute

_FIRST = 8
_REPEATS = 10


class Pace:
    """Time of a program's good form, against what it usually takes.

    Parameters
    ----------
    program : Kernel
    binaries : path-like
    threads : int
    """

    def __init__(self, program, binaries, threads):
        self._argv = program.argv(binaries, "good", threads=threads, repeats=_REPEATS)
        self._seconds = [execute(self._argv)[1] for _ in range(_FIRST)]

    def behind(self):
        """Execute it once more.

        Returns
        -------
        float
            By how much longer it took than usual (0.1: a tenth), which is the quickest quarter so far; negative
            if it was quicker.
        """
        self._seconds.append(execute(self._argv)[1])
        return self._seconds[-1] / statistics.quantiles(self._seconds, n=4)[0] - 1
