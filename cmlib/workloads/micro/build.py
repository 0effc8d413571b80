"""Building the programs with the system's compiler, and running them uncounted."""

import os
import shutil
import subprocess
from pathlib import Path

from cmlib.archive import draft_of
from cmlib.errors import CmlibError
from cmlib.workloads.micro.programs import micro_benchmarks

SOURCES = Path(__file__).parent / "src"
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-ffp-contract=off")


def build(folder, names=None):
    """Compile the programs that are not there yet, or are older than a source.

    Parameters
    ----------
    folder : path-like
        Made if it isn't there.
    names : collection of str, optional
        Default: all programs, and ``sweep``.

    Returns
    -------
    Path
        `folder`.

    Raises
    ------
    CmlibError
        If there is no C compiler, or it fails.
    """
    folder = Path(folder)
    compiler = os.environ.get("CC") or "cc"
    if shutil.which(compiler) is None:
        raise CmlibError(
            f"no C compiler ({compiler}) to build the micro-benchmarks with: install one (Debian: gcc "
            "and libc6-dev), or "
            "name one in CC. Recordings that are there can be analysed without."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or ["sweep", *(program.name for program in micro_benchmarks())]:
        _compile(compiler, name, folder / name)
    return folder


def run(command, folder, environment=None):
    """Run a program and read what it prints.

    Parameters
    ----------
    command : sequence of str
        As `Case.argv` makes it.
    folder : path-like
        Where `build` put the programs.
    environment : mapping of str to str, optional
        Added to the environment.

    Returns
    -------
    dict of str to float
        ``operations``, ``seconds``, ``ns_per_operation``, and ``phase_…_s`` for phases; ``checksum`` is an
        int.

    Raises
    ------
    CmlibError
        If the program fails; with what it wrote to its standard error.
    """
    printed = output([str(Path(folder) / command[0]), *command[1:]], environment)
    pairs = dict(line.split("=") for line in printed.splitlines())
    return {key: int(value) if key == "checksum" else float(value) for key, value in pairs.items()}


def output(command, environment=None):
    """Run a command and return what it prints; CmlibError if it fails."""
    done = subprocess.run(command, env=os.environ | (environment or {}), capture_output=True, text=True)
    if done.returncode:
        raise CmlibError(
            f"`{' '.join(command)}` failed with exit code {done.returncode}:\n{done.stderr.strip()}"
        )
    return done.stdout


def _compile(compiler, name, target):
    program = next((program for program in micro_benchmarks() if program.name == name), None)
    stem, flags = (program.source or name, program.flags) if program else (name, ())
    source = next(
        path for path in (SOURCES / f"{stem}.c", SOURCES / "unseen" / f"{stem}.c") if path.is_file()
    )
    parts = [source] if name == "sweep" else [SOURCES / "program.c", source]
    newest = max(file.stat().st_mtime for file in (*parts, *SOURCES.glob("*.h")))
    if target.is_file() and target.stat().st_mtime >= newest:
        return
    with draft_of(target) as draft:
        output([compiler, *_FLAGS, *flags, *map(str, parts), "-o", str(draft)])
