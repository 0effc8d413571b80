"""Name the programs of a file, for folders and headings."""

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Sequence

_LONGEST = 60  # characters of a name


def name_programs(names: Sequence[str]) -> list[str]:
    """Give each program a unique name of letters, digits, ``_``, ``.`` and ``-``.

    Parameters
    ----------
    names : sequence of str
        Commands, cgroups, regions or cells, as the file has them; "" where it has none.

    Returns
    -------
    list of str
        "" for the only program of a file. Of several, the file name of the command, with its arguments where another
        program begins with the same word; numbered where names are still equal.
    """
    if len(names) == 1:
        return [""]
    words = [_split_words(name) for name in names]
    n_first = Counter(first for first, *_ in words)
    short_names = []
    for first, *further_words in words:
        name = first if n_first[first] == 1 else "-".join([first, *further_words])
        short_names.append(name[:_LONGEST].strip("_.-") or "unnamed")
    n_chosen = Counter(short_names)
    numbers = Counter()
    unique = []
    for name in short_names:
        numbers[name] += 1
        unique.append(f"{name}-{numbers[name]}" if n_chosen[name] > 1 else name)
    return unique


def _split_words(name: str) -> list[str]:
    """Split a name at blanks, and keep the last part of paths, in plain letters."""
    try:
        words = shlex.split(name)
    except ValueError:
        words = name.split()
    last_parts = [word.rstrip("/").rpartition("/")[2].removesuffix(".exe") for word in words]
    return [_write_plainly(word) or "x" for word in last_parts if word] or ["unnamed"]


def _write_plainly(word: str) -> str:
    """Write all but Latin letters, digits and points as ``_``."""
    letters = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_.]+", "_", letters.replace("#", "-")).strip("_.")
