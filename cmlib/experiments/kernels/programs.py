"""The programs of AutoPerf's Table 2, each in a good and a bad form, and the small programs that stand for them.

A :class:`Kernel` is a small program of this project that stands for one of the paper's; :func:`kernels` lists them.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from cmlib import places

__all__ = ["kernels"]

OVERHEAD_FILE = "overhead.json"  # tells, beside a program's recordings, how much slower counting makes it


@dataclass(frozen=True)
class Kernel:
    """A program as of AutoPerf's Table 2, in a good and a bad form: a row of kernels.csv.

    Attributes
    ----------
    name : str
    stands_for : str
        Name of the paper's program in whose place it is run.
    type : str
        Kind of the bad form's defect, such as ``fs`` (false sharing).
    original : bool
        True if it is the paper's program itself.
    size : int
        Its input's size, which the command line gets.
    runs : (int, int, int)
        Numbers of runs: of the good form to train on and to test on, and of the bad form.
    exponent : int
        Power of `size` with which its work grows.
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
    """The table of AutoPerf's programs (Table 2): a list of Kernel, in the order of that table."""
    rows = pd.read_csv(places.shipped("programs") / "kernels.csv", dtype={"original": bool})
    rows["runs"] = list(zip(*(rows.pop(kind) for kind in ("training", "good", "bad")), strict=True))
    return [Kernel(**row) for row in rows.to_dict("records")]
