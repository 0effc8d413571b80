"""The caches that are simulated: those of this machine, or those that are told."""

import re
from pathlib import Path

from cmlib.errors import CmlibError

# Valgrind's options, by level and kind as Linux names them; the last level is whichever is the largest.
_OPTIONS = {(1, "Instruction"): "I1", (1, "Data"): "D1"}
_LAST = "LL"
LEVELS = ("I1", "D1", _LAST)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}


def cache_options(given, *, root="/"):
    """Options that tell Valgrind which caches to simulate.

    Parameters
    ----------
    given : dict of str to str or None
        ``I1``, ``D1`` or ``LL`` to size, ways and length of a line, as ``32K,8,64``; what is not given is this
        machine's.
    root : path, default "/"
        Folder that holds `sys`.

    Returns
    -------
    list of str
        Such as ``--D1=32768,8,64``. A cache that Linux does not tell, or whose number of sets is no power of two,
        has no option: Valgrind then goes by the processor, or by its own default, and says which it took.

    Raises
    ------
    CmlibError
        If what is given is not of this form.
    """
    told = {name: _parse(name, text) for name, text in given.items() if text}
    chosen = {name: shape for name, shape in machine_caches(root).items() if _can_be_simulated(*shape)} | told
    return [f"--{name}={','.join(map(str, chosen[name]))}" for name in LEVELS if name in chosen]


def machine_caches(root="/"):
    """Size [bytes], ways and length of a line [bytes] of this machine's caches, by I1, D1 and LL; as Linux tells."""
    found, last = {}, 0
    for place in sorted(Path(root, "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size, ways, line = (
                (place / name).read_text().strip()
                for name in ("level", "type", "size", "ways_of_associativity", "coherency_line_size")
            )
            shape = _bytes(size), int(ways), int(line)
        except (OSError, ValueError):
            continue
        if name := _OPTIONS.get((int(level), kind)):
            found[name] = shape
        elif kind == "Unified" and int(level) > last:
            last, found[_LAST] = int(level), shape
    return found


def _can_be_simulated(size, ways, line):
    sets = size // (ways * line) if ways > 0 and line > 0 else 0
    return sets > 0 and sets * ways * line == size and sets & (sets - 1) == 0


def _parse(name, text):
    parts = text.split(",")
    try:
        size, ways, line = _bytes(parts[0]), *map(int, parts[1:])
    except ValueError:
        size = ways = line = 0
    if not _can_be_simulated(size, ways, line):
        raise CmlibError(
            f"{name} cache {text!r}: give size, ways and length of a line in bytes, as 32K,8,64; size / (ways x line), "
            "the number of sets, must be a power of two."
        )
    return size, ways, line


def _bytes(text):
    found = re.fullmatch(r"([0-9]+)([KM]?)", text.strip())
    if found is None:
        raise ValueError(text)
    return int(found[1]) * _UNITS[found[2]]
