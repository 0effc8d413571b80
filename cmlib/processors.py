"""Find processors by name: the files of `data/processors`, one per microarchitecture, and the names that people use.

:func:`find` takes what a user writes ("zen2", "i7-1260P"), and returns the name of a file ("amd_zen2").
:func:`of_machine` takes the description of a machine (dict). :func:`read` returns a file's content as a dict,
:func:`rows` its events. A PMU is a unit of counters as the kernel lists it. Raises an UnknownProcessorError, a
ValueError, if no processor has the name.
"""

import difflib
import json
import lzma
import re
from functools import cache

from cmlib.errors import CmlibError
from cmlib.places import shipped

_ENDING = ".json.xz"
_VENDORS = {"intel": "GenuineIntel", "amd": "AuthenticAMD", "arm": "ARM"}
# Parts of a processor's name that do not say its model.
_FILLING = re.compile(
    r"\((?:r|tm)\)|\b\d+th gen\b|\b\d+-core\b|\bw(?:ith|/) .*"
    r"|\b(?:intel|amd|arm|aws|core|xeon|platinum|gold|silver|bronze|cpu|processor)\b"
)


class UnknownProcessorError(CmlibError, ValueError):
    """Raised when no known processor has the name."""


@cache
def known():
    """List the processors that have a file, such as "amd_zen2", sorted."""
    return sorted(file.name.removesuffix(_ENDING) for file in shipped("processors").glob(f"*{_ENDING}"))


@cache
def read(name):
    """Read a processor's file by its name: a dict, as tools/make_processor_tables.py writes it.

    Among its keys: machines (lists of vendor, family, first and last model, PMU), names (patterns of names that
    people use), fields (names of the columns) and events (rows), categories and slots (of the top-down table),
    costs. Raises a FileNotFoundError if there is no such file.
    """
    return json.loads(lzma.decompress((shipped("processors") / f"{name}{_ENDING}").read_bytes()))


def rows(name):
    """List the events of a processor as dicts of event, code, umask and more; empty if it has no file."""
    if name not in known():
        return []
    about = read(name)
    return [dict(zip(about["fields"], values, strict=True)) for values in about["events"]]


def of_machine(machine, core=""):
    """Find the processor of a machine by vendor, family and model, and by the kind of core if it has several.

    Parameters
    ----------
    machine : dict
        As ``cmlib doctor --json`` describes it (vendor, family, model), or as :func:`machine_with` does
        (processor).
    core : str
        PMU of the cores, such as ``cpu_atom``. Default: that of the fastest cores.

    Returns
    -------
    str or None
        Name of the processor's file, such as ``intel_skylake``; None if it is not known.
    """
    name = machine.get("processor")
    if name:
        if name not in known() or _has_core(name, core):
            return name
        # The other kind of core of this processor has a file of its own, for the same vendor, family and model.
        vendor, family, model, *_ = read(name)["machines"][0]
    else:
        vendor, family, model = (machine.get(key) for key in ("vendor", "family", "model"))
    if None in (vendor, family, model):
        return None
    return _find_file(vendor, family, model, core or "cpu_core")


def _has_core(name, core):
    """Return True if a processor's file is for all kinds of cores, or for that of the PMU `core`."""
    pmus = [pmu for *_, pmu in read(name)["machines"]]
    return not core or core in pmus or not any(pmus)


def _find_file(vendor, family, model, core):
    """Find the name of a processor's file, for the kind of core of a PMU; None if there is none."""
    for name in known():
        for file_vendor, file_family, first, last, pmu in read(name)["machines"]:
            is_processor = (file_vendor, file_family) == (vendor, family) and first <= model <= last
            if is_processor and pmu in ("", core):
                return name
    return None


def core_pmu(name):
    """Return the PMU of a processor's cores if it always has other kinds beside them, such as ``cpu_atom``; else "".

    `name` is the processor's.
    """
    kinds = {pmu for *_, pmu in read(name)["machines"]} if name in known() else {""}
    return kinds.pop() if len(kinds) == 1 else ""


def machine_with(name):
    """Describe a machine by its processor's name: a dict of processor and vendor; {} if the name is empty."""
    return {"processor": name, "vendor": _VENDORS[name.partition("_")[0]]} if name else {}


def find(text):
    """Find the processor that a name means.

    Parameters
    ----------
    text : str
        ``haswell``, ``zen2``, ``graviton3``, ``6248R``, ``i7-1260P``, ``spr``, or the name of a file.

    Returns
    -------
    str
        Name of its file in `data/processors`, `data/events` or `data/topdown/costs`.

    Raises
    ------
    UnknownProcessorError
        If no processor has the name; the message names the nearest.

    Examples
    --------
    >>> find("Xeon Gold 6248R"), find("graviton3")
    ('intel_skylake', 'arm_neoverse_v1')
    """
    names = _list_names()
    if text in names:
        return text
    name_by_pattern = {pattern: name for name in known() for pattern in read(name)["names"]}
    name_by_spelling = {name.rpartition("_")[2]: name for name in names}  # arm_cortex_a72 as a72
    name_by_spelling |= {_simplify(pattern): name for pattern, name in name_by_pattern.items()}
    name_by_spelling |= {_simplify(name): name for name in names}
    if _simplify(text) in name_by_spelling:
        return name_by_spelling[_simplify(text)]
    model = " ".join(_FILLING.sub(" ", text.lower().partition("@")[0]).split())
    for pattern, name in name_by_pattern.items():
        if re.fullmatch(pattern, model):
            return name
    # A microarchitecture's name, as in `Intel Core Westmere processor`.
    for word in re.findall(r"[a-z]{3,}\w*", model):
        if word in name_by_spelling:
            return name_by_spelling[word]
    plain_patterns = [pattern for pattern in name_by_pattern if re.fullmatch(r"[\w-]+", pattern)]
    nearest = difflib.get_close_matches(text.lower(), {*plain_patterns, *names}, n=4, cutoff=0.5)
    hint = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
    raise UnknownProcessorError(
        f"no processor is known as {text!r}.{hint} Known are {', '.join(names)}, "
        "and names of models such as i7-1260P or 6248R."
    )


def _list_names():
    """List the names of all processors with a table of events, categories or costs, sorted."""
    files = [*shipped("events").glob("*.csv"), *(shipped("topdown") / "costs").glob("*.yaml")]
    named_by_vendor = {file.stem for file in files if file.stem.partition("_")[0] in _VENDORS}
    return sorted({*known(), *named_by_vendor})


def _simplify(text):
    """Return the text's letters and digits in lower case."""
    return re.sub(r"[^a-z0-9]", "", text.lower())
