"""Replace the script in an interpreter's command by an empty script.

:func:`replace_script` takes the words of a command and returns the new command. Running the new command
measures only the start-up of the interpreter.
"""

import shutil
from pathlib import Path

# Option before code, keyed by interpreter. For example, ``bash -c "ls"``.
_CODE_OPTION = {"python": "-c", "bash": "-c", "dash": "-c", "ksh": "-c", "zsh": "-c", "sh": "-c", "php": "-r"}
_CODE_OPTION |= dict.fromkeys(("perl", "ruby", "lua", "luajit", "node", "Rscript"), "-e")


def replace_script(argv: list[str], empty: str | Path) -> list[str] | None:
    """Replace the script in an interpreter's command by an empty one.

    Three forms of commands are supported: ``python3 -O script.py input``, ``bash -c "code"``, and a script
    whose first line names its interpreter (``#!``). Arguments of the script are removed.

    Parameters
    ----------
    argv : list of str
        Words of the command.
    empty : path
        An empty file that replaces the script. Code after ``-c`` is replaced by an empty word instead.

    Returns
    -------
    list of str or None
        The new command. None if the interpreter is unknown or no script file is found. For example, ``python3
        -m`` runs a module.

    Raises
    ------
    FileNotFoundError
        If the program does not exist.
    """
    if _interpreter_name(argv[0]) not in _CODE_OPTION:
        argv = _prepend_interpreter(argv)
    interpreter, *words = argv
    name = _interpreter_name(interpreter)
    if name not in _CODE_OPTION:
        return None
    # The first word without a hyphen is assumed to be the script. So no script is found in `python3 -X dev script.py`.
    for position, word in enumerate(words):
        if word == _CODE_OPTION[name]:
            return [interpreter, *words[: position + 1], ""]
        if name == "python" and word == "-m":
            return None
        if not word.startswith("-"):
            is_script = Path(word).is_file()
            return [interpreter, *words[:position], str(empty)] if is_script else None
    return None


def _interpreter_name(program: str | Path) -> str:
    """Return ``python`` for ``/usr/bin/python3.11``."""
    return Path(program).name.rstrip("0123456789.")


def _prepend_interpreter(argv: list[str]) -> list[str]:
    """Add the interpreter of a script to its command, as the kernel does.

    If the program is not a script, only its full path is inserted.
    """
    script = shutil.which(argv[0]) or argv[0]
    return [*_read_interpreter(script), script, *argv[1:]]


def _read_interpreter(program: str | Path) -> list[str]:
    """Read the interpreter and its options from the first line of a script.

    For example, ``#!/usr/bin/env -S python3 -I`` gives ``["python3", "-I"]``. The result is empty if the
    program is not a script.
    """
    with open(program, "rb") as file:
        first_line = file.readline(300)
    if not first_line.startswith(b"#!"):
        return []
    words = first_line[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = words[1:]
        if words and words[0] == "-S":  # env splits the rest of the line into words
            words = words[1:]
    return words
