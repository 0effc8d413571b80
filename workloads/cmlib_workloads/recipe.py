"""What recipes are made of: inputs made once, compilers, tools and packages that are needed.

A :class:`Recipe` describes a program to record; its `prepare` takes scale and options, and gives a context manager
that yields a LaunchSpec (the command, and the processes of a server). A CmlibError if something is not installed,
or a compiler fails.
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from cmlib import places
from cmlib.collect.record import LaunchSpec
from cmlib.collect.toolchain import find_compiler, run_tool
from cmlib.errors import CmlibError
from cmlib.io.archive import atomic_output, working_folder
from cmlib.io.archive.replacing import open_lock_file

# Java comes from many packages; whichever brought the command will do.
_ANY_THAT_BRINGS = {"default-jre-headless": "java", "default-jdk-headless": "javac"}


def cached_input(name, make, **about):
    """Path of an input (file or folder), which is generated if it isn't there.

    `make` is called with the path at which to make it; `name` (str) begins the file's name, and `about` (keywords)
    is all that its content depends on: other values make another file. What `make` raises is passed on, and nothing
    is left.
    """
    text = json.dumps(about, sort_keys=True, default=str)
    target = folder() / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"
    if target.exists():
        return target
    lock = open_lock_file(target.with_name(f".{target.name}.lock"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            with atomic_output(target) as draft:
                make(draft)
    finally:
        os.close(lock)
    return target


def compiled(source, *options):
    """Compile a C program of one file (`source`, a path), once, and return the path of the program.

    `options` are further ones of the compiler (str). A CmlibError if there is no compiler, or it fails.
    """

    def make(path):
        compiler = find_compiler("CC", "cc", source.name, "gcc and libc6-dev")
        run_tool([compiler, "-std=gnu11", "-O2", "-Wall", source, "-o", path, *options])

    return cached_input(source.stem, make, source=source.read_text(encoding="utf-8"))


@contextmanager
def scratch(name):
    """Make a folder for what a program writes: a context manager that yields its Path; it is removed at the end.

    `name` (str) is part of the folder's name.
    """
    with working_folder(folder() / f".{name}") as path:
        yield path


def folder():
    """Folder (Path) of the inputs, among the results; made if it isn't there."""
    path = places.results_dir() / "inputs"
    path.mkdir(parents=True, exist_ok=True)
    return path


@dataclass(frozen=True)
class Recipe:
    """A program to record.

    `name`, `suite` (such as "HiBench"), `stands_for` (the paper's program), `framework` and `input` are text for
    lists. `prepare` takes scale (float) and options (dict of str), and gives a context manager that yields a
    LaunchSpec. `packages` (of Debian) and `modules` (of Python) are what it needs; `options` are the names of those
    it takes, one that ends with a dot for all that begin so.
    """

    name: str
    suite: str
    stands_for: str
    framework: str
    input: str
    prepare: Callable[[float, Mapping[str, str]], AbstractContextManager[LaunchSpec]]
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def missing_packages(names):
    """Sorted list of those Debian packages (names) that are not installed; Java may be by whatever package.

    All of them if there is no dpkg-query to ask.
    """
    names = sorted(name for name in set(names) if not shutil.which(_ANY_THAT_BRINGS.get(name, "")))
    if not names or shutil.which("dpkg-query") is None:
        return names
    shown = ["dpkg-query", "--show", "--showformat=${Package} ${Status}\n", *names]
    rows = subprocess.run(shown, capture_output=True, text=True).stdout.splitlines()
    return [name for name in names if f"{name} install ok installed" not in rows]


def missing_modules(names):
    """List of those Python packages (names) that can't be imported here."""
    return [name for name in names if importlib.util.find_spec(name) is None]


def check_installed(recipe):
    """Raise a CmlibError, with the command that helps, if a program (`recipe`, a Recipe) lacks a package here."""
    todo = []
    if packages := missing_packages(recipe.packages):
        todo.append(f"apt-get install --no-install-recommends {' '.join(packages)}")
    if modules := missing_modules(recipe.modules):
        todo.append(f"pip install 'cmlib[spark]' (for {', '.join(modules)})")
    if todo:
        raise CmlibError(f"program {recipe.name!r} can't run here; what is missing: {'; '.join(todo)}")
