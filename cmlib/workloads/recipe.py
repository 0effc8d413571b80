"""What a recipe is: how a program gets ready to be counted, and what it needs for that."""

import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from cmlib.errors import CmlibError
from cmlib.record import Counted

# Java comes from many packages; whichever brought the command will do.
_ANY_THAT_BRINGS = {"default-jre-headless": "java", "default-jdk-headless": "javac"}


@dataclass(frozen=True)
class Recipe:
    """A program to record.

    Attributes
    ----------
    name : str
        Folder among the recordings.
    suite : str
        "HiBench", "CloudSuite 3.0", "co-located", "SPEC CPU2006".
    stands_for : str
        What the suite runs under that name.
    framework : str
        What runs here.
    input : str
        Generated, with its distribution; what is asked of a server, too.
    prepare : callable
        ``prepare(scale, options)`` is a context manager that yields a `Counted`:
        `scale` multiplies the work, `options` are the recipe's own (settings of
        Spark as ``{"spark.shuffle.file.buffer": "64k"}``). What it starts it stops.
    packages : tuple of str
        Debian's.
    modules : tuple of str
        Python's.
    options : tuple of str
        Names of those it takes; one that ends in a point stands for all that begin so.
    """

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
    """Debian packages that `recipe` needs and that are not installed.

    Parameters
    ----------
    recipe : Recipe

    Returns
    -------
    list of str
        All of them where there is no dpkg to ask.
    """
    installed = installed_packages(recipe.packages)
    return [package for package in recipe.packages if package not in installed]


def installed_packages(names):
    """Which of these Debian packages are installed, or Java by whatever package.

    Where there is no dpkg to ask, none but Java.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    set of str
    """
    names = sorted(set(names))
    there = {name for name in names if name in _ANY_THAT_BRINGS and shutil.which(_ANY_THAT_BRINGS[name])}
    if not names or shutil.which("dpkg-query") is None:
        return there
    shown = ["dpkg-query", "--show", "--showformat=${Package} ${Status}\n", *names]
    rows = subprocess.run(shown, capture_output=True, text=True).stdout.splitlines()
    return there | {row.split(" ", 1)[0] for row in rows if row.endswith(" ok installed")}


def missing_modules(recipe):
    """Python packages that `recipe` needs and that can't be imported here.

    Returns
    -------
    list of str
    """
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
    """Run a tool that prepares something; its output as text.

    Raises
    ------
    CmlibError
        With the command and the end of what it said, if it fails or does not exist.
    """
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
