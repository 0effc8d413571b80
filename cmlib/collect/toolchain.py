"""Find and run compilers and other tools.

:func:`find_compiler` finds a compiler, :func:`compile_to` compiles a program, and :func:`run_tool` runs any tool and
returns its output. :func:`check_interpreter` tests whether a Python can be started. If a tool is missing, fails or
takes too long, a CmlibError shows its command.
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
    """Return the compiler that an environment variable names, or the default compiler.

    Parameters
    ----------
    variable : str
        Name of the environment variable. For example, ``CC``.
    usual : str
        Default compiler. For example, ``cc``.
    purpose, packages : str
        What is built, and Debian packages to install, for the error message.

    Returns
    -------
    str

    Raises
    ------
    CmlibError
        If the compiler is not installed.
    """
    compiler = os.environ.get(variable) or usual
    if shutil.which(compiler) is None:
        raise CmlibError(
            f"no compiler ({compiler}) to build {purpose} with: install one (Debian: {packages}), or name one in "
            f"{variable}. Recordings that are there can be analysed without."
        )
    return compiler


def compile_to(target, compiler, options, sources, headers):
    """Compile a program, unless it is newer than its sources and headers.

    Parameters
    ----------
    target : Path
        Compiled file.
    compiler : str
        Name of the compiler.
    options : list of str
        Options of the compiler, before the sources.
    sources, headers : sequence of Path
        Files that the program depends on. Only sources are passed to the compiler.

    Raises
    ------
    CmlibError
        If the compiler is missing or fails.
    FileNotFoundError
        If a source or header does not exist.
    """
    newest = max(file.stat().st_mtime for file in (*sources, *headers))
    if not target.is_file() or target.stat().st_mtime < newest:
        with atomic_output(target) as draft:
            run_tool([compiler, *options, *sources, "-o", draft])


def run_tool(command, *, shown=None, timeout=None, **options):
    """Run a command and return its standard output.

    Parameters
    ----------
    command : list of str or path-like
        The program and its arguments.
    shown : str, optional
        Text for error messages in place of the command.
    timeout : float, optional
        Longest time [s]. Then the command and all processes that it started are ended.
    **options
        Options of :class:`subprocess.Popen`.

    Returns
    -------
    str

    Raises
    ------
    CmlibError
        If the program is missing, fails or takes more than `timeout`.
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
    """End a Popen and the processes in its group, after a few seconds to remove temporary files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        # The output ends when the last process of the group ends.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_GRACE_S)
            return


def check_interpreter(program):
    """Start a Python and end it at once; raise an InterpreterError if it cannot be started."""
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
