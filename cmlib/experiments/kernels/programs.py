"""List the kernels: small programs in a good and a bad form.

The bad form has a performance defect. :func:`kernels` lists all of them. Each replaces a program of Table 2 in the
AutoPerf paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from cmlib import places

__all__ = ["kernels"]

OVERHEAD_FILE = "overhead.json"  # run times with and without counting, in the folder of a kernel's recordings


@dataclass(frozen=True)
class Kernel:
    """A small program in a good and a bad form.

    The bad form has a performance defect. The kernel is used instead of a program of the AutoPerf paper.

    Attributes
    ----------
    name : str
        Name of the kernel.
    stands_for : str
        Name of the program in the AutoPerf paper.
    type : str
        Kind of the defect. For example, ``fs`` (false sharing).
    original : bool
        True if the kernel is the program of the paper itself.
    size : int
        Size of the input, an argument on the command line.
    runs : (int, int, int)
        Number of good runs for training, of good runs for tests, and of bad runs.
    exponent : int
        The work grows with this power of the size.
    nodes : int
        Number of NUMA nodes that the kernel needs.
    """

    name: str
    stands_for: str
    type: str
    original: bool
    size: int
    runs: tuple[int, int, int]
    exponent: int = 1
    nodes: int = 1


def kernels() -> list[Kernel]:
    """List the kernels.

    Returns
    -------
    list of Kernel
        Kernels in the order of Table 2 in the AutoPerf paper.
    """
    rows = pd.read_csv(places.shipped("programs") / "kernels.csv", dtype={"original": bool})
    rows["runs"] = list(zip(*(rows.pop(kind) for kind in ("training", "good", "bad")), strict=True))
    return [Kernel(**row) for row in rows.to_dict("records")]
