"""Find the command that starts an interpreter without its script, to measure the start-up alone.

:func:`remove_script` takes a command (list of str), and returns another one, or None. FileNotFoundError if the program
does not exist.
"""

import shutil
from pathlib import Path

# Each interpreter's option that is followed by code.
_CODE_OPTION = {"python": "-c", "bash": "-c", "dash": "-c", "ksh": "-c", "zsh": "-c", "sh": "-c", "php": "-r"}
_CODE_OPTION |= dict.fromkeys(("perl", "ruby", "lua", "luajit", "node", "Rscript"), "-e")


def remove_script(argv, empty):
    """Replace the script of an interpreter's command by an empty one, without arguments.

    Parameters
    ----------
    argv : list of str
        ``python3 -O script.py input``, ``bash -c "…"``, or a script with an interpreter in its first line (``#!``).
    empty : path
        An empty file, which replaces the script. Code after an option such as ``-c`` is replaced by an empty word, and
        `empty` is not used.

    Returns
    -------
    list of str or None
        The command with the same interpreter and options. None if argv starts no interpreter that this module knows
        (Python, shells, Perl and others), if it runs a module (``-m``), or if the first word without a leading hyphen
        is not a file (such as ``dev`` of ``-X dev``).

    Raises
    ------
    FileNotFoundError
        If the program is neither on the path nor a file.
    """
    if _interpreter_name(argv[0]) not in _CODE_OPTION:
        script = shutil.which(argv[0]) or argv[0]
        argv = [*_read_interpreter(script), script, *argv[1:]]
    interpreter, *words = argv
    code_option = _CODE_OPTION.get(_interpreter_name(interpreter))
    if code_option is None:
        return None
    for position, word in enumerate(words):
        if word == code_option:
            return [interpreter, *words[: position + 1], ""]
        if not word.startswith("-"):
            return [interpreter, *words[:position], str(empty)] if Path(word).is_file() else None
    return None


def _interpreter_name(program):
    """Return the name of an interpreter without folder and version: ``python`` of ``/usr/bin/python3.11``."""
    return Path(program).name.rstrip("0123456789.")


def _read_interpreter(program):
    """Read interpreter and options (list of str) from the first line of a script, such as ``#!/usr/bin/env python3``.

    The list is empty if `program` (path) is not a script.
    """
    with open(program, "rb") as file:
        first_line = file.readline(300)
    if not first_line.startswith(b"#!"):
        return []
    words = first_line[2:].decode(errors="replace").split()
    return words[1:] if words and Path(words[0]).name == "env" else words
