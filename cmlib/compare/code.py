"""Find whether the code that two commands execute differs in more than its addresses.

:func:`compare_code` takes two commands and returns a :class:`CodeComparison`: whether the code is the same,
the functions that differ, and the ratio of instructions. perf records the files that each command maps into
memory. If functions in these files differ, Callgrind finds the functions that are executed.
"""

import filecmp
import re
import shlex
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from cmlib.collect.record.execute import run_timed
from cmlib.collect.simulate import read_functions
from cmlib.collect.simulate.valgrind import EACH_INSTRUCTION, FIXED_LIBC, simulate
from cmlib.collect.toolchain import run_tool
from cmlib.compare.machine_code import find_differences, read_code
from cmlib.compare.versions import VersionCommand
from cmlib.errors import CmlibError, InputError
from cmlib.scratch import scratch_folder
from cmlib.terminal import say

# A line of `perf script --show-mmap-events` for a file that is mapped as executable:
# true 24953 [-01] 50361.05: PERF_RECORD_MMAP2 24953/24953: [0x55c0(0x4000) @ 0x2000 fe:00 260958 0]: r-xp /usr/bin/true
_EXECUTABLE_MAPPING = re.compile(r"PERF_RECORD_MMAP2? .{,300}: r-xp (/.+)$", re.MULTILINE)
_LONGEST_S = 600  # time limit of a run under Callgrind
# Callgrind counts only instructions and keeps the linker's names of functions.
_CALLGRIND_OPTIONS = ["--cache-sim=no", "--branch-sim=no", "--demangle=no", *EACH_INSTRUCTION]
_MOST_NAMED = 20  # largest number of functions in a result


@dataclass(frozen=True)
class CodeComparison:
    """Result of :func:`compare_code`.

    Attributes
    ----------
    same : bool or None
        True if all executed functions and their data are equal except for addresses. None if the code cannot
        be compared.
    reason : str
        Reason why the code cannot be compared, or the names of data that differ.
    functions : tuple of str
        At most 20 executed functions that differ.
    instructions : float or None
        Instructions of the new version divided by instructions of the old version. None if they were not
        counted.
    """

    same: bool | None
    reason: str = ""
    functions: tuple[str, ...] = ()
    instructions: float | None = None


def compare_code(
    old: VersionCommand, new: VersionCommand, notify: Callable[[str], None] = say
) -> CodeComparison:
    """Compare the code that two commands execute.

    Each command is run once under perf. If functions differ, each command is run again under Callgrind.

    Parameters
    ----------
    old, new : VersionCommand
        Commands to run.
    notify : callable, optional
        Function that is called with a message (str) before the second run.

    Returns
    -------
    CodeComparison
        If the code cannot be compared, `same` is None. For example, a command fails.

    Raises
    ------
    InputError
        If a command is not valid shell syntax.
    """
    try:
        return _compare_mapped_files(old, new, notify)
    except InputError:
        raise
    except CmlibError as error:
        return CodeComparison(None, str(error).partition("\n")[0])


def _compare_mapped_files(
    old: VersionCommand, new: VersionCommand, notify: Callable[[str], None]
) -> CodeComparison:
    """Compare the code in the files that two commands map into memory."""
    old_files = _list_mapped_files(old)
    new_files = _list_mapped_files(new)
    _check_arguments(old, new, {*old_files, *new_files})
    differing = set()  # pairs of a file's path (str) and the name of a function in it
    for old_file, new_file in _pair_files(old_files, new_files):
        functions, data_objects = find_differences(read_code(old_file), read_code(new_file))
        if data_objects:
            return CodeComparison(False, f"data differ in {new_file}: {_join_first(data_objects)}")
        differing |= {(str(file), name) for file in (old_file, new_file) for name in functions}
    if not differing:
        return CodeComparison(True)
    return _compare_executed(old, new, differing, notify)


def _compare_executed(
    old: VersionCommand, new: VersionCommand, differing: set[tuple[str, str]], notify: Callable[[str], None]
) -> CodeComparison:
    """Find the differing functions that two commands execute.

    `differing` contains pairs of path and function.
    """
    names = sorted({name for _, name in differing})
    notify(f"Functions that differ: {len(names)}. Callgrind finds the ones that are executed.")
    try:
        old_functions, old_instructions = _list_executed(old)
        new_functions, new_instructions = _list_executed(new)
    except CmlibError as error:
        raise CmlibError(
            f"{_join_first(_demangle(names))} changed, but it is unknown whether they are executed: {error}"
        ) from error
    executed_names = {name for _, name in differing & (old_functions | new_functions)}
    return CodeComparison(
        same=not executed_names,
        functions=_demangle(sorted(executed_names)[:_MOST_NAMED]),
        instructions=float(new_instructions / old_instructions),
    )


def _demangle(names: list[str]) -> tuple[str, ...]:
    """Convert linker names to C++ or Rust names. Names are unchanged without ``c++filt``."""
    if not names or not shutil.which("c++filt"):
        return tuple(names)
    return tuple(run_tool(["c++filt", *names]).splitlines())


def _list_mapped_files(version: VersionCommand) -> list[Path]:
    """Run a command under perf, and list the executables and libraries that it maps."""
    with scratch_folder() as folder:
        file = str(Path(folder, "perf.data"))
        recording = ["perf", "record", "-q", "-B", "-N", "-e", "dummy:u", "-o", file, "--", *version.argv(0)]
        run_timed(recording, environment={}, timeout=version.timeout)
        text = run_tool(["perf", "script", "-i", file, "--show-mmap-events"])
    files = [Path(path) for path in dict.fromkeys(_EXECUTABLE_MAPPING.findall(text))]
    if not all(path.is_file() for path in files):
        raise CmlibError("code was generated at run time, or its file was deleted")
    return files


def _check_arguments(old: VersionCommand, new: VersionCommand, mapped: set[Path]) -> None:
    """Raise CmlibError if the arguments of two commands differ.

    Arguments at one position may differ if they are mapped files, or files with equal content.
    """
    old_words = old.argv(0)
    new_words = new.argv(0)
    if len(old_words) != len(new_words):
        raise CmlibError("the commands have different arguments")
    for old_word, new_word in zip(old_words, new_words, strict=True):
        paths = [Path(shutil.which(word) or word).resolve() for word in (old_word, new_word)]
        may_differ = mapped.issuperset(paths) or _have_same_content(*paths)
        if old_word != new_word and not may_differ:
            raise CmlibError(f"the commands differ in {shlex.quote(old_word)} and {shlex.quote(new_word)}")


def _have_same_content(old: Path, new: Path) -> bool:
    """Return True if both paths are files with equal content."""
    return old.is_file() and new.is_file() and filecmp.cmp(old, new, shallow=False)


def _pair_files(old: list[Path], new: list[Path]) -> list[tuple[Path, Path]]:
    """Pair the files of two commands by name, and return the pairs with different content.

    If one file of each command remains, these two are a pair. CmlibError is raised if a file has no partner.
    """
    old_left = [path for path in old if path not in new]
    new_left = [path for path in new if path not in old]
    pairs = []
    for path in list(old_left):
        partner = next((candidate for candidate in new_left if candidate.name == path.name), None)
        if partner is not None:
            old_left.remove(path)
            new_left.remove(partner)
            pairs.append((path, partner))
    if len(old_left) == len(new_left) == 1:
        pairs.append((old_left.pop(), new_left.pop()))
    if old_left or new_left:
        raise CmlibError(f"only one command loads {_join_first({*map(str, old_left), *map(str, new_left)})}")
    return [pair for pair in pairs if not filecmp.cmp(*pair, shallow=False)]


def _list_executed(version: VersionCommand) -> tuple[set[tuple[str, str]], float]:
    """Run a command under Callgrind.

    Return the pairs of path and function that it executes, and its number of instructions.
    """
    with scratch_folder() as folder:
        outcome = simulate(
            version.argv(0),
            Path(folder),
            options=_CALLGRIND_OPTIONS,
            env=FIXED_LIBC,
            limit_s=version.timeout or _LONGEST_S,
        )
    functions = read_functions(outcome.raw.decode(errors="replace"), strings_once=True)
    # Callgrind calls the second level of a recursive function f'2.
    executed = {(file, name.partition("'")[0]) for _, name, _, file in functions.index}
    return executed, functions["Ir"].sum()


def _join_first(names: Collection[str]) -> str:
    """Join the first five names with commas, and add the number of further names."""
    text = ", ".join(sorted(names)[:5])
    n_further = len(names) - 5
    return f"{text} and {n_further} more" if n_further > 0 else text
