"""Find the command that starts an interpreter without its script, to measure the start-up alone.

:func:`replace_script` takes a command (list of str), and returns the command with an empty script, or None.
FileNotFoundError if the program does not exist.
"""

import shutil
from pathlib import Path

# For each interpreter, the option that takes code as its argument, as in ``bash -c "ls"``.
_CODE_OPTION = {"python": "-c", "bash": "-c", "dash": "-c", "ksh": "-c", "zsh": "-c", "sh": "-c", "php": "-r"}
_CODE_OPTION |= dict.fromkeys(("perl", "ruby", "lua", "luajit", "node", "Rscript"), "-e")


def replace_script(argv, empty):
    """Replace the script in an interpreter's command by an empty one, and remove the script's arguments.

    Parameters
    ----------
    argv : list of str
        A command of one of three forms: ``python3 -O script.py input``; ``bash -c "…"``; or a script with its
        interpreter in the first line (``#!``), and arguments.
    empty : path
        An empty file, which replaces the script. If the command contains the code itself (``bash -c "…"``), an empty
        word replaces the code, and `empty` is not used.

    Returns
    -------
    list of str or None
        The command with the same interpreter and options. None if the interpreter is not one that this module knows
        (Python, shells, Perl and others), or if no script file is found. The first word without a leading hyphen is
        taken for the script. The result is therefore None for ``python3 -X dev script.py``, too, because ``dev`` is
        not a file. A command with ``python3 -m`` runs a module and has no script.

    Raises
    ------
    FileNotFoundError
        If the first word is neither the name of a known interpreter, nor a program on the path, nor a file.
    """
    if _interpreter_name(argv[0]) not in _CODE_OPTION:
        argv = _prepend_interpreter(argv)
    interpreter, *words = argv
    name = _interpreter_name(interpreter)
    if name not in _CODE_OPTION:
        return None
    for position, word in enumerate(words):
        if word == _CODE_OPTION[name]:
            return [interpreter, *words[: position + 1], ""]
        if name == "python" and word == "-m":
            return None
        if not word.startswith("-"):
            is_script = Path(word).is_file()
            return [interpreter, *words[:position], str(empty)] if is_script else None
    return None


def _interpreter_name(program):
    """Return the name of an interpreter without folder and version: ``python`` for ``/usr/bin/python3.11``."""
    return Path(program).name.rstrip("0123456789.")


def _prepend_interpreter(argv):
    """Put the interpreter of a script before the script's path and arguments, as the kernel does.

    The words (list of str) stay the same, apart from the path, if the program is not a script.
    """
    script = shutil.which(argv[0]) or argv[0]
    return [*_read_interpreter(script), script, *argv[1:]]


def _read_interpreter(program):
    """Read interpreter and options (list of str) from the first line of a script; empty if `program` is not one.

    A first line is ``#!/usr/bin/python3 -I``, ``#!/usr/bin/env python3``, or ``#!/usr/bin/env -S python3 -I``.
    """
    with open(program, "rb") as file:
        first_line = file.readline(300)
    if not first_line.startswith(b"#!"):
        return []
    words = first_line[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = words[1:]
        if words and words[0] == "-S":  # lets env split the rest of the line into words
            words = words[1:]
    return words
