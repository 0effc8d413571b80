"""Inputs that are generated once and kept, and folders that are there only while a program runs."""

import fcntl
import hashlib
import importlib.util
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cmlib import places
from cmlib.collect.record import Counted
from cmlib.collect.record.execute import run_supervised
from cmlib.errors import CmlibError
from cmlib.io.archive import draft_of


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


# Java comes from many packages; whichever brought the command will do.
_ANY_THAT_BRINGS = {"default-jre-headless": "java", "default-jdk-headless": "javac"}


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


_LONGEST_S = 600


@dataclass(frozen=True)
class Trial:
    """One uncounted run."""

    prepared_s: float
    seconds: float
    processors: float
    said: str


def run_once(prepared):
    """Run what a recipe prepares under ``perf stat -e task-clock``."""
    begun = time.monotonic()
    with scratch("trial") as folder, prepared as counted:
        which = ["-p", ",".join(map(str, counted.pids))] if counted.pids else []
        output = folder / "perf.csv"
        status = folder / "status"
        watched = ["/bin/sh", "-c", '"$@"; echo $? >"$0"', status, *counted.command]
        counting = ["perf", "stat", "-x", ",", "-e", "task-clock", "-o", output, *which, "--", *watched]
        started = time.monotonic()
        printed, complaint = _run(counting, counted, folder)
        seconds = time.monotonic() - started
        code = status.read_text().strip() if status.exists() else "unknown"
        if code != "0":
            raise CmlibError(f"`{' '.join(counted.command)}` ended with exit code {code}:\n{_end(complaint)}")
        row = [line for line in output.read_text().splitlines() if ",task-clock" in line]
    return Trial(started - begun, seconds, float(row[0].split(",")[0]) / 1000 / seconds, _end(printed, 1))


def _run(command, counted, folder):
    with (folder / "stdout").open("w+") as output, (folder / "stderr").open("w+") as errors:
        with run_supervised(
            command, stdout=output, stderr=errors, environment=counted.environment
        ) as process:
            try:
                process.wait(_LONGEST_S)
            except subprocess.TimeoutExpired as error:
                raise CmlibError(
                    f"`{' '.join(counted.command)}` did not end within {_LONGEST_S} s"
                ) from error
        output.seek(0)
        errors.seek(0)
        return output.read(), errors.read()


def _end(text, lines=10):
    return "\n".join(text.strip().splitlines()[-lines:])
