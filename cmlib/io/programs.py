"""Read the tables of programs that cmlib records (data/programs): suites, micro-benchmarks, kernels, Spark's
parameters."""

import functools
from dataclasses import dataclass

import pandas as pd
import yaml

from cmlib import places
from cmlib.errors import CmlibError


def program_entries():
    """The content of programs.yaml: a dict of suite to a dict of program to its entries."""
    suites = yaml.safe_load(_table("programs.yaml").read_text(encoding="utf-8"))
    del suites["anchors"]
    return suites


@functools.cache
def suites():
    """A dict of program to suite, for every program in programs.yaml."""
    return {name: suite for suite, programs in program_entries().items() for name in programs}


def program_label(name, *, scale=1.0, options=None):
    """The text noted as the command of a recorded program of cmlib's, the same on any machine.

    It is the command that records it: ``cmlib record --program NAME --scale 1 --option KEY=VALUE``.
    """
    chosen = "".join(f" --option {key}={value}" for key, value in sorted((options or {}).items()))
    return f"cmlib record --program {name} --scale {scale:g}{chosen}"


def parse_program_label(text):
    """Name (str), scale (float) and options (dict) from the text that :func:`program_label` made; CmlibError if it is
    none."""
    words = text.split()
    begins, pairs = words[:3] == ["cmlib", "record", "--program"], words[6:]
    if not begins or words[4:5] != ["--scale"] or pairs[::2] != ["--option"] * len(pairs[1::2]):
        raise CmlibError(f"{text!r} is not the command of a program that cmlib gets ready")
    return words[3], float(words[5]), dict(pair.split("=", 1) for pair in pairs[1::2])


@dataclass(frozen=True)
class MicroBenchmark:
    """A C program with a pathological and a healthy form (Yoo et al. 2012, Table 1): a row of micro_benchmarks.csv.

    `blocks` are the basic blocks of an operation in both forms, "" where they depend on the size.
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
    """A program of AutoPerf's Table 2, in a good and a bad form: a row of kernels.csv.

    `runs` are numbers of runs: of the good form to train and to test on, of the bad form.
    """

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
    rows["runs"] = list(zip(*(rows.pop(kind) for kind in ("training", "good", "bad")), strict=True))
    return [Kernel(**row) for row in rows.to_dict("records")]


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
    rows = pd.read_csv(_table("spark_parameters.csv"), index_col="abbr", dtype=str, keep_default_na=False)
    needs = [dict(pair.split("=") for pair in text.split()) for text in rows["needs"]]
    return {abbr: SparkParameter(**row) for abbr, row in rows.assign(needs=needs).to_dict("index").items()}


def emitted_events():
    """emitted_events.csv: software events counted beside Spark, which can be emitted, and which others they cause."""
    return pd.read_csv(_table("emitted_events.csv"), comment="#").set_index("event")


def _table(name):
    """Path of a table in data/programs."""
    return places.programs_dir() / name
