"""Diagnose a program's bottlenecks: in a measured run by classes of time slices, in a simulated run by phases.

A decision tree that was trained on micro-benchmarks predicts the class of a slice: a kind of bottleneck (names that
begin with P, such as P_CPU) or none (N). A phase is a stretch of the run with one class. :func:`profile` takes a fitted
tree and a measured run, and returns a :class:`Profile`. :func:`simulated_profile` takes Callgrind's output, from
:func:`simulate_once` or from a recording (:func:`simulated_text`), and returns a :class:`SimulatedProfile`. ValueError
if a run lacks key events or slices; CallgrindError for text that is not Callgrind's output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
from cmlib.templates import template

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

    from cmlib.experiments.micro.recordings import Series

__all__ = ["explain", "profiles", "refuse_simulated_program"]

_FUNCTIONS_NAMED, _LEAST_SHARE = 3, 0.05
_LINE = re.compile(r"([1-9][0-9]{0,8}) B,[^,]*$")
HEALTHY = "N"  # class of all healthy forms in simulations, where prefetching makes all cache levels alike
_CACHED = "P_Mem_L2/L3"
_EMULATED = "emulated floating point"  # label of phases that spend cycles in functions which emulate it
_IN_ORDER = "data misses in order"  # label of first-level misses that a processor prefetches
SLICE_S = 0.4  # length of a slice
# Basic blocks in an interval of a simulation: some 3 million instructions, which take 0.05 s.
EVERY_BLOCKS = 500_000
# Advice for a class in simulated runs, where mispredictions are the only known limit of the core.
_OF_CLASS = {"P_CPU": "mispredictions"}


@dataclass(frozen=True)
class Profile:
    """Classes of a measured run's slices.

    Attributes
    ----------
    labelled : DataFrame
        One row per slice (index: its end [s]); columns label (its class) and rule (the branch of the tree that
        predicted it).
    pace : Series
        IPC of the slices.
    phases : DataFrame
        One row for each stretch of neighboring slices with the same label and rule: start_s, end_s, n_slices, label,
        rule.
    shares : Series
        Share of the slices [%] by label, largest first.
    """

    labelled: pd.DataFrame
    pace: pd.Series
    phases: pd.DataFrame
    shares: pd.Series


@dataclass(frozen=True)
class SimulatedProfile:
    """Phases of a simulated run.

    Attributes
    ----------
    counts : DataFrame
        Counts of Callgrind's events, one row per interval (index: its end [10⁹ instructions]).
    phases : DataFrame
        One row per phase: start and end [10⁹ instructions], first and last (numbers of intervals), estimate (cycles per
        instruction), share (of the estimated cycles, 0-1), label (the largest cause of its cycles), class (by the tree;
        "" if unknown), main (function with most cycles) and functions (text of the three largest).
    kinds : DataFrame
        One row for all phases with the same class, label and main function: these, and start, end, n_phases, share
        and functions, largest share first.
    classes : DataFrame
        One row for all phases with the same class, or label if there is no class (column name); the other columns as
        in `kinds`.
    about : str
        Sentences on the simulation.
    """

    counts: pd.DataFrame
    phases: pd.DataFrame
    kinds: pd.DataFrame
    classes: pd.DataFrame
    about: str


def profile(model, series, *, slice_s=SLICE_S):
    """Classify the slices of one measured run with a fitted classifier, and join them to phases.

    Parameters
    ----------
    model : classifier
        Fitted C45Classifier of :mod:`cmlib.fingerprint`, or an UnknownRejector around it.
    series : cmlib.experiments.micro.recordings.Series
        The run.
    slice_s : float, default 0.4
        Length of a slice [s].

    Returns
    -------
    Profile

    Raises
    ------
    ValueError
        If the run has no slice, or did not count the model's key events.
    """
    rates = series.rates(slice_s)
    missing = [event for event in model.feature_names_in_ if event not in rates]
    if missing or not len(rates):
        raise InputError(
            f"the run has no slice with {len(missing) or 'all'} of the {len(model.feature_names_in_)} key events"
            f"{', the first is ' + missing[0] if missing else ''}: run the program longer, or take longer slices."
        )
    labelled = label_slices(model, rates[model.feature_names_in_])
    shares = 100 * labelled["label"].value_counts(normalize=True).rename("share")
    return Profile(labelled, series.pace(slice_s), phases(labelled), shares)


def profiles(
    model: ClassifierMixin, series: Sequence[Series], *, slice_s: float = SLICE_S
) -> dict[str, Profile]:
    """Classify the slices of the first pass of each program with a fitted classifier.

    Parameters
    ----------
    model : classifier
        Fitted C45Classifier of :mod:`cmlib.fingerprint`, or an UnknownRejector around it.
    series : sequence of cmlib.experiments.micro.recordings.Series
        Recorded runs, in the order of their passes.
    slice_s : float, default 0.4
        Length of a slice [s].

    Returns
    -------
    dict of str to Profile
        By program, sorted by name.

    Raises
    ------
    ValueError
        If a run has no slice, or did not count the model's key events.
    """
    first_passes = {run.program: run for run in reversed(series)}
    return {name: profile(model, run, slice_s=slice_s) for name, run in sorted(first_passes.items())}


def explain(profile: Profile) -> pd.DataFrame:
    """Explain the phases of a measured run.

    Parameters
    ----------
    profile : Profile
        Result of :func:`profiles` for a program.

    Returns
    -------
    DataFrame
        The `phases` of the profile without the column n_slices, and with the columns meaning and remedy: texts on the
        class of each phase.
    """
    explained = profile.phases.drop(columns="n_slices")
    advised = [advice(label) for label in explained["label"]]
    return explained.join(pd.DataFrame(advised, explained.index, columns=["meaning", "remedy"]))


def answer_measured(name, profile, caveat=""):
    """Collect the diagnosis of a measured run for terminal, pages and JSON.

    Parameters
    ----------
    name : str
        Name of the program.
    profile : Profile
    caveat : str, default ""
        A sentence in Markdown.

    Returns
    -------
    dict
        ``schema``, ``name``, ``simulated`` (False), ``caveat``, ``slices`` (their number), ``classes`` (list of dicts
        of name, percent, meaning, remedy, rules) and ``phases`` (list of dicts of start_s, end_s, label, rule).
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
    """Refuse a program with simulated runs, which notebook 00 shows.

    Parameters
    ----------
    program : str
        Name of the program.

    Raises
    ------
    UnfitRecordingError
        If it has a simulated run.
    """
    if first_simulated(program):
        raise UnfitRecordingError(f"{program} is simulated: its phases are in notebook 00.")


def first_simulated(name):
    """Find the first simulated run of a program, in the order of the runs' names.

    Parameters
    ----------
    name : str
        Name of the program.

    Returns
    -------
    (str, dict) or None
        Name of the run (such as ``ocoe-p0-00``) and its metadata; None if there is none.
    """
    runs = readable_runs(places.recordings_dir() / name).items()
    return next(((run, meta) for run, meta in runs if source_of(meta) == VALGRIND), None)


def simulated_text(name):
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
        True if prefetching of streams was simulated.
    in_order : int or None
        Number of cache lines that were read in order; None if it is not known.

    Raises
    ------
    NothingRecordedError
        If there is no simulated run.
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


def simulate_once(command, *, caches=None, every_blocks=EVERY_BLOCKS, progress=lambda done: None):
    """Simulate one run of a command under Callgrind, with prefetching of streams of cache lines.

    Parameters
    ----------
    command : list of str
    caches : dict of str to str, optional
        ``SIZE,WAYS,LINE`` by Valgrind's name of a cache (I1, D1, LL). Default: this machine's caches.
    every_blocks : int, default 500,000
        Length of an interval [basic blocks].
    progress : callable
        Called with the number of basic blocks so far.

    Returns
    -------
    text : str
        Callgrind's output.
    prefetched : bool
        True, because prefetching was simulated.
    in_order : int
        Number of cache lines that were read in order.

    Raises
    ------
    RecordError
        If Valgrind is missing or the command fails.
    CmlibError
        If a cache can't be simulated.
    """
    with scratch_folder() as folder:
        options = cache_options(caches or {}, prefetch=True)
        settings = {"every_blocks": every_blocks, "options": options, "progress": progress}
        outcome = simulate(command, Path(folder), python=True, **settings)
        return outcome.raw.decode(errors="replace"), True, outcome.in_order


def simulated_profile(text, prefetched=False, in_order=None, *, classify=None):
    """Find the phases of a simulated run and the causes of their cycles.

    Parameters
    ----------
    text : str
        Callgrind's output.
    prefetched : bool, default False
        True if prefetching was simulated. Otherwise, phases get no classes.
    in_order : int, optional
        Number of cache lines that were read in order. Misses on these cost little, because a processor prefetches
        them. Default: not known.
    classify : callable, optional
        Returns the class of each row of a DataFrame of counts. Without it, phases get no classes.

    Returns
    -------
    SimulatedProfile

    Raises
    ------
    CallgrindError
        If the text can't be read.
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
        lines = in_order * _line(parts.caches, "LL") / _line(parts.caches, "D1")
        misses = counts_by_phase[["sim.l1d_load_misses", "sim.l1d_store_misses"]].sum(axis=1)
        phases = _relabel_streams(phases, misses, lines)
    phases = _label_emulation(phases, cycles)
    kinds = _join_phases(phases, cycles, ["class", "label", "main"])
    named = phases.assign(name=phases["class"].where(phases["class"] != "", phases["label"]))
    classes = _join_phases(named, cycles, ["name"])
    about = _describe_simulation(parts, counts, functions, prefetched)
    return SimulatedProfile(counts, phases, kinds, classes, about)


def _sum_cycles(functions, phase_by_interval):
    """Sum the estimated cycles by phase (row) and function (column): DataFrame.

    `functions` has the counts by interval, function and object; `phase_by_interval` the number of each interval's
    phase (array).
    """
    index = functions.index
    names = map(display_name, index.get_level_values("function"), index.get_level_values("object"))
    phase_and_name = [phase_by_interval[index.get_level_values("interval")], list(names)]
    return cycle_estimate(functions).groupby(phase_and_name).sum().unstack(fill_value=0.0)


def _describe_simulation(parts, counts, functions, prefetched):
    """Return sentences (str) on a simulation: what was executed, and what its counts do not show."""
    executed = counts["sim.instructions"].sum()
    interpreter = find_interpreter(functions)
    sentences = template("cmlib.experiments", "simulated.j2").module
    return sentences.about(parts, executed, len(counts), prefetched, interpreter, has_python_names(functions))


def _label_emulation(table, cycles):
    """Name the phases in which nothing else stands out by emulated floating point, if it has a tenth of the cycles.

    `table` has one row per phase, `cycles` the estimated cycles by phase (row) and function (column).
    """
    emulated = [name for name in cycles if is_emulated_float(name)]
    shares = cycles[emulated].sum(axis=1) / cycles.sum(axis=1)
    healthy = table["class"].isin(["", HEALTHY]) & (table["label"] == NOTHING_ELSE)
    is_emulated = healthy & (shares >= NAMED_FROM).to_numpy()
    labels = table["label"].mask(is_emulated, _EMULATED)
    classes = table["class"].mask(is_emulated, "")
    return table.assign(**{"label": labels, "class": classes})


def explain_simulated(names):
    """Explain classes or labels of simulated phases.

    Parameters
    ----------
    names : iterable of str
        Classes or labels. The text on the healthy class (N) says what a simulation does not show.

    Returns
    -------
    list of dict
        ``name``, ``meaning`` and ``remedy`` of each.

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    texts = {name: advice(_OF_CLASS.get(name, name)) for name in names}
    return [{"name": name, "meaning": meaning, "remedy": remedy} for name, (meaning, remedy) in texts.items()]


def answer_simulated(name, profile):
    """Collect the diagnosis of a simulated run for terminal, pages and JSON.

    Parameters
    ----------
    name : str
        Name of the program.
    profile : SimulatedProfile

    Returns
    -------
    dict
        ``schema``, ``name``, ``simulated`` (True), ``about``, ``caveat``, ``limited_by`` (the largest cause of the
        estimated cycles), ``split`` (percent of the estimated cycles by cause), ``classes`` (list of dicts of name,
        percent, functions), ``phases`` (list of dicts), ``advice`` (list of dicts of name, meaning, remedy) and
        ``text`` (sentences in Markdown).
    """
    shares = 100 * added_shares(profile.counts.sum().to_frame().T, simulated_events()["weight"]).iloc[0]
    split = {INSTRUCTIONS: 100 - shares.sum()} | shares[shares >= 1].sort_values(ascending=False).to_dict()
    kinds = profile.kinds.drop(columns=["main", "share"]).assign(percent=100 * profile.kinds["share"])
    charged = shares.idxmax() if shares.max() >= 100 * NAMED_FROM else INSTRUCTIONS
    if charged == INSTRUCTIONS and profile.classes["name"].iloc[0] == _EMULATED:
        charged = _EMULATED
    classes = profile.classes.assign(percent=100 * profile.classes["share"])[["name", "percent", "functions"]]
    sentences = template("cmlib.experiments", "simulated.j2").module
    answer = {
        "schema": 1,
        "name": name,
        "simulated": True,
        "about": profile.about,
        "caveat": sentences.caveat(),
        "limited_by": charged,
        "split": split,
        "classes": classes.to_dict("records"),
        "phases": kinds.to_dict("records"),
        "advice": explain_simulated(classes["name"]),
    }
    return answer | {"text": sentences.limits(answer)}


def _line(caches, name):
    """Return the line length of a cache [bytes] from Callgrind's description; CallgrindError if it has none."""
    shape = caches.get(name, "nothing")
    match = _LINE.search(shape)
    if match is None:
        raise CallgrindError(f"Callgrind's output tells no length of {name}'s lines, but {shape[:60]!r}.")
    return int(match[1])


def _relabel_streams(table, misses, lines):
    """Relabel the phases with cache misses that are mostly streams, which a processor prefetches.

    `misses` are first-level misses by phase, `lines` is how many of the run's misses were in order. A phase with cache
    misses becomes healthy if at least half of the misses of its kind must have been in order, even if all misses out of
    order were of this kind.
    """
    kind = [table["class"], table["label"], table["main"]]
    first_level = misses.groupby(kind).transform("sum")
    unclassed = (table["class"] == "") & (table["label"] == FIRST_LEVEL)
    not_in_order = misses.sum() - lines
    mostly_in_order = first_level - not_in_order >= first_level / 2
    streams = ((table["class"] == _CACHED) | unclassed) & mostly_in_order
    relabeled = table.assign(label=table["label"].mask(streams, _IN_ORDER))
    relabeled["class"] = table["class"].mask(streams & ~unclassed, HEALTHY)
    return relabeled


def _join_phases(table, cycles, by):
    """Join phases with the same values in the columns `by` to one row, largest share first."""
    number = table.groupby(by, sort=False).ngroup()
    rows = table.groupby(number).agg(
        **{name: (name, "first") for name in by},
        start=("start", "min"),
        end=("end", "max"),
        n_phases=("start", "size"),
        share=("share", "sum"),
    )
    rows["functions"] = _name_functions(cycles.groupby(number).sum())
    return rows.sort_values("share", ascending=False)


def _name_functions(cycles):
    """Return a text for each row of `cycles`: its three largest functions with their shares of estimated cycles."""
    shares = cycles.div(cycles.sum(axis=1), axis=0)
    largest = (row.nlargest(_FUNCTIONS_NAMED) for _, row in shares.iterrows())
    large_shares = (row[row >= _LEAST_SHARE] for row in largest)
    return [", ".join(f"{name} {100 * share:.0f} %" for name, share in row.items()) for row in large_shares]
