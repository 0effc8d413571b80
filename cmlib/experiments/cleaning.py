"""Multiplexed against unmultiplexed runs of one program."""

from dataclasses import dataclass

import pandas as pd

from cmlib import clean
from cmlib.clean import accuracy
from cmlib.collect.schedule import PINNED
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import EXACT, load_all, programs, refuse_simulated
from cmlib.experiments.event_tables import known_sums
from cmlib.io import store

_ICACHE_MISSES = (
    "ic_tag_hit_miss.instruction_cache_miss",
    "icache_64b.iftag_miss",
    "l2_rqsts.all_code_rd",
    "L1-icache-load-misses",
)


def recorded_both_ways(url, program="all"):
    """Programs whose cleaning can be judged."""
    refuse_simulated(url, programs(url, program), EXACT)
    try:
        return programs(url, program, modes=["ocoe", "mlpx"])
    except UnfitRecordingError as error:
        reason = str(error).split(" What is missing:")[0]
        raise UnfitRecordingError(
            f"{reason} How near cleaning comes to the truth is told by runs of the same events with multiplexing and "
            "without; what it does to a multiplexed run alone is in notebook 02b. For the truth, record a few of the "
            "events alone (`perf stat -I 100 -x, -e '{instructions,cycles,EVENT,EVENT}'`), and import that as well."
        ) from None


def compare_cleaning(url, program, *, floor=False):
    """Every way of cleaning on a program's multiplexed runs, against its unmultiplexed ones."""
    ocoe, multiplexed = _comparable(url, program)
    parts = [accuracy.compare_methods(ocoe, multiplexed, sums=known_sums(multiplexed[0]))]
    if floor:
        parts.append(accuracy.noise_floor(ocoe, multiplexed))
    return pd.concat(parts, ignore_index=True).assign(program=program)


@dataclass(frozen=True)
class BothWays:
    """A program's multiplexed runs beside what the same events counted all the time."""

    references: dict
    runs: list


def both_ways(url, program):
    """What :func:`cmlib.explore.cleaning` shows of a program, worked out beforehand."""
    ocoe, multiplexed = _comparable(url, program)
    return BothWays(accuracy.references(ocoe, multiplexed), multiplexed)


def followed_event(url, programs):
    """The event whose error is shown: instruction-cache misses as in the paper, where they were recorded."""
    runs = store.runs(url)
    seen = runs[runs["program"].isin(programs) & runs["mode"].isin(["ocoe", "mlpx"])].explode("events")
    ways = seen.drop_duplicates(["program", "mode", "events"]).groupby("events").size()
    both = sorted(set(ways.index[ways == 2 * len(programs)]) - set(PINNED))
    if not both:
        raise UnfitRecordingError(
            f"no event was counted both with and without multiplexing in all of {', '.join(programs)}: name one "
            "program, or record the same events in both ways with `cmlib record PROGRAM -- COMMAND`."
        )
    return next((event for event in _ICACHE_MISSES if event in both), both[0])


def example(url, program, event, run=0, method="counterminer"):
    """One event of a program, unmultiplexed, in one multiplexed run, and cleaned."""
    ocoe = [one for one in load_all(url, program, mode="ocoe") if event in one.counts]
    mlpx = load_all(url, program, mode="mlpx")[run]
    counts, running = mlpx.whole()
    cleaned, changed = clean.clean_run(counts, running, method=method, sums=known_sums(mlpx))
    lines = {"OCOE": ocoe[0].whole()[0][event], "MLPX": counts[event], "MLPX-CLN": cleaned[event]}
    return lines, cleaned[event][changed[event]]


def greatest_samples(url, program, method="counterminer"):
    """What cleaning makes of each multiplexed event's greatest sample, beside the greatest of unmultiplexed runs.

    Parameters
    ----------
    url, program, method : str

    Returns
    -------
    DataFrame
        A row an event and multiplexed run, of events counted both ways: ``samples``, ``replaced`` by cleaning; when the
        greatest ``mlpx`` sample was and when the greatest ``ocoe`` one [s], and these two and what is left of the first
        (``cleaned``), as multiples of the median without multiplexing (NaN where it is 0).
    """
    exact = {}
    for run in load_all(url, program, mode="ocoe"):
        for event in run.counts.columns.difference(run.meta["pinned"]):
            exact.setdefault(event, []).append(run.whole()[0][event])
    rows = []
    for number, run in enumerate(load_all(url, program, mode="mlpx")):
        counts, running = run.whole()
        both = [event for event in counts if event in exact and counts[event].notna().any()]
        cleaned, changed = clean.clean_run(counts[both], running[both], method=method)
        for event in both:
            usual, at = pd.concat(exact[event]).median() or float("nan"), counts[event].idxmax()
            peak = max(exact[event], key=pd.Series.max)
            heights = (value / usual for value in (counts[event][at], cleaned[event][at], peak.max()))
            changes = counts[event].count(), int(changed[event].sum())
            rows.append((program, number, event, *changes, at, peak.idxmax(), *heights))
    columns = "program run event samples replaced second ocoe_second mlpx cleaned ocoe"
    return pd.DataFrame(rows, columns=columns.split())


def distributions(url, program):
    """How each event's samples are distributed, and how many lie below the thresholds of Eq. 6."""
    tables = []
    for run in load_all(url, program):
        counts = run.whole()[0].drop(columns=run.meta["pinned"])
        counts = counts.loc[:, counts.count() >= 3]
        table = clean.distribution_kinds(counts)
        for n_std in (3, 5):
            table[f"within {n_std} sd"] = [
                clean.coverage(counts[event].to_numpy(), n_std) for event in counts
            ]
        tables.append(table.assign(mode=run.meta["mode"]))
    return pd.concat(tables).reset_index().assign(program=program)


def _comparable(url, program):
    ocoe = load_all(url, program, mode="ocoe")
    known = {event for run in ocoe for event in run.counts} - set(ocoe[0].meta["pinned"] if ocoe else ())
    multiplexed = [run for run in load_all(url, program, mode="mlpx") if known & set(run.counts)]
    if not multiplexed:
        raise UnfitRecordingError(
            f"program {program!r} has no event that was counted both with and without multiplexing. "
            f"Record the same events in both ways: cmlib record {program} -- COMMAND"
        )
    return ocoe, multiplexed
