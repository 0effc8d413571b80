"""The command that starts an interpreter with no script: what it executes is no work of the script's."""

import re
import shutil
from pathlib import Path

_INTERPRETER = re.compile(r"(?:python|perl|ruby|php|lua|luajit|node|bash|dash|ksh|zsh|sh|Rscript)[\d.]*$")
_CODE_FOLLOWS = {"-c", "-e", "-r"}


def without_script(argv, empty):
    """The command of an interpreter with its options, and an empty file for the script; None if it is of none.

    Parameters
    ----------
    argv : list of str
        ``python3 -O script.py input``, ``bash -c "…"``, or a script whose first line names the interpreter.
    empty : path
        The empty file.
    """
    if not _INTERPRETER.match(Path(argv[0]).name):
        argv = [*_named_by_first_line(argv[0]), *argv]
    interpreter, *rest = argv
    if not _INTERPRETER.match(Path(interpreter).name):
        return None
    for place, word in enumerate(rest):
        if word in _CODE_FOLLOWS:
            return [interpreter, *rest[: place + 1], ""]
        if not word.startswith("-"):
            return [interpreter, *rest[:place], str(empty)] if Path(word).is_file() else None
    return None


def _named_by_first_line(program):
    """Interpreter and options of ``#!/usr/bin/env python3``; nothing if the program is no script."""
    with open(shutil.which(program) or program, "rb") as file:
        first = file.readline(300)
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    return words[1:] if words and Path(words[0]).name == "env" else words
