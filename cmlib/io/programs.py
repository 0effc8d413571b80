"""Tables of the programs that recordings are made of: suites, micro-benchmarks, kernels, and Spark's parameters."""

import csv
import functools
from dataclasses import dataclass

import pandas as pd
import yaml

from cmlib import places
from cmlib.errors import CmlibError


def program_entries():
    """Everything written of each program, by suite and name, as a dictionary of dictionaries."""
    suites = yaml.safe_load(_table("programs.yaml").read_text(encoding="utf-8"))
    del suites["anchors"]
    return suites


@functools.cache
def suites():
    """The suite of every program that has a recipe, by the program's name."""
    return {name: suite for suite, programs in program_entries().items() for name in programs}


def program_label(name, *, scale=1.0, options=None):
    """What is noted as the command of a recording: the same wherever it is made."""
    chosen = "".join(f" --option {key}={value}" for key, value in sorted((options or {}).items()))
    return f"cmlib record --program {name} --scale {scale:g}{chosen}"


def parse_program_label(text):
    """The name, scale and options of a program's label."""
    words = text.split()
    begins, pairs = words[:3] == ["cmlib", "record", "--program"], words[6:]
    if not begins or words[4:5] != ["--scale"] or pairs[::2] != ["--option"] * len(pairs[1::2]):
        raise CmlibError(f"{text!r} is not the command of a program that cmlib gets ready")
    return words[3], float(words[5]), dict(pair.split("=", 1) for pair in pairs[1::2])


@dataclass(frozen=True)
class MicroBenchmark:
    """A C program with a pathological and a healthy form (Yoo et al. 2012, Table 1)."""

    name: str
    pathology: str
    bound: str
    levels: tuple[str, ...]
    trained: bool
    table_1: str
    source: str
    flags: tuple[str, ...]
    # Basic blocks of an operation, of both forms; empty where they depend on the size.
    blocks: tuple[str, str]


def micro_benchmarks():
    """Read the table of the micro-benchmarks (Yoo et al. 2012, Table 1).

    Returns
    -------
    list of MicroBenchmark
        Those of Table 1 first, then those that no tree is trained on.
    """
    rows = pd.read_csv(_table("micro_benchmarks.csv"), dtype={"trained": bool}, keep_default_na=False)
    split = {"levels": rows["levels"].str.split().map(tuple), "flags": rows["flags"].str.split().map(tuple)}
    blocks = list(zip(rows.pop("blocks_P"), rows.pop("blocks_N"), strict=True))
    return [MicroBenchmark(**row) for row in rows.assign(**split, blocks=blocks).to_dict("records")]


@dataclass(frozen=True)
class Kernel:
    """A program of AutoPerf's Table 2, in a good and a bad form."""

    name: str
    stands_for: str
    type: str
    original: bool
    size: int
    runs: tuple[int, int, int]
    exponent: int = 1
    nodes: int = 1


def kernels():
    """Read the table of AutoPerf's programs (Table 2).

    Returns
    -------
    list of Kernel
        In the order of that table.
    """
    rows = pd.read_csv(_table("kernels.csv"), dtype={"original": bool})
    runs = ["training", "good", "bad"]
    fields = rows.drop(columns=runs).to_dict("records")
    return [
        Kernel(**row, runs=tuple(numbers))
        for row, numbers in zip(fields, rows[runs].to_numpy().tolist(), strict=True)
    ]


@dataclass(frozen=True)
class SparkParameter:
    """A parameter of Spark, the ends of its range, and the settings without which it does nothing."""

    name: str
    low: str
    default: str
    high: str
    needs: dict[str, str]


@functools.cache
def spark_parameters():
    """The parameters of CounterMiner's Table IV, by their abbreviation."""
    with _table("spark_parameters.csv").open(encoding="utf-8") as rows:
        return {
            row.pop("abbr"): SparkParameter(
                **row | {"needs": dict(pair.split("=") for pair in row["needs"].split())}
            )
            for row in csv.DictReader(rows)
        }


def emitted_events():
    """Software events counted beside Spark, which of them can be emitted, and what they then bring along."""
    return pd.read_csv(_table("emitted_events.csv"), comment="#").set_index("event")


def _table(name):
    return places.programs_dir() / name
