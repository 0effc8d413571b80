"""Make unique names for the programs of a file."""

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Sequence

_LONGEST = 60  # characters of a name, without its number


def name_programs(names: Sequence[str]) -> list[str]:
    """Give each program a unique name of letters, digits, ``_``, ``.`` and ``-``.

    A name is the file name of the command. The arguments are appended if two commands have the same file name. Equal
    names are numbered.

    Parameters
    ----------
    names : sequence of str
        Commands, cgroups, regions or cells in the file. "" if unknown.

    Returns
    -------
    list of str
        One name per program. "" for the only program of a file.
    """
    if len(names) == 1:
        return [""]
    commands = [_split_words(name) for name in names]
    n_commands = Counter(file_name for file_name, *_ in commands)
    short_names = []
    for file_name, *arguments in commands:
        name = file_name if n_commands[file_name] == 1 else "-".join([file_name, *arguments])
        short_names.append(name[:_LONGEST].strip("_.-") or "unnamed")
    return _number_repeated(short_names)


def _number_repeated(names: list[str]) -> list[str]:
    """Append ``-1``, ``-2`` and so on to repeated names. The results are unique."""
    n_equal = Counter(names)
    used = {name for name in names if n_equal[name] == 1}
    last_number: Counter[str] = Counter()
    unique_names = []
    for name in names:
        unique_name = name
        if n_equal[name] > 1:
            last_number[name] += 1
            while f"{name}-{last_number[name]}" in used:
                last_number[name] += 1
            unique_name = f"{name}-{last_number[name]}"
            used.add(unique_name)
        unique_names.append(unique_name)
    return unique_names


def _split_words(name: str) -> list[str]:
    """Split a name at blanks. Folders are removed from paths, and special characters are replaced."""
    try:
        words = shlex.split(name)
    except ValueError:  # for example, because a quotation mark is not closed
        words = name.split()
    last_parts = [word.rstrip("/").rpartition("/")[2].removesuffix(".exe") for word in words]
    return [_write_plainly(word) or "x" for word in last_parts if word] or ["unnamed"]


def _write_plainly(word: str) -> str:
    """Replace characters other than Latin letters, digits and points by ``_``. Accents are removed."""
    letters = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_.]+", "_", letters).strip("_.")
