"""What recipes are made of: inputs made once, compilers, tools and packages that are needed, and a run to try one."""

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from cmlib import places
from cmlib.collect.record import Counted
from cmlib.collect.record.execute import run_timed
from cmlib.errors import CmlibError
from cmlib.io.archive import draft_of

# Java comes from many packages; whichever brought the command will do.
_ANY_THAT_BRINGS = {"default-jre-headless": "java", "default-jdk-headless": "javac"}
_LONGEST_S = 600


def cached_input(name, make, **about):
    """Path of an input, which is generated if it isn't there."""
    text = json.dumps(about, sort_keys=True, default=str)
    target = folder() / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"
    if target.exists():
        return target
    with open(target.with_name(f".{target.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            with draft_of(target) as draft:
                make(draft)
    return target


def find_compiler(variable, usual, purpose, packages):
    """The compiler that an environment variable names, or the usual one; a CmlibError without either."""
    compiler = os.environ.get(variable) or usual
    if shutil.which(compiler) is None:
        raise CmlibError(
            f"no compiler ({compiler}) to build {purpose} with: install one (Debian: {packages}), or name one in "
            f"{variable}. Recordings that are there can be analysed without."
        )
    return compiler


def compile_to(target, compiler, options, sources, headers):
    """Compile a program, unless it is there and newer than what it is made of."""
    newest = max(file.stat().st_mtime for file in (*sources, *headers))
    if not target.is_file() or target.stat().st_mtime < newest:
        with draft_of(target) as draft:
            run_tool([compiler, *options, *sources, "-o", draft])


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
    prepare: Callable[[float, Mapping[str, str]], AbstractContextManager[Counted]]
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def missing_packages(recipe):
    """Debian packages that `recipe` needs and that are not installed."""
    installed = installed_packages(recipe.packages)
    return [package for package in recipe.packages if package not in installed]


def installed_packages(names):
    """Which of these Debian packages are installed, or Java by whatever package."""
    names = sorted(set(names))
    there = {name for name in names if name in _ANY_THAT_BRINGS and shutil.which(_ANY_THAT_BRINGS[name])}
    if not names or shutil.which("dpkg-query") is None:
        return there
    shown = ["dpkg-query", "--show", "--showformat=${Package} ${Status}\n", *names]
    rows = subprocess.run(shown, capture_output=True, text=True).stdout.splitlines()
    return there | {row.split(" ", 1)[0] for row in rows if row.endswith(" ok installed")}


def missing_modules(recipe):
    """Python packages that `recipe` needs and that can't be imported here."""
    return [name for name in recipe.modules if importlib.util.find_spec(name) is None]


def check_installed(recipe):
    """Raise CmlibError, with the command that helps, if `recipe` lacks anything."""
    todo = []
    if packages := missing_packages(recipe):
        todo.append(f"apt-get install --no-install-recommends {' '.join(packages)}")
    if modules := missing_modules(recipe):
        todo.append(f"pip install 'cmlib[spark]' (for {', '.join(modules)})")
    if todo:
        raise CmlibError(f"program {recipe.name!r} can't run here; what is missing: {'; '.join(todo)}")


def run_tool(command, **options):
    """Run a tool that prepares something; its output as text."""
    shown = " ".join(map(str, command))
    try:
        done = subprocess.run(
            [str(part) for part in command],
            stdin=options.pop("stdin", subprocess.DEVNULL),
            capture_output=True,
            text=True,
            errors="replace",
            **options,
        )
    except FileNotFoundError as error:
        raise CmlibError(f"`{shown}`: {error.filename} does not exist") from error
    except subprocess.TimeoutExpired as error:
        raise CmlibError(f"`{shown}` did not end within {error.timeout:.0f} s") from error
    if done.returncode:
        output = "\n".join((done.stdout + done.stderr).splitlines()[-10:])
        raise CmlibError(f"`{shown}` failed with exit code {done.returncode}:\n{output}")
    return done.stdout


@dataclass(frozen=True)
class Trial:
    """One uncounted run."""

    prepared_s: float
    seconds: float
    processors: float
    output: str


def run_once(prepared):
    """Run what a recipe prepares, and tell how many processors it, or its servers, took."""
    begun = time.monotonic()
    with scratch("trial") as folder, prepared as counted, (folder / "stdout").open("w+") as output:
        ready_s, before = time.monotonic() - begun, _processor_s(counted.pids)
        how = {"environment": counted.environment, "timeout": _LONGEST_S, "stdout": output}
        seconds, processor_s = run_timed(counted.command, **how)
        if counted.pids:
            processor_s = _processor_s(counted.pids) - before
        output.seek(0)
        lines = output.read().strip().splitlines()
    return Trial(ready_s, seconds, processor_s / seconds, lines[-1] if lines else "")


def _processor_s(pids):
    """Processor time of processes so far [s]."""
    times = [psutil.Process(pid).cpu_times() for pid in pids if psutil.pid_exists(pid)]
    return sum(used.user + used.system for used in times)
