"""List the micro-benchmarks: small programs with one known bottleneck.

:func:`micro_benchmarks` lists all of them (Yoo et al. 2012, Table 1, and some more). :func:`table_1` makes a table
of the recorded ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from cmlib import places

__all__ = ["micro_benchmarks", "table_1"]


@dataclass(frozen=True)
class MicroBenchmark:
    """A C program in two forms: with a bottleneck (P) and without it (N).

    Attributes
    ----------
    name : str
        Name of the program.
    pathology : str
        Bottleneck of the form P.
    bound : {"Mem", "CPU"}
        Part of the machine that limits the form P: memory or processor.
    levels : tuple of str
        Cache levels that are filled with data: L2, L3 or M (main memory). Empty if the size does not matter.
    trained : bool
        True if decision trees are trained on it.
    table_1 : str
        Name in Table 1 of the paper. Empty for other programs.
    source : str
        Name of the source file without suffix. Empty if it equals `name`.
    flags : tuple of str
        Options of the compiler.
    blocks : (str, str)
        Number of basic blocks per operation, in the forms P and N. Empty if it depends on the size.
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
    """List the micro-benchmarks.

    Returns
    -------
    list of MicroBenchmark
        First the programs of Table 1 in the paper (Yoo et al. 2012), then the programs that are used for tests
        only.
    """
    rows = pd.read_csv(
        places.shipped("programs") / "micro_benchmarks.csv", dtype={"trained": bool}, keep_default_na=False
    )
    split = {"levels": rows["levels"].str.split().map(tuple), "flags": rows["flags"].str.split().map(tuple)}
    blocks = list(zip(rows.pop("blocks_P"), rows.pop("blocks_N"), strict=True))
    return [MicroBenchmark(**row) for row in rows.assign(**split, blocks=blocks).to_dict("records")]


def table_1(about: pd.DataFrame) -> pd.DataFrame:
    """Make a table of the recorded micro-benchmarks.

    Only programs on which decision trees are trained are listed.

    Parameters
    ----------
    about : DataFrame
        One row per time slice, from :func:`cmlib.experiments.micro.recordings.cut`.

    Returns
    -------
    DataFrame
        One row per program, with these columns:

        - ``in the paper``: name in Table 1 of the paper.
        - ``program``, ``pathology``: name, and bottleneck.
        - ``working sets [KiB]``: sizes of the data (str).
        - ``P``, ``N``: number of slices of the form with and of the form without the bottleneck.
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
