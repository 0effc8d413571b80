"""The programs: micro-benchmarks to train on, programs never trained on, and the cases recorded of each."""

import json
from dataclasses import dataclass

_FORMS = ("P", "N")


@dataclass(frozen=True)
class MicroBenchmark:
    """A C program with a pathological and a healthy form.

    Attributes
    ----------
    name : str
        Of its source file, if `source` names no other.
    pathology : str
        What the pathological form suffers from.
    bound : {"Mem", "CPU"}
    levels : tuple of str
        Levels of the memory whose sizes its working set takes; empty for "CPU".
    trained : bool
        Whether the tree is trained on it.
    table_1 : str
        Its name in Table 1; empty if it has none.
    source : str
        Name of its source file, where several programs are built from one.
    flags : tuple of str
        Of the compiler, beside those that all have.
    """

    name: str
    pathology: str
    bound: str
    levels: tuple[str, ...] = ()
    trained: bool = True
    table_1: str = ""
    source: str = ""
    flags: tuple[str, ...] = ()

    def label(self, form, level=""):
        """Class of a form at a level, such as ``P_Mem_L2`` or ``N_CPU``."""
        return "_".join(part for part in (form, self.bound, level) if part)


@dataclass(frozen=True)
class Case:
    """One form of a program at one working-set size.

    Attributes
    ----------
    program : MicroBenchmark
    form : {"P", "N"}
    level : str
        ``"L2"``, ``"L3"``, ``"M"``, or empty.
    number : int
        Of the size among those of the level, from 1; 0 without a level.
    size : int or None
        Working set [bytes].
    """

    program: MicroBenchmark
    form: str
    level: str = ""
    number: int = 0
    size: int | None = None

    @property
    def name(self):
        """Name of the recording, such as ``micro-array-P-L2-1``."""
        place = (self.level, str(self.number)) if self.level else ()
        return "-".join(["micro" if self.program.trained else "unseen", self.program.name, self.form, *place])

    @property
    def label(self):
        """Class of its slices."""
        return self.program.label(self.form, self.level)

    @property
    def note(self):
        """Kept with every run."""
        kind = "micro" if self.program.trained else "unseen"
        return json.dumps({"label": self.label, "size": self.size, "kind": kind})

    def argv(self, *, seconds=None, operations=None, seed=1):
        """Command line, to run where the program is on the path.

        Parameters
        ----------
        seconds : float, optional
            How long to execute; preparing is not included.
        operations : int, optional
            How many operations to execute instead.
        seed : int, default 1

        Returns
        -------
        list of str

        Raises
        ------
        ValueError
            Unless exactly one of `seconds` and `operations` is given.
        """
        if (seconds is None) == (operations is None):
            raise ValueError(f"{self.name}: give either seconds or operations.")
        size = ["--size", str(self.size)] if self.size else []
        length = ["--seconds", f"{seconds:g}"] if operations is None else ["--operations", str(operations)]
        return [self.program.name, "--form", self.form, *size, "--seed", str(seed), *length]


def micro_benchmarks():
    """All programs: those of Table 1 first, then those never trained on.

    Table 1 names twelve (three memory-bound ones at three levels, three CPU-bound ones), the text says
    thirteen. Here RS is two, since the integer and the floating-point side have reservation stations of their
    own.

    Returns
    -------
    list of MicroBenchmark
    """
    levels = ("L2", "L3", "M")
    return [
        MicroBenchmark("array", "cache misses, reading an array at random", "Mem", levels, table_1="Array"),
        MicroBenchmark("linked_list", "cache misses along a scattered list", "Mem", levels, table_1="LL"),
        MicroBenchmark("pointer", "cache misses that wait for each other", "Mem", levels, table_1="Pointer"),
        MicroBenchmark("branch", "mispredicted branches", "CPU", table_1="BranchMis"),
        MicroBenchmark("reservation", "a chain of dependent integer instructions", "CPU", table_1="RS"),
        MicroBenchmark(
            "reservation_float",
            "a chain of dependent floating-point instructions",
            "CPU",
            table_1="RS",
            source="reservation",
            flags=("-DFLOATING",),
        ),
        MicroBenchmark("floating_point", "floating point emulated by software", "CPU", table_1="FPU"),
        MicroBenchmark("hash_join", "a hash table larger than the cache", "Mem", ("L3", "M"), trained=False),
        MicroBenchmark(
            "binary_search", "searching a large array at random", "Mem", ("L3", "M"), trained=False
        ),
        MicroBenchmark("sparse_matrix", "gathering from a large vector", "Mem", ("M",), trained=False),
        MicroBenchmark("matrix_columns", "walking across the rows of a matrix", "Mem", ("M",), trained=False),
        MicroBenchmark(
            "netlist",
            "looking elements up by name, swapping at random (canneal)",
            "Mem",
            ("M",),
            trained=False,
        ),
        MicroBenchmark(
            "count_keys", "counting keys in a large table at random", "Mem", ("L3", "M"), trained=False
        ),
        MicroBenchmark(
            "tree_walk", "walking a tree scattered over the memory", "Mem", ("L3", "M"), trained=False
        ),
        MicroBenchmark("graph_search", "searching a graph numbered at random", "Mem", ("M",), trained=False),
        MicroBenchmark("interpreter", "unpredictable indirect jumps", "CPU", trained=False),
        MicroBenchmark("filter", "unpredictable conditional branches", "CPU", trained=False),
        MicroBenchmark(
            "logistic", "an iteration in which every step waits for the last", "CPU", trained=False
        ),
        MicroBenchmark("decimal", "decimal arithmetic by software", "CPU", trained=False),
        MicroBenchmark("varint", "unpredictable lengths of what is decoded", "CPU", trained=False),
        MicroBenchmark("median_filter", "unpredictable comparisons of samples", "CPU", trained=False),
    ]


def cases(working_sets, *, trained):
    """List the cases of the programs trained on, or of the others.

    Parameters
    ----------
    working_sets : mapping of str to sequence of int
        Sizes by level [bytes], from `working_sets`. Programs never trained on take the middle one of a level.
    trained : bool

    Returns
    -------
    list of Case
    """
    listed = []
    for program in micro_benchmarks():
        if program.trained != trained:
            continue
        for form in _FORMS:
            if not program.levels:
                listed.append(Case(program, form))
            for level in program.levels:
                sizes = list(enumerate(working_sets[level], start=1))
                chosen = sizes if trained else sizes[len(sizes) // 2 :][:1]
                listed += [Case(program, form, level, number, int(size)) for number, size in chosen]
    return listed
