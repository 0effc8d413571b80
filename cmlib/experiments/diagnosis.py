"""Find the bottlenecks of a program in one measured or simulated run.

:func:`profile` diagnoses a measured run. A decision tree predicts the class of each time slice: a bottleneck (for
example ``P_CPU``), or ``N`` for none. :func:`simulated_profile` diagnoses the output of Callgrind, the Valgrind
tool that simulates caches and branches. :func:`simulate_once` makes this output, and :func:`simulated_text` reads
it from a recording.

A phase is a series of neighboring slices or intervals with the same class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cmlib import places
from cmlib.collect.simulate import read_parts
from cmlib.collect.simulate.valgrind import PREFETCHING, cache_options, simulate
from cmlib.errors import InputError, NothingRecordedError, UnfitRecordingError
from cmlib.fingerprint.diagnosis import advice, label_slices, phases
from cmlib.fingerprint.emulation import is_emulated_float
from cmlib.fingerprint.phases import (
    FIRST_LEVEL,
    INSTRUCTIONS,
    NAMED_FROM,
    NOTHING_ELSE,
    added_shares,
    simulated_phases,
)
from cmlib.io.archive.programs import read_raw, readable_runs
from cmlib.io.archive.runs import VALGRIND, source_of
from cmlib.io.callgrind import (
    CallgrindError,
    display_name,
    find_interpreter,
    has_python_names,
    read_intervals,
)
from cmlib.io.events import cycle_estimate, simulated_events
from cmlib.scratch import scratch_folder
from cmlib.shell import command_code

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

    from cmlib.experiments.micro.recordings import Series

__all__ = ["explain", "profiles", "refuse_simulated_program"]

_MOST_CLASSES = 3  # of phases, in the diagnosis in words
_MOST_FUNCTIONS = 3  # named in a phase
_LEAST_SHARE = 0.05  # of the cycles, of a named function
# Line length in Callgrind's description of a cache. For example, "32768 B, 64 B, 8-way associative".
_LINE_LENGTH = re.compile(r"([1-9][0-9]{0,8}) B,[^,]*$")
HEALTHY = "N"  # class without a bottleneck
_CACHE_MISSES = "P_Mem_L2/L3"  # class with data in the second or third cache level
_EMULATED = "emulated floating point"  # label of phases with slow software arithmetic
_IN_ORDER = "data misses in order"  # label of phases whose cache misses a processor would prefetch
SLICE_S = 0.4  # length of a slice [s]
EVERY_BLOCKS = 500_000  # basic blocks in a simulated interval, about 3 million instructions
_CAVEAT = (
    "Simulated by Valgrind, not measured: instructions, loads, stores and branches are exact (each repetition of a "
    "string instruction counts), misses and mispredictions are those of a model without speculation, and no cycles "
    "were counted. Chains of dependent instructions and slow arithmetic do not show. Threads ran one at a time, so "
    "that contention and waiting do not show."
)
# A simulation knows only one reason for the class P_CPU, so that the advice on this reason is shown.
_ADVICE_NAME = {"P_CPU": "mispredictions"}


@dataclass(frozen=True)
class Profile:
    """Bottlenecks of a measured run.

    Attributes
    ----------
    labelled : DataFrame
        One row per slice (index: its end [s]). Columns: ``label`` (class) and ``rule`` (conditions of the tree that
        led to the class).
    pace : Series
        Instructions per cycle of each slice.
    phases : DataFrame
        One row per phase: neighboring slices with the same label and rule. Columns: start_s, end_s, n_slices, label
        and rule.
    shares : Series
        Share of the slices of each class [%], the largest first.
    """

    labelled: pd.DataFrame
    pace: pd.Series
    phases: pd.DataFrame
    shares: pd.Series


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


def profile(model: ClassifierMixin, series: Series, *, slice_s: float = SLICE_S) -> Profile:
    """Classify the time slices of a measured run.

    Parameters
    ----------
    model : classifier
        Fitted decision tree of :mod:`cmlib.fingerprint`.
    series : cmlib.experiments.micro.recordings.Series
        The run.
    slice_s : float, default 0.4
        Length of a slice [s].

    Returns
    -------
    Profile
        Class of each slice, and phases.

    Raises
    ------
    ValueError
        If the run is shorter than a slice, or did not count all events of the tree.
    """
    rates = series.rates(slice_s)
    missing = [event for event in model.feature_names_in_ if event not in rates]
    if missing or not len(rates):
        problem = "the run has no complete slice"
        if missing:
            n_needed = len(model.feature_names_in_)
            problem = (
                f"the run did not count {len(missing)} of the {n_needed} key events, for example {missing[0]}"
            )
        raise InputError(f"{problem}. Run the program longer, or use longer slices.")
    labelled = label_slices(model, rates[model.feature_names_in_])
    shares = 100 * labelled["label"].value_counts(normalize=True).rename("share")
    return Profile(labelled, series.pace(slice_s), phases(labelled), shares)


def profiles(
    model: ClassifierMixin, series: Sequence[Series], *, slice_s: float = SLICE_S
) -> dict[str, Profile]:
    """Classify the time slices of several programs.

    If a program was run several times, the first run is used.

    Parameters
    ----------
    model : classifier
        Fitted decision tree of :mod:`cmlib.fingerprint`.
    series : sequence of cmlib.experiments.micro.recordings.Series
        Runs, sorted by time.
    slice_s : float, default 0.4
        Length of a slice [s].

    Returns
    -------
    dict of str to Profile
        Result for each program, sorted by name.

    Raises
    ------
    ValueError
        If a run is shorter than a slice, or did not count all events of the tree.
    """
    first_runs = {run.program: run for run in reversed(series)}
    return {name: profile(model, run, slice_s=slice_s) for name, run in sorted(first_runs.items())}


def explain(profile: Profile) -> pd.DataFrame:
    """Explain the phases of a measured run.

    Parameters
    ----------
    profile : Profile
        Result of :func:`profile`.

    Returns
    -------
    DataFrame
        One row per phase. Columns: start_s, end_s, label, rule, ``meaning`` (of the class) and ``remedy`` (what to
        try).
    """
    explained = profile.phases.drop(columns="n_slices")
    advised = [advice(label) for label in explained["label"]]
    return explained.join(pd.DataFrame(advised, explained.index, columns=["meaning", "remedy"]))


def answer_measured(name: str, profile: Profile, caveat: str = "") -> dict[str, Any]:
    """Return the diagnosis of a measured run as a JSON-serializable dict.

    Parameters
    ----------
    name : str
        Name of the program.
    profile : Profile
        Bottlenecks of the run.
    caveat : str, default ""
        Sentence on how the counts were made, in Markdown.

    Returns
    -------
    dict
        Contains these keys:

        - ``schema``: version of the format.
        - ``name``: name of the program.
        - ``simulated``: False.
        - ``caveat``: the sentence without markup.
        - ``slices``: number of slices.
        - ``classes``: list of dicts with the keys name, percent, meaning, remedy and rules.
        - ``phases``: list of dicts with the keys start_s, end_s, label and rule.
    """
    explained = explain(profile)
    classes = []
    for label, percent in profile.shares.items():
        class_phases = explained[explained["label"] == label]
        row = {"name": label, "percent": percent, **class_phases[["meaning", "remedy"]].iloc[0]}
        classes.append(row | {"rules": class_phases["rule"].unique().tolist()})
    return {
        "schema": 1,
        "name": name,
        "simulated": False,
        "caveat": caveat.replace("**", ""),
        "slices": len(profile.labelled),
        "classes": classes,
        "phases": explained[["start_s", "end_s", "label", "rule"]].to_dict("records"),
    }


def refuse_simulated_program(program: str) -> None:
    """Raise an error if a program was simulated.

    Parameters
    ----------
    program : str
        Name of the program.

    Raises
    ------
    UnfitRecordingError
        If the program has a simulated run. The message refers to notebook 00.
    """
    if first_simulated(program):
        raise UnfitRecordingError(f"{program} is simulated: its phases are in notebook 00.")


def first_simulated(name: str) -> tuple[str, dict[str, Any]] | None:
    """Find the first simulated run of a program.

    Parameters
    ----------
    name : str
        Name of the program.

    Returns
    -------
    (str, dict) or None
        Name of the run and its metadata. None if the program has no simulated run.
    """
    runs = readable_runs(places.recordings_dir() / name).items()
    return next(((run, meta) for run, meta in runs if source_of(meta) == VALGRIND), None)


def simulated_text(name: str) -> tuple[str, bool, int | None]:
    """Read Callgrind's output of the first simulated run of a program.

    Parameters
    ----------
    name : str
        Name of the program.

    Returns
    -------
    text : str
        Callgrind's output.
    prefetched : bool
        True if the simulation prefetched data that are read in order.
    in_order : int or None
        Number of cache lines that were read in order. None if it is unknown.

    Raises
    ------
    NothingRecordedError
        If the program has no simulated run.
    """
    first = first_simulated(name)
    if first is None:
        raise NothingRecordedError(
            f"no simulated run of {name!r} is recorded: run "
            f"{command_code('cmlib', 'record', name, '--simulate', '--', 'COMMAND')}."
        )
    run, meta = first
    text = read_raw(places.recordings_dir() / name, run).decode(errors="replace")
    return text, PREFETCHING in meta["simulator"]["options"], meta["simulator"].get("in_order")


def simulate_once(
    command: list[str],
    *,
    caches: dict[str, str] | None = None,
    every_blocks: int = EVERY_BLOCKS,
    progress: Callable[[int], Any] = lambda done: None,
) -> tuple[str, bool, int]:
    """Simulate a command with Callgrind.

    The simulation prefetches data that are read in order.

    Parameters
    ----------
    command : list of str
        Program and arguments.
    caches : dict of str to str, optional
        Size [bytes], associativity and line length [bytes] of the caches I1, D1 and LL. For example,
        ``{"D1": "32768,8,64"}``. Default: the caches of this machine.
    every_blocks : int, default 500,000
        Length of an interval [basic blocks].
    progress : callable, optional
        Function that is called with the number of finished basic blocks.

    Returns
    -------
    text : str
        Callgrind's output.
    prefetched : bool
        Always True. See :func:`simulated_text`.
    in_order : int
        Number of cache lines that were read in order.

    Raises
    ------
    RecordError
        If Valgrind is not installed, or the command fails.
    CmlibError
        If Valgrind cannot simulate a cache.
    """
    with scratch_folder() as folder:
        options = cache_options(caches or {}, prefetch=True)
        outcome = simulate(
            command,
            Path(folder),
            python=True,
            every_blocks=every_blocks,
            options=options,
            progress=progress,
        )
        return outcome.raw.decode(errors="replace"), True, outcome.in_order


def simulated_profile(
    text: str,
    prefetched: bool = False,
    in_order: int | None = None,
    *,
    classify: Callable[[pd.DataFrame], Any] | None = None,
) -> SimulatedProfile:
    """Find the phases of a simulated run.

    The first three parameters are the results of :func:`simulate_once`.

    Parameters
    ----------
    text : str
        Callgrind's output.
    prefetched : bool, default False
        True if the simulation prefetched data that are read in order. Otherwise, phases have no class.
    in_order : int, optional
        Number of cache lines that were read in order. A processor prefetches them, so that their misses cost little.
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
    phases = simulated_phases(counts, simulated_events()["weight"])
    phase_by_interval = np.repeat(np.arange(len(phases)), phases["last"] - phases["first"] + 1)
    counts_by_phase = counts.groupby(phase_by_interval).sum()
    cycles = _sum_cycles(functions, phase_by_interval)
    parts = read_parts(text)
    phases = phases.assign(functions=_name_functions(cycles), main=cycles.idxmax(axis=1))
    phases["class"] = classify(counts_by_phase) if prefetched and classify else ""
    if prefetched and in_order:
        # The number counts lines of the last-level cache, but the misses are those of the first-level cache.
        first_level_lines = in_order * _line_length(parts.caches, "LL") / _line_length(parts.caches, "D1")
        misses = counts_by_phase[["sim.l1d_load_misses", "sim.l1d_store_misses"]].sum(axis=1)
        phases = _relabel_prefetched(phases, misses, first_level_lines)
    phases = _label_emulation(phases, cycles)
    kinds = _join_phases(phases, cycles, ["class", "label", "main"])
    named = phases.assign(name=phases["class"].where(phases["class"] != "", phases["label"]))
    classes = _join_phases(named, cycles, ["name"])
    about = _describe_simulation(parts, counts, functions, prefetched)
    return SimulatedProfile(counts, phases, kinds, classes, about)


def _sum_cycles(functions, phase_by_interval):
    """Sum the estimated cycles of each phase (row) and function (column).

    Parameters
    ----------
    functions : DataFrame
        Counts by interval, function and object file.
    phase_by_interval : ndarray of int
        Number of the phase of each interval.
    """
    index = functions.index
    names = map(display_name, index.get_level_values("function"), index.get_level_values("object"))
    phase_and_name = [phase_by_interval[index.get_level_values("interval")], list(names)]
    return cycle_estimate(functions).groupby(phase_and_name).sum().unstack(fill_value=0.0)


def _describe_simulation(parts, counts, functions, prefetched):
    """Return sentences on what was simulated and what the counts do not show."""
    n_instructions = counts["sim.instructions"].sum()
    caches = "; ".join(f"{name} {description}" for name, description in parts.caches.items())
    text = (
        f"Simulated by Valgrind's Callgrind {parts.version}, {n_instructions:,.0f} instructions in {len(counts)} "
        f"intervals. Caches: {caches}; what lies in order {'is' if prefetched else 'is not'} prefetched."
    )
    interpreter = find_interpreter(functions)
    if not interpreter:
        return text
    if has_python_names(functions):
        return (
            f"{text} {interpreter} is an interpreter: py:: is what it executes of each Python function, C functions "
            "stand apart."
        )
    return (
        f"{text} {interpreter} is an interpreter: its own functions are seen, not those of the script (Python 3.12 has "
        "names)."
    )


def _label_emulation(table, cycles):
    """Label the phases with a large share of emulated floating-point arithmetic.

    Only phases without another bottleneck are changed. `table` has one row per phase. `cycles` contains the estimated
    cycles of each phase (row) and function (column).
    """
    emulated = [name for name in cycles if is_emulated_float(name)]
    shares = cycles[emulated].sum(axis=1) / cycles.sum(axis=1)
    healthy = table["class"].isin(["", HEALTHY]) & (table["label"] == NOTHING_ELSE)
    is_emulated = healthy & (shares >= NAMED_FROM).to_numpy()
    labels = table["label"].mask(is_emulated, _EMULATED)
    classes = table["class"].mask(is_emulated, "")
    return table.assign(**{"label": labels, "class": classes})


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
    ValueError
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
        - ``limited_by``: largest cause of the estimated cycles.
        - ``split``: share of each cause [% of the estimated cycles].
        - ``classes``: list of dicts with the keys name, percent and functions.
        - ``phases``: list of dicts, one per kind of phase.
        - ``advice``: list of dicts with the keys name, meaning and remedy.
        - ``text``: the diagnosis in sentences, in Markdown.
    """
    weights = simulated_events()["weight"]
    shares = 100 * added_shares(profile.counts.sum().to_frame().T, weights).iloc[0]
    large_shares = shares[shares >= 1].sort_values(ascending=False)
    split = {INSTRUCTIONS: 100 - shares.sum()} | large_shares.to_dict()
    kinds = profile.kinds.drop(columns=["main", "share"]).assign(percent=100 * profile.kinds["share"])
    limited_by = shares.idxmax() if shares.max() >= 100 * NAMED_FROM else INSTRUCTIONS
    if limited_by == INSTRUCTIONS and profile.classes["name"].iloc[0] == _EMULATED:
        limited_by = _EMULATED
    classes = profile.classes.assign(percent=100 * profile.classes["share"])[["name", "percent", "functions"]]
    answer = {
        "schema": 1,
        "name": name,
        "simulated": True,
        "about": profile.about,
        "caveat": _CAVEAT,
        "limited_by": limited_by,
        "split": split,
        "classes": classes.to_dict("records"),
        "phases": kinds.to_dict("records"),
        "advice": explain_simulated(classes["name"]),
    }
    return answer | {"text": _write_diagnosis(answer)}


def _write_diagnosis(answer):
    """Return the causes of the cycles, and the largest classes of phases, in one sentence."""
    split = [f"{percent:.0f} % {name}" for name, percent in answer["split"].items()]
    split[0] = split[0].replace(" % ", " % are ", 1)
    classes = []
    for row in answer["classes"][:_MOST_CLASSES]:
        name = "nothing that a simulation shows" if row["name"] == HEALTHY else row["name"]
        classes.append(f"**{name}** {row['percent']:.0f} % (`{row['functions']}`)")
    return (
        f"no cycles were counted. Of KCachegrind's estimate {', '.join(split)}; by what stands out in phases: "
        f"{'; '.join(classes)}"
    )


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


def _relabel_prefetched(table, misses, n_in_order):
    """Relabel the phases with cache misses that a processor would prefetch.

    Most misses of such a phase are in order. This is certain if all misses out of order together are fewer than half
    of the misses of the phases of this kind.

    Parameters
    ----------
    table : DataFrame
        One row per phase.
    misses : Series
        First-level misses of each phase.
    n_in_order : float
        Number of misses of the run that were in order.
    """
    kind = [table["class"], table["label"], table["main"]]
    misses_of_kind = misses.groupby(kind).transform("sum")
    n_out_of_order = misses.sum() - n_in_order
    mostly_in_order = misses_of_kind - n_out_of_order >= misses_of_kind / 2
    unclassed = (table["class"] == "") & (table["label"] == FIRST_LEVEL)
    is_prefetched = ((table["class"] == _CACHE_MISSES) | unclassed) & mostly_in_order
    relabeled = table.assign(label=table["label"].mask(is_prefetched, _IN_ORDER))
    relabeled["class"] = table["class"].mask(is_prefetched & ~unclassed, HEALTHY)
    return relabeled


def _join_phases(table, cycles, columns):
    """Join the phases with equal values in some columns.

    The phases with the largest share come first.
    """
    number = table.groupby(columns, sort=False).ngroup()
    rows = table.groupby(number).agg(
        **{name: (name, "first") for name in columns},
        start=("start", "min"),
        end=("end", "max"),
        n_phases=("start", "size"),
        share=("share", "sum"),
    )
    rows["functions"] = _name_functions(cycles.groupby(number).sum())
    return rows.sort_values("share", ascending=False)


def _name_functions(cycles):
    """Return the names of the functions with the most cycles, one text per phase."""
    shares = cycles.div(cycles.sum(axis=1), axis=0)
    texts = []
    for _, row in shares.iterrows():
        largest = row.nlargest(_MOST_FUNCTIONS)
        large = largest[largest >= _LEAST_SHARE]
        texts.append(", ".join(f"{name} {100 * share:.0f} %" for name, share in large.items()))
    return texts
