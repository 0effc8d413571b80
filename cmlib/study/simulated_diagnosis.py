"""The phases of a simulated run: made or read, explained, and laid out on a page."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from cmlib import places
from cmlib.archive.runs import VALGRIND, source_of
from cmlib.errors import NothingRecordedError
from cmlib.events import cycle_estimate, simulated_events
from cmlib.fingerprint import diagnosis
from cmlib.fingerprint.page import fill
from cmlib.fingerprint.simulated import advice, contributions, simulated_phases
from cmlib.plot.simulated import simulated_phases as draw
from cmlib.record import existing_runs
from cmlib.record.archive import read_raw
from cmlib.simulate import read_parts, record_simulated
from cmlib.simulate.caches import cache_options
from cmlib.simulate.callgrind import display_name
from cmlib.simulate.intervals import read_intervals
from cmlib.simulate.valgrind import simulate
from cmlib.study import simulated_fingerprint
from cmlib.study.simulated_programs import is_prefetched

# Some 3 million instructions, 0.05 s of simulation.
EVERY_BLOCKS = 500_000
_FUNCTIONS_NAMED, _LEAST_SHARE = 3, 0.05
# Of what limits a core, a simulation tells mispredictions only.
_OF_CLASS = {"P_CPU": advice("mispredictions")}
CAVEAT = (
    "Simulated by Valgrind, not measured: instructions, loads, stores and branches are exact, misses and "
    "mispredictions are those of a model without speculation, and no cycles were counted. Threads "
    "ran one at a time, so that contention and waiting do not show."
)


@dataclass(frozen=True)
class SimulatedProfile:
    """What a program does, phase by phase, by simulated counts.

    Attributes
    ----------
    counts : DataFrame, shape (n_intervals, 13)
        Index: progress [10⁹ instructions].
    phases : DataFrame
        From :func:`cmlib.fingerprint.simulated.simulated_phases`, with ``functions``: the functions with the largest
        shares of the phase's estimated cycles, as text; and ``class``: what the tree of the micro-benchmarks says,
        empty where it can't be asked.
    about : str
        What simulated it, with which caches.
    """

    counts: pd.DataFrame
    phases: pd.DataFrame
    about: str


def simulate_once(command, *, caches=None, every_blocks=None, keep=None, say=print):
    """Simulate one run of a command.

    Parameters
    ----------
    command : list of str
    caches : dict of str to str, optional
        As of :func:`cmlib.simulate.caches.cache_options`.
    every_blocks : int, optional
        Basic blocks of an interval, 500,000 by default.
    keep : str, optional
        Name of a program to record the run under.
    say : callable
        Takes what it costs, before it starts.

    Returns
    -------
    text : str
        Callgrind's output.
    prefetched : bool
        Whether streams are prefetched: always, here.

    Raises
    ------
    RecordError
        As of :func:`cmlib.simulate.record_simulated`.
    """
    every = every_blocks or EVERY_BLOCKS
    if keep is not None:
        once = {"passes": 1, "levels": 2}
        record_simulated(keep, command, every_blocks=every, caches=caches, prefetch=True, say=say, **once)
        return recorded_run(keep)
    say(
        "A simulated run takes about 50 to 100 times as long as the program by itself. It is run only once, as not "
        "every command can be repeated, so that nothing more is known beforehand."
    )
    with (
        tempfile.TemporaryDirectory(prefix="cmlib-") as folder,
        tqdm(desc=command[0], unit=" basic blocks", unit_scale=True, mininterval=1, leave=False) as bar,
    ):
        outcome = simulate(
            command, Path(folder), every_blocks=every, options=cache_options(caches or {}, prefetch=True),
            progress=lambda done: bar.update(done - bar.n),
        )  # fmt: skip
    return outcome.raw.decode(errors="replace"), True


def recorded_run(name):
    """The first simulated run of a program among the recordings.

    Returns
    -------
    text : str
        Callgrind's output.
    prefetched : bool
        Whether streams were prefetched, as `cmlib diagnose` does.

    Raises
    ------
    NothingRecordedError
        If there is none.
    """
    if not (found := first_simulated(name)):
        raise NothingRecordedError(
            f"no simulated run of {name!r} is recorded: run `cmlib record {name} --simulate -- COMMAND`."
        )
    run, meta = found
    return read_raw(places.recordings_dir() / name, run).decode(errors="replace"), is_prefetched(meta)


def first_simulated(name):
    """Name and metadata of the first simulated run of a program among the recordings; None if there is none."""
    runs = existing_runs(places.recordings_dir() / name).items()
    return next(((run, meta) for run, meta in runs if source_of(meta) == VALGRIND), None)


def simulated_profile(text, prefetched=False):
    """Phases of a simulated run, the functions of each, and its class.

    Parameters
    ----------
    text : str
        Callgrind's output.
    prefetched : bool, default False
        Whether streams are prefetched, as where the tree was trained; else it is not asked.

    Returns
    -------
    SimulatedProfile

    Raises
    ------
    CallgrindError
        As of :func:`cmlib.simulate.read_series`.
    """
    counts, functions = read_intervals(text)
    phases = simulated_phases(counts)
    named = [_functions(functions.loc[phase.first : phase.last]) for phase in phases.itertuples()]
    classes = _classes(counts, phases) if prefetched else [""] * len(phases)
    parts = read_parts(text)
    caches = "; ".join(f"{name} {shape}" for name, shape in parts.caches.items())
    about = (
        f"Simulated by Valgrind's Callgrind {parts.version}, {counts['sim.instructions'].sum():,.0f} instructions in "
        f"{len(counts)} intervals. Caches: {caches}."
    )
    return SimulatedProfile(counts, phases.assign(**{"functions": named, "class": classes}), about)


def simulated_page(title, profile):
    """A simulated run's phases as a page that needs nothing beside it.

    Parameters
    ----------
    title : str
    profile : SimulatedProfile

    Returns
    -------
    str
        HTML.
    """
    totals = profile.counts.sum()
    table = simulated_events().assign(count=totals, rate=1000 * totals / totals["sim.instructions"])
    figure, _ = draw(contributions(profile.counts), profile.phases["start"])
    return fill(
        "simulated.html.j2",
        figure,
        title=f"{title} (simulated)",
        about=profile.about,
        caveat=CAVEAT,
        phases=profile.phases.to_dict("records"),
        advice=explained(profile.phases),
        counts=[{"event": event} | row for event, row in table.to_dict("index").items()],
    )


def explained(phases):
    """What labels and classes of phases mean, and what a programmer can do: a list of (name, meaning, remedy)."""
    labels, classes = phases["label"].unique(), [name for name in phases["class"].unique() if name]
    return [
        *((label, *advice(label)) for label in labels),
        *((name, *_OF_CLASS.get(name, diagnosis.advice(name))) for name in classes),
    ]


def _classes(counts, phases):
    """What the tree of the micro-benchmarks says of each phase; nothing where they are not recorded."""
    try:
        tree = simulated_fingerprint.train_for_one_run()
    except NothingRecordedError:
        return [""] * len(phases)
    of_phases = [counts.iloc[phase.first : phase.last + 1].sum() for phase in phases.itertuples()]
    return tree.predict(simulated_fingerprint.rates_of_one_run(pd.DataFrame(of_phases)))


def _functions(rows):
    """Functions of some intervals, by their share of the estimated cycles."""
    names = list(
        map(display_name, rows.index.get_level_values("function"), rows.index.get_level_values("object"))
    )
    estimate = cycle_estimate(rows).groupby(names).sum()
    shares = (estimate / estimate.sum()).nlargest(_FUNCTIONS_NAMED)
    told = [f"{name} {100 * share:.0f} %" for name, share in shares.items() if share >= _LEAST_SHARE]
    return ", ".join(told)
