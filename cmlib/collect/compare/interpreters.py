"""The command that starts an interpreter with no script: what it executes is no work of the script's."""

import re
import shutil
from pathlib import Path

# By the name of an interpreter, the option after which code stands.
_CODE_AFTER = {"python": "-c", "bash": "-c", "dash": "-c", "ksh": "-c", "zsh": "-c", "sh": "-c", "php": "-r"}
_CODE_AFTER |= dict.fromkeys(("perl", "ruby", "lua", "luajit", "node", "Rscript"), "-e")


def without_script(argv, empty):
    """The command of an interpreter with its options, and an empty file for the script; None if it is of none.

    Parameters
    ----------
    argv : list of str
        ``python3 -O script.py input``, ``bash -c "…"``, or a script whose first line names the interpreter.
    empty : path
        The empty file.
    """
    if _name(argv[0]) not in _CODE_AFTER:
        argv = [*_named_by_first_line(argv[0]), *argv]
    interpreter, *rest = argv
    for place, word in enumerate(rest if _name(interpreter) in _CODE_AFTER else ()):
        if word == _CODE_AFTER[_name(interpreter)]:
            return [interpreter, *rest[: place + 1], ""]
        if not word.startswith("-"):
            return [interpreter, *rest[:place], str(empty)] if Path(word).is_file() else None
    return None


def _name(program):
    """``python`` of ``/usr/bin/python3.11``."""
    return re.sub(r"[\d.]*$", "", Path(program).name)


def _named_by_first_line(program):
    """Interpreter and options of ``#!/usr/bin/env python3``; nothing if the program is no script."""
    with open(shutil.which(program) or program, "rb") as file:
        first = file.readline(300)
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    return words[1:] if words and Path(words[0]).name == "env" else words
