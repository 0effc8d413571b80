"""Find the bottlenecks of a run that was simulated by Callgrind.

Callgrind, a tool of Valgrind, simulates caches and branches. It does not count cycles, but their number can be
estimated. :func:`simulated_profile` cuts the run into phases and finds the bottleneck of each phase. A phase is a
series of neighboring intervals with similar causes of the estimated cycles. :func:`answer_simulated` returns the
result as a JSON-serializable dict. :mod:`cmlib.experiments.simulated_runs` provides Callgrind's output.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cmlib.collect.simulate import read_parts
from cmlib.experiments.measured_diagnosis import HEALTHY
from cmlib.fingerprint.diagnosis import advice
from cmlib.fingerprint.emulation import is_emulated_float
from cmlib.fingerprint.phases import (
    FIRST_LEVEL_MISSES,
    INSTRUCTIONS,
    INSTRUCTIONS_ONLY,
    MIN_CAUSE_SHARE,
    penalty_shares,
    simulated_phases,
)
from cmlib.io.callgrind import (
    CallgrindError,
    display_name,
    find_interpreter,
    has_python_names,
    read_intervals,
)
from cmlib.io.events import cycle_estimate, simulated_events

_MAX_CLASSES = 3  # number of classes in the text of a diagnosis
_MAX_FUNCTIONS = 3  # number of functions that are named per phase
_MIN_FUNCTION_SHARE = 0.05  # share of a phase's cycles from which a function is named
_MIN_SPLIT_PERCENT = 1  # percentage of the cycles from which a cause is listed
# Line length in Callgrind's description of a cache. For example, "32768 B, 64 B, 8-way associative".
_LINE_LENGTH = re.compile(r"([1-9][0-9]{0,8}) B,[^,]*$")
_CACHE_MISSES = "P_Mem_L2/L3"  # class with data in the second or third cache level
_EMULATED = "emulated floating point"  # label of phases with slow software arithmetic
_SEQUENTIAL_MISSES = "data misses in order"  # label of phases with misses that a processor would prefetch
_CAVEAT = (
    "Simulated by Valgrind, not measured. Counts of instructions, loads, stores and branches are exact. Each "
    "repetition of a string instruction counts as one instruction. Cache misses and mispredictions come from a model "
    "without speculative execution. Cycles were not counted. Chains of dependent instructions and slow arithmetic are "
    "not visible. Threads ran one at a time, so contention and waiting are not visible either."
)
# The class P_CPU has several causes. A simulation shows only one, mispredictions. The advice is on this cause.
_ADVICE_NAME = {"P_CPU": "mispredictions"}


@dataclass(frozen=True)
class SimulatedProfile:
    """Bottlenecks of a simulated run.

    Attributes
    ----------
    counts : DataFrame
        Counts of Callgrind's events. One row per interval (index: its end [10⁹ instructions]).
    phases : DataFrame
        One row per phase, with these columns:

        - ``start``, ``end``: range of the phase [10⁹ instructions].
        - ``first``, ``last``: numbers of its intervals.
        - ``estimate``: estimated cycles per instruction.
        - ``share``: share of the estimated cycles (0-1).
        - ``label``: largest cause of the cycles.
        - ``class``: class that the decision tree predicts, or "" if it is unknown.
        - ``main``: function with the most cycles.
        - ``functions``: the three functions with the most cycles (str).
    kinds : DataFrame
        Phases with the same class, label and main function, joined to one row. The largest share comes first.
    classes : DataFrame
        Phases with the same class, joined to one row. The column ``name`` is the class, or the label of phases
        without a class.
    about : str
        Sentences on the simulation.
    """

    counts: pd.DataFrame
    phases: pd.DataFrame
    kinds: pd.DataFrame
    classes: pd.DataFrame
    about: str


def simulated_profile(
    text: str,
    prefetched: bool = False,
    n_sequential_lines: int | None = None,
    *,
    classify: Callable[[pd.DataFrame], Any] | None = None,
) -> SimulatedProfile:
    """Find the phases of a simulated run.

    The first three parameters are the fields of :class:`cmlib.experiments.simulated_runs.SimulatedRun`.

    Parameters
    ----------
    text : str
        Callgrind's output.
    prefetched : bool, default False
        True if the simulation had a prefetcher for sequential data. Otherwise, phases have no class.
    n_sequential_lines : int, optional
        Number of lines of the last-level cache that were read sequentially. A processor prefetches them, so their
        misses cost little.
    classify : callable, optional
        Function that returns the class of each row of a DataFrame of counts. Default: phases have no class.

    Returns
    -------
    SimulatedProfile
        The phases.

    Raises
    ------
    CallgrindError
        If the text is not a valid output of Callgrind.
    """
    counts, functions = read_intervals(text)
    totals = read_parts(text)

    # Cut the run into phases, and add up the counts and the estimated cycles of each phase.
    phases = simulated_phases(counts, simulated_events()["weight"])
    phase_by_interval = np.repeat(np.arange(len(phases)), phases["last"] - phases["first"] + 1)
    counts_by_phase = counts.groupby(phase_by_interval).sum()
    cycles = _sum_cycles(functions, phase_by_interval)
    phases = phases.assign(functions=_name_functions(cycles), main=cycles.idxmax(axis=1))

    # Predict the class of each phase. Then correct it in two cases that the classifier cannot see.
    phases["class"] = classify(counts_by_phase) if prefetched and classify else ""
    if prefetched and n_sequential_lines:
        n_sequential_misses = _count_sequential_misses(n_sequential_lines, totals.caches)
        misses = counts_by_phase[["sim.l1d_load_misses", "sim.l1d_store_misses"]].sum(axis=1)
        phases = _relabel_sequential(phases, misses, n_sequential_misses)
    phases = _relabel_emulation(phases, cycles)

    # Join similar phases: first by class, label and main function, then by class alone.
    kinds = _join_phases(phases, cycles, ["class", "label", "main"])
    named = phases.assign(name=phases["class"].where(phases["class"] != "", phases["label"]))
    classes = _join_phases(named, cycles, ["name"])
    about = _describe_simulation(totals, counts, functions, prefetched)
    return SimulatedProfile(counts, phases, kinds, classes, about)


def _sum_cycles(functions, phase_by_interval):
    """Sum the estimated cycles of each phase (row) and function (column).

    Parameters
    ----------
    functions : DataFrame
        Counts per interval, function and object file.
    phase_by_interval : ndarray of int
        Number of the phase of each interval.
    """
    index = functions.index
    names = map(display_name, index.get_level_values("function"), index.get_level_values("object"))
    phase_and_name = [phase_by_interval[index.get_level_values("interval")], list(names)]
    return cycle_estimate(functions).groupby(phase_and_name).sum().unstack(fill_value=0.0)


def _name_functions(cycles):
    """Return the names of the functions with the most cycles, one text per phase."""
    shares = cycles.div(cycles.sum(axis=1), axis=0)
    texts = []
    for _, row in shares.iterrows():
        largest = row.nlargest(_MAX_FUNCTIONS)
        large = largest[largest >= _MIN_FUNCTION_SHARE]
        texts.append(", ".join(f"{name} {100 * share:.0f} %" for name, share in large.items()))
    return texts


def _count_sequential_misses(n_lines, caches):
    """Convert a number of last-level cache lines to the number of first-level misses on the same data."""
    return n_lines * _line_length(caches, "LL") / _line_length(caches, "D1")


def _line_length(caches, name):
    """Return the line length of a cache [bytes].

    It is read from Callgrind's description of the caches. Raises CallgrindError if the description contains no line
    length.
    """
    description = caches.get(name, "nothing")
    match = _LINE_LENGTH.search(description)
    if match is None:
        raise CallgrindError(
            f"Callgrind's output contains no line length of the cache {name}, but {description[:60]!r}."
        )
    return int(match[1])


def _relabel_sequential(phases, misses, n_sequential):
    """Relabel the phases in which at least half of the cache misses are sequential.

    A processor prefetches sequential data, so these misses cost little. Only phases with many first-level misses are
    relabeled. Phases with the same class, label and main function are one kind, and are treated alike.

    Parameters
    ----------
    phases : DataFrame
        One row per phase.
    misses : Series
        First-level misses of each phase.
    n_sequential : float
        Number of sequential misses of the complete run.
    """
    kind = [phases["class"], phases["label"], phases["main"]]
    n_misses = misses.groupby(kind).transform("sum")
    # Valgrind reports sequential misses only for the complete run. In the worst case, all other misses of the run
    # belong to one kind. At least the remaining misses of this kind are sequential.
    n_other = misses.sum() - n_sequential
    mostly_sequential = n_misses - n_other >= n_misses / 2
    has_class = phases["class"] == _CACHE_MISSES
    has_only_label = (phases["class"] == "") & (phases["label"] == FIRST_LEVEL_MISSES)
    relabeled = phases.copy()
    relabeled.loc[(has_class | has_only_label) & mostly_sequential, "label"] = _SEQUENTIAL_MISSES
    # Phases without a class were not classified. They are not called healthy, since other bottlenecks are possible.
    relabeled.loc[has_class & mostly_sequential, "class"] = HEALTHY
    return relabeled


def _relabel_emulation(phases, cycles):
    """Relabel the phases with a large share of emulated floating-point arithmetic.

    Only phases without another bottleneck are changed. `phases` has one row per phase. `cycles` contains the estimated
    cycles of each phase (row) and function (column).
    """
    emulated = [name for name in cycles if is_emulated_float(name)]
    shares = cycles[emulated].sum(axis=1) / cycles.sum(axis=1)
    healthy = phases["class"].isin(["", HEALTHY]) & (phases["label"] == INSTRUCTIONS_ONLY)
    is_emulated = healthy & (shares >= MIN_CAUSE_SHARE).to_numpy()
    labels = phases["label"].mask(is_emulated, _EMULATED)
    classes = phases["class"].mask(is_emulated, "")
    return phases.assign(**{"label": labels, "class": classes})


def _join_phases(phases, cycles, columns):
    """Join the phases with equal values in some columns.

    The phases with the largest share come first.
    """
    group = phases.groupby(columns, sort=False).ngroup()
    rows = phases.groupby(group).agg(
        **{name: (name, "first") for name in columns},
        start=("start", "min"),
        end=("end", "max"),
        n_phases=("start", "size"),
        share=("share", "sum"),
    )
    rows["functions"] = _name_functions(cycles.groupby(group).sum())
    return rows.sort_values("share", ascending=False)


def _describe_simulation(totals, counts, functions, prefetched):
    """Return sentences on the simulated caches and the names of functions."""
    n_instructions = counts["sim.instructions"].sum()
    caches = "; ".join(f"{name} {description}" for name, description in totals.caches.items())
    prefetcher = (
        "A prefetcher for sequential data was simulated." if prefetched else "No prefetcher was simulated."
    )
    text = (
        f"Simulated by Valgrind's Callgrind {totals.version}, {n_instructions:,.0f} instructions in {len(counts)} "
        f"intervals. Caches: {caches}. {prefetcher}"
    )
    interpreter = find_interpreter(functions)
    if not interpreter:
        return text
    if has_python_names(functions):
        return (
            f"{text} {interpreter} is an interpreter. A name that begins with py:: is a Python function. Its cost "
            "includes the work of the interpreter for this function. C functions are listed separately."
        )
    return (
        f"{text} {interpreter} is an interpreter. The functions listed are its own, not the functions of the script. "
        "Python 3.12 and later also show the functions of the script."
    )


def explain_simulated(names: Iterable[str]) -> list[dict[str, str]]:
    """Explain the classes or labels of simulated phases.

    Parameters
    ----------
    names : iterable of str
        Classes or labels. For example, ``["P_Mem_M"]``.

    Returns
    -------
    list of dict
        ``name``, ``meaning`` and ``remedy`` of each.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    explanations = []
    for name in dict.fromkeys(names):
        meaning, remedy = advice(_ADVICE_NAME.get(name, name))
        explanations.append({"name": name, "meaning": meaning, "remedy": remedy})
    return explanations


def answer_simulated(name: str, profile: SimulatedProfile) -> dict[str, Any]:
    """Return the diagnosis of a simulated run as a JSON-serializable dict.

    Parameters
    ----------
    name : str
        Name of the program.
    profile : SimulatedProfile
        Phases of the run.

    Returns
    -------
    dict
        Contains these keys:

        - ``schema``: version of the format.
        - ``name``: name of the program.
        - ``simulated``: True.
        - ``about``, ``caveat``: sentences on the simulation and its limits.
        - ``limited_by``: bottleneck of the complete run. This is the largest cause other than instructions, if it has
          at least 10 % of the estimated cycles. Otherwise, it is "emulated floating point" if the largest class of
          phases has this name, or else "instructions".
        - ``split``: share of each cause [% of the estimated cycles]. Instructions come first, then the other causes
          from the largest to the smallest. Causes with less than 1 % are left out.
        - ``classes``: list of dicts with the keys name, percent and functions.
        - ``phases``: list of dicts, one per kind of phase.
        - ``advice``: list of dicts with the keys name, meaning and remedy.
        - ``text``: the diagnosis in sentences, in Markdown.
    """
    weights = simulated_events()["weight"]
    percentages = 100 * penalty_shares(profile.counts.sum().to_frame().T, weights).iloc[0]
    kinds = profile.kinds.drop(columns=["main", "share"]).assign(percent=100 * profile.kinds["share"])
    classes = profile.classes.assign(percent=100 * profile.classes["share"])[["name", "percent", "functions"]]
    answer = {
        "schema": 1,
        "name": name,
        "simulated": True,
        "about": profile.about,
        "caveat": _CAVEAT,
        "limited_by": _find_bottleneck(percentages, classes["name"].iloc[0]),
        "split": _split_cycles(percentages),
        "classes": classes.to_dict("records"),
        "phases": kinds.to_dict("records"),
        "advice": explain_simulated(classes["name"]),
    }
    return answer | {"text": _write_diagnosis(answer)}


def _find_bottleneck(percentages, largest_class):
    """Return the bottleneck of the complete run.

    `percentages` contains the share of each cause other than instructions [% of the estimated cycles].
    """
    if percentages.max() >= 100 * MIN_CAUSE_SHARE:
        return percentages.idxmax()
    return _EMULATED if largest_class == _EMULATED else INSTRUCTIONS


def _split_cycles(percentages):
    """Return the share of instructions and of each large cause [% of the estimated cycles]."""
    large = percentages[percentages >= _MIN_SPLIT_PERCENT].sort_values(ascending=False)
    return {INSTRUCTIONS: 100 - percentages.sum()} | large.to_dict()


def _write_diagnosis(answer):
    """Return sentences on the causes of the cycles and on the largest classes of phases."""
    causes = [f"{percent:.0f} % {name}" for name, percent in answer["split"].items()]
    classes = []
    for row in answer["classes"][:_MAX_CLASSES]:
        name = "no visible bottleneck" if row["name"] == HEALTHY else row["name"]
        classes.append(f"**{name}** {row['percent']:.0f} % (`{row['functions']}`)")
    return (
        f"Cycles were not counted. KCachegrind's estimate of the cycles: {', '.join(causes)}. "
        f"Largest classes of phases: {'; '.join(classes)}."
    )
