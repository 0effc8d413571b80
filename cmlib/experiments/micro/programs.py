"""List the micro-benchmarks of hardware bottlenecks, each with a healthy form (Yoo et al. 2012, Table 1).

:func:`micro_benchmarks` lists all as :class:`MicroBenchmark`; :func:`table_1` makes a table of those recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from cmlib import places

__all__ = ["micro_benchmarks", "table_1"]


@dataclass(frozen=True)
class MicroBenchmark:
    """A C program with a pathological and a healthy form (Yoo et al. 2012, Table 1): a row of micro_benchmarks.csv.

    Attributes
    ----------
    name : str
    pathology : str
        Fault of the pathological form.
    bound : {"Mem", "CPU"}
        Its limit: memory or processor.
    levels : tuple of str
        Levels in which its data are placed, of L2, L3 and M (memory); empty if the level does not matter.
    trained : bool
        True if trees are trained on it.
    table_1 : str
        Its name in the paper's Table 1; empty if it is not in that table.
    source : str
        Stem of its source file; empty if that is its name.
    flags : tuple of str
        Options for the compiler.
    blocks : (str, str)
        Basic blocks per operation in the pathological and the healthy form; empty if they depend on the size.
    """

    name: str
    pathology: str
    bound: str
    levels: tuple[str, ...]
    trained: bool
    table_1: str
    source: str
    flags: tuple[str, ...]
    blocks: tuple[str, str]


def micro_benchmarks() -> list[MicroBenchmark]:
    """List the micro-benchmarks (Yoo et al. 2012, Table 1).

    Returns
    -------
    list of MicroBenchmark
        Those of Table 1 first, then those that no tree is trained on.
    """
    rows = pd.read_csv(
        places.shipped("programs") / "micro_benchmarks.csv", dtype={"trained": bool}, keep_default_na=False
    )
    split = {"levels": rows["levels"].str.split().map(tuple), "flags": rows["flags"].str.split().map(tuple)}
    blocks = list(zip(rows.pop("blocks_P"), rows.pop("blocks_N"), strict=True))
    return [MicroBenchmark(**row) for row in rows.assign(**split, blocks=blocks).to_dict("records")]


def table_1(about: pd.DataFrame) -> pd.DataFrame:
    """Make a table of the recorded micro-benchmarks of the paper's Table 1.

    Parameters
    ----------
    about : DataFrame
        One row per slice, indexed by program, pass and slice, with the column size [bytes].

    Returns
    -------
    DataFrame
        One row per program. Columns: ``in the paper``, ``program``, ``pathology``, ``working sets [KiB]`` (text), and
        ``P`` and ``N`` (numbers of slices in the pathological and in the healthy form).
    """
    names = about.index.get_level_values("program").str.split("-")
    frame = about.assign(program=names.str[1], form=names.str[2])
    rows = []
    for program in micro_benchmarks():
        cases = frame[frame["program"] == program.name]
        if program.trained and len(cases):
            sizes = [f"{size / 1024:.0f}" for size in sorted(cases["size"].dropna().unique())]
            rows.append(
                {
                    "in the paper": program.table_1,
                    "program": program.name,
                    "pathology": program.pathology,
                    "working sets [KiB]": " ".join(sizes) or "–",
                    **{form: int((cases["form"] == form).sum()) for form in "PN"},
                }
            )
    return pd.DataFrame(rows)
