"""Diagnose a program's bottlenecks: of a measured run by classes of time slices, of a simulated one by phases.

A class is what a decision tree that was trained on micro-benchmarks predicts: a kind of bottleneck (names beginning
with P, such as P_CPU) or none (N). A phase is a stretch of the run that is of one class. :func:`profile` takes a
fitted tree and a measured run, and gives a :class:`Profile`; :func:`simulated_profile` takes Callgrind's output, of
:func:`simulate_once` or of a recording (:func:`simulated_text`), and gives a :class:`SimulatedProfile`. A
ValueError if a run lacks key events or slices; a CallgrindError for text that is not Callgrind's.
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
from cmlib.io.callgrind import CallgrindError, display_name, find_interpreter, names_python, read_intervals
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

    `labelled` is a DataFrame, a row per slice (index: its end [s]), with columns label (its class) and rule (the
    branch of the tree that gave it); `pace` is the slices' IPC (Series); `phases` has neighbouring slices of one
    label and rule as one row: start_s, end_s, n_slices, label, rule; `shares` is the percent of slices by label
    (Series), largest first.
    """

    labelled: pd.DataFrame
    pace: pd.Series
    phases: pd.DataFrame
    shares: pd.Series


@dataclass(frozen=True)
class SimulatedProfile:
    """Phases of a simulated run.

    `counts` is a DataFrame of Callgrind's events, a row per interval (index: its end [10⁹ instructions]). `phases`
    has a row per phase: start and end [10⁹ instructions], first and last (number of interval), estimate (cycles per
    instruction), share (of the estimated cycles, 0-1), label (what cycles are charged for most), class (by the
    tree; "" if unknown), main (function with most cycles) and functions (text of the three largest). `kinds` has
    phases of the same class, label and main function as one row, `classes` those of the same class (or label, if
    there is no class; column name), with start, end, n_phases, share and functions, largest share first. `about` is
    sentences on the simulation.
    """

    counts: pd.DataFrame
    phases: pd.DataFrame
    kinds: pd.DataFrame
    classes: pd.DataFrame
    about: str


def profile(model, series, *, slice_s=SLICE_S):
    """Profile (class of each slice, and phases) of one measured run by a fitted classifier.

    `model` is a fitted classifier of :mod:`cmlib.fingerprint` (C45Classifier, or an UnknownRejector around it),
    `series` the run (not pandas' Series, but that of :mod:`cmlib.experiments.micro.recordings`), `slice_s` the length
    of a slice [s]. A ValueError if the run has no slice, or did not count the model's key events.
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
    """Profiles of measured runs by a fitted classifier: a dict from program (name) to the Profile of its first pass.

    `model` is a fitted classifier of :mod:`cmlib.fingerprint` (C45Classifier, or an UnknownRejector around it),
    `series` a list of runs (not pandas' Series, but those of :mod:`cmlib.experiments.micro.recordings`), `slice_s`
    the length of a slice [s]. A ValueError if a run has no slice, or did not count the model's key events.
    """
    first = {run.program: run for run in reversed(series)}
    return {name: profile(model, run, slice_s=slice_s) for name, run in sorted(first.items())}


def explain(profile: Profile) -> pd.DataFrame:
    """Explain the phases of a measured run (a Profile): a DataFrame of its `phases` with columns meaning and remedy.

    The two are text on each phase's class; the column n_slices is left out.
    """
    explained = profile.phases.drop(columns="n_slices")
    advised = [advice(label) for label in explained["label"]]
    return explained.join(pd.DataFrame(advised, explained.index, columns=["meaning", "remedy"]))


def answer_measured(name, profile, caveat=""):
    """Answer on a measured run for terminal, pages and JSON: a dict.

    `name` is the program's, `profile` its Profile, `caveat` a sentence in Markdown. Keys: schema, name, simulated
    (False), caveat, slices (their number), classes (dicts of name, percent, meaning, remedy, rules), phases (dicts of
    start_s, end_s, label, rule).
    """
    explained = explain(profile)
    classes = []
    for label, percent in profile.shares.items():
        of_class = explained[explained["label"] == label]
        row = {"name": label, "percent": percent, **of_class[["meaning", "remedy"]].iloc[0]}
        classes.append(row | {"rules": of_class["rule"].unique().tolist()})
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
    """Raise an UnfitRecordingError if a program (name) has a simulated run among the recordings.

    Notebook 00 shows those.
    """
    if first_simulated(program):
        raise UnfitRecordingError(f"{program} is simulated: its phases are in notebook 00.")


def first_simulated(name):
    """First simulated run of a program (name) in the order of their names; None if there is none.

    A tuple of the run's name (such as ``ocoe-p0-00``) and its metadata (dict).
    """
    runs = readable_runs(places.recordings_dir() / name).items()
    return next(((run, meta) for run, meta in runs if source_of(meta) == VALGRIND), None)


def simulated_text(name):
    """Callgrind's output of the first simulated run of a program (name), as recorded.

    A tuple of the text, True if prefetching of streams was simulated, and the number of cache lines that were read in
    order (None if not known). A NothingRecordedError if there is none.
    """
    if not (first := first_simulated(name)):
        raise NothingRecordedError(
            f"no simulated run of {name!r} is recorded: run "
            f"{command_code('cmlib', 'record', name, '--simulate', '--', 'COMMAND')}."
        )
    run, meta = first
    text = read_raw(places.recordings_dir() / name, run).decode(errors="replace")
    return text, PREFETCHING in meta["simulator"]["options"], meta["simulator"].get("in_order")


def simulate_once(command, *, caches=None, every_blocks=EVERY_BLOCKS, progress=lambda done: None):
    """Simulate one run of a command (list of str) under Callgrind, with prefetching of streams of cache lines.

    `caches` maps Valgrind's names of caches (I1, D1, LL) to text ``SIZE,WAYS,LINE``, by default this machine's
    caches; `every_blocks` is the length of an interval [basic blocks], by default 500,000; `progress` is called
    with the number of basic blocks so far. Returns a tuple of Callgrind's output (str), True (prefetched), and the
    number of cache lines read in order (int): the arguments of
    :func:`simulated_profile`. A RecordError if Valgrind is missing or the command
    fails, a CmlibError if a cache can't be simulated.
    """
    with scratch_folder() as folder:
        options = cache_options(caches or {}, prefetch=True)
        settings = {"every_blocks": every_blocks, "options": options, "progress": progress}
        outcome = simulate(command, Path(folder), python=True, **settings)
        return outcome.raw.decode(errors="replace"), True, outcome.in_order


def simulated_profile(text, prefetched=False, in_order=None, *, classify=None):
    """SimulatedProfile of Callgrind's output (str).

    `prefetched` is True if it was simulated with prefetching, without which there are no classes; `in_order` is the
    number of cache lines that were read in order (None: not known): misses on these are no problem, as a processor
    prefetches them. `classify` is a function that gives the class of each row of a DataFrame of counts, or "" where
    nobody trained it. A CallgrindError if the text can't be read.
    """
    counts, functions = read_intervals(text)
    table = simulated_phases(counts, simulated_events()["weight"])
    of_phase = np.repeat(np.arange(len(table)), table["last"] - table["first"] + 1)
    by_phase = counts.groupby(of_phase).sum()
    names = map(display_name, *map(functions.index.get_level_values, ("function", "object")))
    placed = [of_phase[functions.index.get_level_values("interval")], list(names)]
    cycles = cycle_estimate(functions).groupby(placed).sum().unstack(fill_value=0.0)
    parts = read_parts(text)
    table = table.assign(functions=_functions(cycles), main=cycles.idxmax(axis=1))
    table["class"] = classify(by_phase) if prefetched and classify else ""
    if prefetched and in_order:
        lines = in_order * _line(parts.caches, "LL") / _line(parts.caches, "D1")
        misses = by_phase[["sim.l1d_load_misses", "sim.l1d_store_misses"]].sum(axis=1)
        table = _without_streams(table, misses, lines)
    table = _label_emulation(table, cycles)
    kinds = _together(table, cycles, ["class", "label", "main"])
    named = table.assign(name=table["class"].where(table["class"] != "", table["label"]))
    classes = _together(named, cycles, ["name"])
    executed, interpreter = counts["sim.instructions"].sum(), find_interpreter(functions)
    sentences = template("cmlib.experiments", "simulated.j2").module
    about = sentences.about(parts, executed, len(counts), prefetched, interpreter, names_python(functions))
    return SimulatedProfile(counts, table, kinds, classes, about)


def _label_emulation(table, cycles):
    """Name the phases in which nothing else stands out by emulated floating point, if it has a tenth of the cycles.

    `table` has one row per phase, `cycles` the estimated cycles by phase (row) and function (column).
    """
    emulated = [name for name in cycles if is_emulated_float(name)]
    shares = cycles[emulated].sum(axis=1) / cycles.sum(axis=1)
    healthy = table["class"].isin(["", HEALTHY]) & (table["label"] == NOTHING_ELSE)
    named = healthy & (shares >= NAMED_FROM).to_numpy()
    labels = table["label"].mask(named, _EMULATED)
    classes = table["class"].mask(named, "")
    return table.assign(**{"label": labels, "class": classes})


def explain_simulated(names):
    """Explain names of classes or labels of simulated phases: a list of dicts of name, meaning, remedy.

    The healthy class (N) is explained by what a simulation does not show. A ValueError for an unknown name.
    """
    texts = {name: advice(_OF_CLASS.get(name, name)) for name in names}
    return [{"name": name, "meaning": meaning, "remedy": remedy} for name, (meaning, remedy) in texts.items()]


def answer_simulated(name, profile):
    """Answer on a simulated run for terminal, pages and JSON: a dict.

    `name` is the program's, `profile` its SimulatedProfile. Keys: schema, name, simulated (True), about, caveat,
    limited_by (what most cycles are charged for), split (percent of the estimated cycles by cause), classes (dicts
    of name, percent, functions), phases (dicts), advice (dicts of name, meaning, remedy), text (sentences in
    Markdown).
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
    """Line length of a cache [bytes] from Callgrind's description; a CallgrindError if it has none."""
    shape = caches.get(name, "nothing")
    if not (match := _LINE.search(shape)):
        raise CallgrindError(f"Callgrind's output tells no length of {name}'s lines, but {shape[:60]!r}.")
    return int(match[1])


def _without_streams(table, misses, lines):
    """Phases without those cache problems that are streams, which a processor prefetches.

    `misses` are first-level misses by phase, `lines` how many of the run's were in order. A phase of such a class is
    made healthy if at least half of the misses of its kind must have been in order, wherever the others were.
    """
    kind = [table["class"], table["label"], table["main"]]
    first_level = misses.groupby(kind).transform("sum")
    unclassed = (table["class"] == "") & (table["label"] == FIRST_LEVEL)
    mostly_in_order = first_level - (misses.sum() - lines) >= first_level / 2
    streams = ((table["class"] == _CACHED) | unclassed) & mostly_in_order
    named = table.assign(label=table["label"].mask(streams, _IN_ORDER))
    named["class"] = table["class"].mask(streams & ~unclassed, HEALTHY)
    return named


def _together(table, cycles, by):
    """Join phases with the same values in the columns `by` to one row, with their main functions; largest share
    first."""
    number = table.groupby(by, sort=False).ngroup()
    rows = table.groupby(number).agg(
        **{name: (name, "first") for name in by},
        start=("start", "min"),
        end=("end", "max"),
        n_phases=("start", "size"),
        share=("share", "sum"),
    )
    rows["functions"] = _functions(cycles.groupby(number).sum())
    return rows.sort_values("share", ascending=False)


def _functions(cycles):
    """List of a text for each row of `cycles`: its three largest functions with their shares of estimated cycles."""
    shares = cycles.div(cycles.sum(axis=1), axis=0)
    largest = (row.nlargest(_FUNCTIONS_NAMED) for _, row in shares.iterrows())
    named = (row[row >= _LEAST_SHARE] for row in largest)
    return [", ".join(f"{name} {100 * share:.0f} %" for name, share in row.items()) for row in named]
