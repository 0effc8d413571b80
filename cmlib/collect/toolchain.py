"""Find and run compilers and other tools; their failures become errors that show the command.

:func:`find_compiler` gives a program's name, :func:`compile_to` writes a file, :func:`run_tool` gives a tool's
output as text, :func:`check_interpreter` starts a Python. CmlibError if a program is missing, fails or takes too long.
"""

import os
import shutil
import subprocess

from cmlib.errors import CmlibError, InterpreterError, last_lines
from cmlib.io.archive import atomic_output


def find_compiler(variable, usual, purpose, packages):
    """Name (str) of the compiler that the environment variable `variable` names, else `usual`.

    CmlibError if it is not installed. `purpose` (what is built) and `packages` (of Debian) are for the error's
    text.
    """
    compiler = os.environ.get(variable) or usual
    if shutil.which(compiler) is None:
        raise CmlibError(
            f"no compiler ({compiler}) to build {purpose} with: install one (Debian: {packages}), or name one in "
            f"{variable}. Recordings that are there can be analysed without."
        )
    return compiler


def compile_to(target, compiler, options, sources, headers):
    """Compile `sources` into the file `target`, unless it is newer than all of them and than `headers` (all paths).

    `compiler` is the name of the program (str), `options` are what it is given before the sources (list of str).
    Returns None; CmlibError if the compiler is missing or fails, FileNotFoundError if a source or header is.
    """
    newest = max(file.stat().st_mtime for file in (*sources, *headers))
    if not target.is_file() or target.stat().st_mtime < newest:
        with atomic_output(target) as draft:
            run_tool([compiler, *options, *sources, "-o", draft])


def run_tool(command, **options):
    """Run a command (list of str or paths) to its end, and return its standard output (str).

    CmlibError if its program is missing, fails or takes too long. `options` are those of :func:`subprocess.run`,
    such as `timeout` [s].
    """
    shown = " ".join(map(str, command))
    try:
        options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True} | options
        done = subprocess.run(list(map(str, command)), errors="replace", **options)
    except FileNotFoundError as error:
        raise CmlibError(f"`{shown}`: {error.filename} does not exist") from error
    except subprocess.TimeoutExpired as error:
        raise CmlibError(f"`{shown}` did not end within {error.timeout:.0f} s") from error
    if done.returncode:
        output = last_lines(done.stdout + done.stderr)
        raise CmlibError(f"`{shown}` failed with exit code {done.returncode}:\n{output}")
    return done.stdout


def check_interpreter(program):
    """Start a Python (`program`, its path as str) and end it at once; InterpreterError if it can't be started."""
    command = [program, "-I", "-S", "-c", ""]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise InterpreterError(program, error.strerror) from error
    if done.returncode:
        said = last_lines(done.stderr)
        raise InterpreterError(program, f"it ends with exit code {done.returncode}. It said:\n{said}")
