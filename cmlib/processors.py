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
# Parts of a processor's name that do not tell its model.
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
    """Find the processor of a machine by vendor, family and model; of its kind of core, where it has several.

    Parameters
    ----------
    machine : dict
        As ``cmlib doctor --json`` describes it (vendor, family, model), or as of :func:`machine_with`.
    core : str
        PMU of the cores, such as ``cpu_atom``; the fastest cores' if empty.

    Returns
    -------
    str or None
        Name of the processor's file, such as ``intel_skylake``; None if it is not known.
    """
    if name := machine.get("processor"):
        kinds = read(name)["machines"] if name in known() else ()
        if not core or not any(pmu for *_, pmu in kinds) or any(pmu == core for *_, pmu in kinds):
            return name
        machine = dict(zip(("vendor", "family", "model"), kinds[0], strict=False))
    vendor, family, model = (machine.get(key) for key in ("vendor", "family", "model"))
    for name in known() if None not in (vendor, family, model) else ():
        for *machines, first, last, pmu in read(name)["machines"]:
            if machines == [vendor, family] and first <= model <= last and pmu in ("", core or "cpu_core"):
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
    files = [*shipped("events").glob("*.csv"), *(shipped("topdown") / "costs").glob("*.yaml")]
    everyone = sorted({*known(), *(file.stem for file in files if file.stem.partition("_")[0] in _VENDORS)})
    if text in everyone:
        return text
    asked = _simplify(text)
    names = {pattern: name for name in known() for pattern in read(name)["names"]}
    by_spelling = {n.rpartition("_")[2]: n for n in everyone}  # arm_cortex_a72 as a72
    by_spelling |= {_simplify(called): name for called, name in names.items()} | {
        _simplify(n): n for n in everyone
    }
    if asked in by_spelling:
        return by_spelling[asked]
    model = " ".join(_FILLING.sub(" ", text.lower().partition("@")[0]).split())
    for pattern, name in names.items():
        if re.fullmatch(pattern, model):
            return name
    # A microarchitecture's name, as in `Intel Core Westmere processor`.
    words = re.findall(r"[a-z]{3,}\w*", model)
    if called := [by_spelling[word] for word in words if word in by_spelling]:
        return called[0]
    people = [called for called in names if re.fullmatch(r"[\w-]+", called)]
    near = difflib.get_close_matches(text.lower(), {*people, *everyone}, n=4, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise UnknownProcessorError(
        f"no processor is known as {text!r}.{hint} Known are {', '.join(everyone)}, "
        "and names of models such as i7-1260P or 6248R."
    )


def _simplify(text):
    """Return the text's letters and digits in lower case."""
    return re.sub(r"[^a-z0-9]", "", text.lower())
