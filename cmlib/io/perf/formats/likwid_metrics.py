"""Counts from the metrics of likwid's own groups, which a timeline prints in place of counts.

Every group has the time it was counted, the time that threads ran (cycles over the nominal clock rate), their clock
rate and cycles per instruction; rates are per instruction, bandwidths and FLOP/s per second (likwid's ``groups``).
"""

import re

import numpy as np

from cmlib.io.perf.grammar import ParseError, shown

_TIME, _BUSY, _CLOCK, _CPI = "runtime (rdtsc) [s]", "runtime unhalted [s]", "clock [mhz]", "cpi"
_ALWAYS = (_TIME, _BUSY, _CLOCK, _CPI)
# Of the groups of caches, before likwid named its columns: the third is the quotient of the second and the first.
_CACHE = ("request rate", "miss rate", "miss ratio")
_NOMINAL = re.compile(r"^CPU clock:\s*([0-9.]+) GHz", re.MULTILINE)
_PER_SECOND = re.compile(r"(.*?) *(bandwidth \[mbytes/s\]|\[?(?:mflop|muops)/s\]?)$")


def counts(text, lines, names):
    """Counts of each line, added up over threads, and for how long they were counted [s]."""
    names = names or _guessed(text, lines)
    for group, own in names.items():
        if lacking := set(_ALWAYS) - {name.lower() for name in own}:
            raise ParseError(
                f"line 1: group {group} holds metrics without {', '.join(sorted(lacking))}, from which counts could be "
                "told. Record events: `likwid-perfctr -t 500ms -g INSTR_RETIRED_ANY:FIXC0,… COMMAND`."
            )
    told = [dict(zip(map(str.lower, names[line.group]), line.values, strict=True)) for line in lines]
    nominal = _nominal_hz(text, told)
    return [_counts(line.group, values, nominal) for line, values in zip(lines, told, strict=True)]


def remarks(text, names):
    """What is derived, and what is left out."""
    said = ["What is printed are metrics of likwid's: counts are worked out from them."]
    if not names:
        said.append(
            "No heading names them: the first four are those of every group, and three more a cache's."
        )
    if not _NOMINAL.search(text):
        said.append(
            "The nominal clock rate is not told: cycles are such that a thread in the middle runs all the time."
        )
    beside = [name for own in names.values() for name in own if not _is_used(name.lower())]
    return said + ([f"Metrics left out: {', '.join(dict.fromkeys(beside))}."] if beside else [])


def _guessed(text, lines):
    """Names of unnamed metrics, as far as their values bear them out."""
    names = {}
    for line in lines:
        n, values = len(line.values), np.nan_to_num(line.values)
        plausible = (
            n >= len(_ALWAYS) and (values >= 0).all() and np.ptp(values[0]) == 0 and values[2].max() < 1e4
        )
        is_cache = n == len(_ALWAYS) + len(_CACHE) and np.allclose(values[6] * values[4], values[5])
        if not plausible:
            raise ParseError(f"{shown(text, line.start)} holds metrics that no heading names.")
        cache = [f"group {line.group} {name}" for name in _CACHE] if is_cache else [""] * (n - len(_ALWAYS))
        names.setdefault(line.group, [*_ALWAYS, *cache])
    return names


def _nominal_hz(text, told):
    if found := _NOMINAL.search(text):
        return 1e9 * float(found[1])
    ratios = np.concatenate(
        [
            values[_CLOCK] * values[_TIME] / np.where(values[_BUSY] > 0, values[_BUSY], np.nan)
            for values in told
        ]
    )
    return 1e6 * float(np.nanmedian(ratios)) if np.isfinite(ratios).any() else 1e9


def _counts(group, values, nominal):
    seconds = float(np.nanmax(values[_TIME]))
    cycles = np.nan_to_num(values[_BUSY]) * nominal
    cpi = np.nan_to_num(values[_CPI])
    instructions = np.divide(cycles, cpi, out=np.zeros_like(cycles), where=cpi > 0)
    found = {"instructions": instructions.sum(), "cycles": cycles.sum()}
    for name, own in values.items():
        if name.endswith(" rate"):
            found[_event(name.removesuffix(" rate"))] = float(np.nansum(own * instructions))
        elif per_second := _PER_SECOND.match(name):
            unit = re.search("bytes|flop|uops", per_second[2])[0]
            what = f"{per_second[1]} {unit}"
            found[_event(what)] = float(1e6 * np.nansum(own * values[_TIME]))
    return found, seconds


def _event(name):
    return re.sub(r"[^a-z0-9]+", "_", name).strip("_")


def _is_used(name):
    return name in _ALWAYS or name.endswith(" rate") or bool(_PER_SECOND.match(name))
