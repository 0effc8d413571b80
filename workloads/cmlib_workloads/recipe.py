"""What recipes are made of: inputs made once, compilers, tools and packages that are needed."""

import fcntl
import hashlib
import importlib.util
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cmlib import places
from cmlib.collect.record import LaunchSpec
from cmlib.collect.toolchain import find_compiler, run_tool
from cmlib.errors import CmlibError
from cmlib.io.archive import atomic_output

# Java comes from many packages; whichever brought the command will do.
_ANY_THAT_BRINGS = {"default-jre-headless": "java", "default-jdk-headless": "javac"}


def cached_input(name, make, **about):
    """Path of an input, which is generated if it isn't there."""
    text = json.dumps(about, sort_keys=True, default=str)
    target = folder() / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"
    if target.exists():
        return target
    with open(target.with_name(f".{target.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            with atomic_output(target) as draft:
                make(draft)
    return target


def compiled(source, *options):
    """Compile a C program of one file, once; its path."""

    def make(path):
        compiler = find_compiler("CC", "cc", source.name, "gcc and libc6-dev")
        run_tool([compiler, "-std=gnu11", "-O2", "-Wall", source, "-o", path, *options])

    return cached_input(source.stem, make, source=source.read_text(encoding="utf-8"))


@contextmanager
def scratch(name):
    """A folder for what a program writes, empty at first and removed at the end."""
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder(), ignore_cleanup_errors=True) as path:
        yield Path(path)


def folder():
    """Where inputs are; made if it isn't there."""
    path = places.results_dir() / "inputs"
    path.mkdir(parents=True, exist_ok=True)
    return path


@dataclass(frozen=True)
class Recipe:
    """A program to record."""

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
    """Which of these Debian packages are not installed; Java may be by whatever package."""
    names = sorted(name for name in set(names) if not shutil.which(_ANY_THAT_BRINGS.get(name, "")))
    if not names or shutil.which("dpkg-query") is None:
        return names
    shown = ["dpkg-query", "--show", "--showformat=${Package} ${Status}\n", *names]
    rows = subprocess.run(shown, capture_output=True, text=True).stdout.splitlines()
    return [name for name in names if f"{name} install ok installed" not in rows]


def missing_modules(names):
    """Which of these Python packages can't be imported here."""
    return [name for name in names if importlib.util.find_spec(name) is None]


def check_installed(recipe):
    """Raise CmlibError, with the command that helps, if `recipe` lacks anything."""
    todo = []
    if packages := missing_packages(recipe.packages):
        todo.append(f"apt-get install --no-install-recommends {' '.join(packages)}")
    if modules := missing_modules(recipe.modules):
        todo.append(f"pip install 'cmlib[spark]' (for {', '.join(modules)})")
    if todo:
        raise CmlibError(f"program {recipe.name!r} can't run here; what is missing: {'; '.join(todo)}")
