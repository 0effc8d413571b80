"""Compare the machine code of two commands: did the code that ran change, or only its addresses?

:func:`compare_code` takes two :class:`cmlib.compare.versions.Version` (commands to run), and gives a
:class:`CodeComparison`: same (True, False, or None if that can't be told), the functions that ran and differ
(names), and the ratio of instructions. A CmlibError on the way is not raised, but told in its `reason`.
"""

import filecmp
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from cmlib.collect.record.execute import run_timed
from cmlib.collect.simulate import read_functions
from cmlib.collect.simulate.valgrind import EACH_INSTRUCTION, FIXED_LIBC, simulate
from cmlib.collect.toolchain import run_tool
from cmlib.compare.machine_code import find_differences, read_code
from cmlib.errors import CmlibError, InputError
from cmlib.scratch import scratch_folder
from cmlib.terminal import say

_MAPPED = re.compile(r"PERF_RECORD_MMAP2? .{,300}: r-xp (/.+)$", re.MULTILINE)
_LONGEST_S = 600  # limit of a run under Callgrind
# Callgrind without caches and branches, its functions by the linker's names.
_EXECUTED = ["--cache-sim=no", "--branch-sim=no", "--demangle=no", *EACH_INSTRUCTION]
_MOST_NAMED = 20  # functions that are named, at most


@dataclass(frozen=True)
class CodeComparison:
    """Result of :func:`compare_code`.

    Attributes
    ----------
    same : bool or None
        False if a function that ran differs in more than addresses or refers to data that differ, or if data differ
        that no function refers to; None if that can't be told.
    reason : str
        Why it can't be told, or what differs beside functions.
    functions : tuple of str
        Functions that ran and differ, 20 at most; none where `reason` names data.
    instructions : float or None
        Instructions that the new version executes under Valgrind, as a multiple of the old one's; None if these were
        not counted.
    """

    same: bool | None
    reason: str = ""
    functions: tuple[str, ...] = ()
    instructions: float | None = None


def compare_code(old, new, notify=say):
    """Compare what two commands execute, by the files that they load and the functions in these: a CodeComparison.

    `old` and `new` are Versions (commands to run). Each is run once, to see which files it maps. Where functions
    differ, each is run once more under Callgrind, to see which of them were executed. Where a command fails or the
    code can't be compared no CmlibError is raised: `same` is None and `reason` says why; an InputError only for a
    command that a shell could not split into words. `notify`, a callable, gets a sentence before the second run.
    """
    try:
        return _compared(old, new, notify)
    except InputError:
        raise
    except CmlibError as error:
        return CodeComparison(None, str(error).partition("\n")[0])


def _compared(old, new, notify):
    """As :func:`compare_code`, but raises CmlibError where the code can't be compared."""
    files = [_mapped_files(version) for version in (old, new)]
    _check_arguments(old, new, {path for mapped in files for path in mapped})
    pairs = _paired(*files)
    unlike = {}
    for pair in pairs:
        functions, objects = find_differences(*map(read_code, pair))
        if objects:
            return CodeComparison(False, f"data differ in {pair[1]}: {_listed(objects)}")
        unlike |= {(str(path), name): name for path in pair for name in functions}
    if not unlike:
        return CodeComparison(True)
    names = sorted(set(unlike.values()))
    notify(f"Functions that differ: {len(names)}. Callgrind tells whether they ran.")
    try:
        executed, counts = zip(*map(_executed, (old, new)), strict=True)
    except CmlibError as error:
        raise CmlibError(f"{_listed(_demangled(names))} changed, and may not have run: {error}") from error
    ran = {name for key, name in unlike.items() if any(key in functions for functions in executed)}
    functions = _demangled(sorted(ran)[:_MOST_NAMED])
    return CodeComparison(not ran, functions=functions, instructions=float(counts[1] / counts[0]))


def _demangled(names):
    """A tuple of the names as C++ and Rust sources write them; unchanged without binutils."""
    if not names or not shutil.which("c++filt"):
        return tuple(names)
    return tuple(run_tool(["c++filt", *names]).splitlines())


def _mapped_files(version):
    """Paths of the executables and libraries that a command and its children map, by perf."""
    with scratch_folder() as folder:
        file = str(Path(folder, "perf.data"))
        recording = ["perf", "record", "-q", "-B", "-N", "-e", "dummy:u", "-o", file, "--", *version.argv(0)]
        run_timed(recording, environment={}, timeout=version.timeout)
        text = run_tool(["perf", "script", "-i", file, "--show-mmap-events"])
    files = [Path(path) for path in dict.fromkeys(_MAPPED.findall(text))]
    if not all(path.is_file() for path in files):
        raise CmlibError("code was made at run time, or its file is gone")
    return files


def _check_arguments(old, new, mapped):
    """Raise CmlibError if the commands differ in more than the files that they execute."""
    words = [version.argv(0) for version in (old, new)]
    if len(words[0]) != len(words[1]):
        raise CmlibError("the commands have different arguments")
    for pair in zip(*words, strict=True):
        paths = [Path(shutil.which(word) or word).resolve() for word in pair]
        same = pair[0] == pair[1] or mapped.issuperset(paths)
        if not same and not (all(path.is_file() for path in paths) and filecmp.cmp(*paths, shallow=False)):
            raise CmlibError(f"the commands differ in {shlex.quote(pair[0])} and {shlex.quote(pair[1])}")


def _paired(old, new):
    """Pairs (old path, new path) of the files that differ in content: of the same name, or the only ones left.

    CmlibError if a file has no counterpart.
    """
    left = [[path for path in files if path not in others] for files, others in ((old, new), (new, old))]
    pairs = []
    for path in list(left[0]):
        partner = next((other for other in left[1] if other.name == path.name), None)
        if partner is None and len(left[0]) == len(left[1]) == 1:
            partner = left[1][0]
        if partner is not None:
            left[0].remove(path)
            left[1].remove(partner)
            pairs.append((path, partner))
    if left[0] or left[1]:
        raise CmlibError(f"only one of them loads {_listed({*map(str, left[0]), *map(str, left[1])})}")
    return [pair for pair in pairs if not filecmp.cmp(*pair, shallow=False)]


def _executed(version):
    """A set of (file, function) that a command executes under Callgrind, and the number of its instructions."""
    with scratch_folder() as folder:
        settings = {"env": FIXED_LIBC, "limit_s": version.timeout or _LONGEST_S}
        outcome = simulate(version.argv(0), Path(folder), options=_EXECUTED, **settings)
    functions = read_functions(outcome.raw.decode(errors="replace"), strings_once=True)
    names = {(file, name.partition("'")[0]) for _, name, _, file in functions.index}
    return names, functions["Ir"].sum()


def _listed(names):
    """The first five names with commas between, and how many more there are."""
    first, more = sorted(names)[:5], max(0, len(names) - 5)
    return ", ".join(first) + f" and {more} more" * bool(more)
