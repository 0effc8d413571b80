"""Find and run compilers and other tools; their failures become errors that show the command.

:func:`find_compiler` returns a program's name, :func:`compile_to` writes a file, :func:`run_tool` returns a tool's
output as text, :func:`check_interpreter` starts a Python. Raises a CmlibError if a program is missing, fails or
takes too long.
"""

import contextlib
import os
import shutil
import signal
import subprocess

from cmlib.errors import CmlibError, InterpreterError, last_lines
from cmlib.io.archive import atomic_output

_GRACE_S = 5


def find_compiler(variable, usual, purpose, packages):
    """Return the compiler that the environment variable `variable` names, or else `usual`.

    Raises a CmlibError if it is not installed. `purpose` (what is built) and `packages` (of Debian) are for its
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


def run_tool(command, *, shown=None, timeout=None, **options):
    """Run a command (list of str or paths) to its end, and return its standard output (str).

    Raises a CmlibError if its program is missing, fails or takes more than `timeout` [s]; its text has `shown`
    (str, by default the command). `options` are those of :class:`subprocess.Popen`. What the command has started is
    ended with it, also if this process is interrupted.
    """
    shown = shown or " ".join(map(str, command))
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    settings = streams | {"text": True, "errors": "replace", "process_group": 0} | options
    try:
        process = subprocess.Popen(list(map(str, command)), **settings)
    except FileNotFoundError as error:
        raise CmlibError(f"`{shown}`: {error.filename} does not exist") from error
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        _end_group(process)
        raise CmlibError(f"`{shown}` did not end within {error.timeout:.0f} s") from error
    except BaseException:
        _end_group(process)
        raise
    if process.returncode:
        message = last_lines(output + errors)
        raise CmlibError(f"`{shown}` failed with exit code {process.returncode}:\n{message}")
    return output


def _end_group(process):
    """Terminate a Popen and the processes in its group, which get a few seconds to remove their temporary files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        # Its output ends when the last process of the group has.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_GRACE_S)
            return


def check_interpreter(program):
    """Start a Python (`program`, its path as str) and end it at once; InterpreterError if it can't be started."""
    command = [program, "-I", "-S", "-c", ""]
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise InterpreterError(program, error.strerror) from error
    if result.returncode:
        message = last_lines(result.stderr)
        raise InterpreterError(program, f"it ends with exit code {result.returncode}. It said:\n{message}")
