"""Compilers and other tools: found, run, and their errors shown with the command."""

import os
import shutil
import subprocess

from cmlib.errors import CmlibError, last_lines
from cmlib.io.archive import atomic_output


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
        with atomic_output(target) as draft:
            run_tool([compiler, *options, *sources, "-o", draft])


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
        output = last_lines(done.stdout + done.stderr)
        raise CmlibError(f"`{shown}` failed with exit code {done.returncode}:\n{output}")
    return done.stdout
