"""Find the command that starts an interpreter without its script, to measure what start-up alone executes.

:func:`remove_script` takes a command (list of str), and gives another one, or None. A FileNotFoundError if the
program is not there.
"""

import shutil
from pathlib import Path

# Each interpreter's option that is followed by code.
_CODE_AFTER = {"python": "-c", "bash": "-c", "dash": "-c", "ksh": "-c", "zsh": "-c", "sh": "-c", "php": "-r"}
_CODE_AFTER |= dict.fromkeys(("perl", "ruby", "lua", "luajit", "node", "Rscript"), "-e")


def remove_script(argv, empty):
    """The command (list of str) of the same interpreter and options on an empty script, without the script's arguments.

    None if argv starts no interpreter that this module knows (Python, shells, Perl and others), if it runs a module
    (``-m``), or if its first word that is no option is no file (as ``dev`` of ``-X dev``). A FileNotFoundError if its
    program is neither on the path nor a file.

    Parameters
    ----------
    argv : list of str
        ``python3 -O script.py input``, ``bash -c "…"``, or a script whose first line (``#!``) names the interpreter.
    empty : path
        An empty file, which stands in the script's place; after ``-c`` stands an empty word, and `empty` is not used.
    """
    if _name(argv[0]) not in _CODE_AFTER:
        script = shutil.which(argv[0]) or argv[0]
        argv = [*_named_by_first_line(script), script, *argv[1:]]
    interpreter, *rest = argv
    for place, word in enumerate(rest if _name(interpreter) in _CODE_AFTER else ()):
        if word == _CODE_AFTER[_name(interpreter)]:
            return [interpreter, *rest[: place + 1], ""]
        if not word.startswith("-"):
            return [interpreter, *rest[:place], str(empty)] if Path(word).is_file() else None
    return None


def _name(program):
    """Name of an interpreter without folder and version: ``python`` of ``/usr/bin/python3.11``."""
    return Path(program).name.rstrip("0123456789.")


def _named_by_first_line(program):
    """Interpreter and options (list of str) in the first line of a script: ``python3`` of ``#!/usr/bin/env python3``.

    Empty if `program` (path) is no script.
    """
    with open(program, "rb") as file:
        first = file.readline(300)
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    return words[1:] if words and Path(words[0]).name == "env" else words
