"""List the programs of AutoPerf's Table 2, each in a good and a bad form, and the small programs that stand for them.

A :class:`Kernel` is a small program of this project that stands for one of the paper's; :func:`kernels` lists them.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from cmlib import places

__all__ = ["kernels"]

OVERHEAD_FILE = "overhead.json"  # the cost of counting, in the folder of a program's recordings


@dataclass(frozen=True)
class Kernel:
    """A program like one of AutoPerf's Table 2, in a good and a bad form: a row of kernels.csv.

    Attributes
    ----------
    name : str
    stands_for : str
        Name of the paper's program that it replaces.
    type : str
        Kind of the bad form's defect, such as ``fs`` (false sharing).
    original : bool
        True if it is the paper's program itself.
    size : int
        Size of its input, an argument of its command line.
    runs : (int, int, int)
        Numbers of runs of the good form for training, of the good form for tests, and of the bad form.
    exponent : int
        Its work grows with this power of `size`.
    nodes : int
        NUMA nodes that it needs.
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
    """List the programs of AutoPerf's Table 2.

    Returns
    -------
    list of Kernel
        In the order of that table.
    """
    rows = pd.read_csv(places.shipped("programs") / "kernels.csv", dtype={"original": bool})
    rows["runs"] = list(zip(*(rows.pop(kind) for kind in ("training", "good", "bad")), strict=True))
    return [Kernel(**row) for row in rows.to_dict("records")]
