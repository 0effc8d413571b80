"""The micro-benchmarks under simulation (Valgrind's Callgrind): what is run, with which caches, and how long.

:func:`simulated_cases` lists what there is, :func:`record_simulated_cases` makes it. A RecordError if Valgrind is
missing or a program fails.
"""

from dataclasses import dataclass
from pathlib import Path

from cmlib.collect.simulate import record_simulated
from cmlib_workloads.micro import MicroCase, build, cases
from cmlib_workloads.micro.case_runs import on_path

# Streams are prefetched, never too late: what misses all the same is in no order.
SET = "sim_pf"
# Small caches make for small working sets, and so for short simulations.
CACHES = {"I1": "32K,8,64", "D1": "32K,8,64", "L2": "256K,8,64", "LL": "2M,16,64"}
# Odd numbers of pages: halves of a power of two would share a few sets of the cache, which is another pathology.
_PAGES = {"L2": (41, 55), "L3": (193, 385), "M": (4097, 6145)}
WORKING_SETS = {level: [4096 * n for n in pages] for level, pages in _PAGES.items()}
_COUNTED = "execute"  # the function that every program calls once it is prepared
_RANDOM, _SEEDS = "branch", (1, 2, 3)
_INTERVALS, _EVERY_BLOCKS = 30, 200_000
_FORMS = ("P", "N")
# A netlist is read line by line, and then elements are swapped.
_NETLIST, _BYTES_A_LINE, _SWAPS, _NETLIST_BLOCKS = "netlist", 128, 1_000_000, 10_000_000


@dataclass(frozen=True)
class SimulatedCase:
    """What is simulated of a case: a number of operations, with random numbers of one seed.

    `case` is a MicroCase, `operations` and `seed` are its own; `every_blocks` is the length of an interval [basic
    blocks].
    """

    case: MicroCase
    operations: int
    every_blocks: int
    seed: int = 1

    @property
    def name(self):
        """Name (str) of the recording: the case's, with the seed where it is not 1."""
        return self.case.name + (f"-{self.seed}" if self.seed > 1 else "")


def simulated_cases():
    """List of all SimulatedCases (a micro-benchmark, its operations and seed)."""
    listed = [case for trained in (True, False) for case in cases(WORKING_SETS, trained=trained)]
    return [
        SimulatedCase(case, *_length(case), seed)
        for case in listed
        for seed in (_SEEDS if case.program.name == _RANDOM else (1,))
    ]


def record_simulated_cases(programs_folder, folder):
    """Simulate every case that is not there yet, and yield the names (str) of all.

    `programs_folder` is for the compiled programs, `folder` for the recordings. Only the function that executes is
    counted, not what prepares its data. A RecordError if Valgrind is missing or a program fails.
    """
    with on_path(build(programs_folder)):
        for one in simulated_cases():
            record_case(
                one.name,
                one.case.argv(operations=one.operations, seed=one.seed),
                every_blocks=one.every_blocks,
                function=_COUNTED,
                note=one.case.note,
                folder=folder,
            )
            yield one.name


def record_case(name, command, *, caches=CACHES, **how):
    """Simulate a program once, with three levels of caches and prefetching; a run that exists is kept.

    `name` is the recording's, `command` a list of str, `caches` maps I1, D1, L2 and LL to ``SIZE,WAYS,LINE``; `how`
    are further arguments of :func:`cmlib.collect.simulate.record_simulated`, folder among them. Returns nothing; a
    RecordError if Valgrind is missing or the program fails.
    """
    Path(how["folder"]).mkdir(parents=True, exist_ok=True)
    quiet = {"notify": lambda message: None}
    record_simulated(name, command, passes=1, caches=caches, set_name=SET, **quiet, **how)


def _length(case):
    """Operations of a case, and basic blocks of an interval: a tuple."""
    if case.program.name == _NETLIST:
        return case.size // _BYTES_A_LINE + _SWAPS, _NETLIST_BLOCKS
    blocks = case.program.blocks[_FORMS.index(case.form)]
    return round(_INTERVALS * _EVERY_BLOCKS / int(blocks)), _EVERY_BLOCKS
