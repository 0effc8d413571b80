"""The caches that are simulated: those of this machine, or those that are told."""

import re
from pathlib import Path

from cmlib.errors import CmlibError

# By level and kind as Linux names them; the last level is whichever is the largest.
_NAMES = {(1, "Instruction"): "I1", (1, "Data"): "D1", (2, "Unified"): "L2"}
_FIRST, _SECOND, _LAST = ("I1", "D1"), "L2", "LL"
PREFETCHING = "--simulate-hwpref=yes"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}


def cache_options(given, *, prefetch=False, root="/"):
    """Options that tell Valgrind which caches to simulate: first level and last level.

    Parameters
    ----------
    given : dict of str to str or None
        ``I1``, ``D1``, ``L2`` or ``LL`` to size, ways and length of a line, as ``32K,8,64``; what is not given is
        this machine's.
    prefetch : bool, default False
        Whether the last level is filled before it is asked: streams of ascending or descending lines within a page,
        and with every line the other one of an aligned pair. Neither is ever too late.
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
    return _options(_chosen(given, root), _LAST, prefetch)


def second_level_options(given, *, prefetch=False, root="/"):
    """Options for a second simulation, in which the second-level cache is the last one.

    Parameters
    ----------
    given, prefetch, root
        As of :func:`cache_options`.

    Returns
    -------
    list of str
        Empty if the second or the last level is not known, or the second is not the smaller one.

    Raises
    ------
    CmlibError
        As of :func:`cache_options`.
    """
    chosen = _chosen(given, root)
    # Valgrind takes the nearest that it can simulate of a last level that it is not told.
    sizes = {name: shape[0] for name, shape in (machine_caches(root) | chosen).items()}
    between = _SECOND in chosen and chosen[_SECOND][0] < sizes.get(_LAST, 0)
    return _options(chosen, _SECOND, prefetch) if between else []


def machine_caches(root="/"):
    """This machine's caches: size [bytes], ways and length of a line [bytes], by I1, D1, L2 and LL; as Linux tells."""
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
        if name := _NAMES.get((int(level), kind)):
            found[name] = shape
        if kind == "Unified" and int(level) > last:
            last, found[_LAST] = int(level), shape
    return found


def _chosen(given, root):
    told = {name: _parse(name, text) for name, text in given.items() if text}
    return {name: shape for name, shape in machine_caches(root).items() if _can_be_simulated(*shape)} | told


def _options(chosen, last, prefetch):
    """The first level, and one of the others as Valgrind's last."""
    shapes = {name: chosen[name] for name in _FIRST if name in chosen}
    if last in chosen:
        size, ways, line = chosen[last]
        # A pair of lines that are always fetched together is a line of twice the length.
        shapes[_LAST] = size, ways, 2 * line if prefetch else line
    options = [f"--{name}={','.join(map(str, shape))}" for name, shape in shapes.items()]
    return [*options, PREFETCHING] if prefetch else options


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
