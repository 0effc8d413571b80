"""Read the tables of programs that cmlib records (data/programs): suites, micro-benchmarks, kernels, Spark's
parameters.

Functions take no argument and read a file that comes with the package.
"""

import functools
from dataclasses import dataclass

import pandas as pd
import yaml

from cmlib import places
from cmlib.errors import CmlibError


def program_entries():
    """The content of programs.yaml: a dict of suite to a dict of program to a dict of its entries.

    Entries, as far as a program has them: input and framework (texts), given (size of the input, dict), maker (what
    gets it ready), stands_for (the paper's program in whose place it is), packages and modules (what it needs),
    options (what a user may set).
    """
    suites = yaml.safe_load(_table("programs.yaml").read_text(encoding="utf-8"))
    del suites["anchors"]
    return suites


@functools.cache
def suites():
    """A dict of program to its suite (str), for every program in programs.yaml."""
    return {name: suite for suite, programs in program_entries().items() for name in programs}


def program_label(name, *, scale=1.0, options=None):
    """The text (str) noted as the command of a recorded program of cmlib's, the same on any machine.

    It is the command that records it: ``cmlib record --program NAME --scale 1 --option KEY=VALUE``. `scale`
    multiplies the program's work, `options` is a dict or None.
    """
    chosen = "".join(f" --option {key}={value}" for key, value in sorted((options or {}).items()))
    return f"cmlib record --program {name} --scale {scale:g}{chosen}"


def parse_program_label(text):
    """Name (str), scale (float) and options (dict of str) from the text that :func:`program_label` made.

    CmlibError if the text is something else.
    """
    words = text.split()
    begins, pairs = words[:3] == ["cmlib", "record", "--program"], words[6:]
    if not begins or words[4:5] != ["--scale"] or pairs[::2] != ["--option"] * len(pairs[1::2]):
        raise CmlibError(f"{text!r} is not the command of a program that cmlib gets ready")
    return words[3], float(words[5]), dict(pair.split("=", 1) for pair in pairs[1::2])


@dataclass(frozen=True)
class MicroBenchmark:
    """A C program with a pathological and a healthy form (Yoo et al. 2012, Table 1): a row of micro_benchmarks.csv.

    Attributes
    ----------
    name : str
    pathology : str
        What is wrong with the pathological form.
    bound : str
        ``Mem`` or ``CPU``: what limits it.
    levels : tuple of str
        Where its data are made to lie: of L2, L3 and M (memory); empty if that does not matter.
    trained : bool
        True if trees are trained on it.
    table_1 : str
        Its name in the paper's Table 1; empty if it is not there.
    source : str
        Stem of its source file; empty if that is its name.
    flags : tuple of str
        Options for the compiler.
    blocks : (str, str)
        Basic blocks of an operation in the pathological and the healthy form, empty where they depend on the size.
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
    """The table of the micro-benchmarks (Yoo et al. 2012, Table 1): a list of MicroBenchmark.

    Those of Table 1 come first, then those that no tree is trained on.
    """
    rows = pd.read_csv(_table("micro_benchmarks.csv"), dtype={"trained": bool}, keep_default_na=False)
    split = {"levels": rows["levels"].str.split().map(tuple), "flags": rows["flags"].str.split().map(tuple)}
    blocks = list(zip(rows.pop("blocks_P"), rows.pop("blocks_N"), strict=True))
    return [MicroBenchmark(**row) for row in rows.assign(**split, blocks=blocks).to_dict("records")]


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


def kernels():
    """The table of AutoPerf's programs (Table 2): a list of Kernel, in the order of that table."""
    rows = pd.read_csv(_table("kernels.csv"), dtype={"original": bool})
    rows["runs"] = list(zip(*(rows.pop(kind) for kind in ("training", "good", "bad")), strict=True))
    return [Kernel(**row) for row in rows.to_dict("records")]


@dataclass(frozen=True)
class SparkParameter:
    """A parameter of Spark.

    `name` is Spark's; `low`, `default` and `high` are its values (str) at the ends of its range and by default, and
    `needs` are the settings (dict of name to value) without which it does nothing.
    """

    name: str
    low: str
    default: str
    high: str
    needs: dict[str, str]


@functools.cache
def spark_parameters():
    """The parameters of CounterMiner's Table IV: a dict of abbreviation, such as ``bbs``, to SparkParameter."""
    rows = pd.read_csv(_table("spark_parameters.csv"), index_col="abbr", dtype=str, keep_default_na=False)
    needs = [dict(pair.split("=") for pair in text.split()) for text in rows["needs"]]
    return {abbr: SparkParameter(**row) for abbr, row in rows.assign(needs=needs).to_dict("index").items()}


def emitted_events():
    """Software events counted beside Spark, from emitted_events.csv: a DataFrame by event.

    Columns: emitted (1 where a program of cmlib's can make the event happen, else 0), with (other events that then
    happen, too) and highest (most that can be made [1/s]); NaN where there is nothing.
    """
    return pd.read_csv(_table("emitted_events.csv"), comment="#").set_index("event")


def _table(name):
    """Path of a table in data/programs."""
    return places.programs_dir() / name
