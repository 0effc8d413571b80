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


def example(url, program, event, method="counterminer"):
    """One event of a program, unmultiplexed, multiplexed, and cleaned."""
    ocoe = [run for run in load_all(url, program, mode="ocoe") if event in run.counts]
    mlpx = [run for run in load_all(url, program, mode="mlpx") if event in run.counts]
    if not ocoe or not mlpx:
        raise UnfitRecordingError(
            f"program {program!r} has not recorded {event!r} both with and without multiplexing."
        )
    counts, running = mlpx[0].whole()
    cleaned, changed = clean.clean_run(counts, running, method=method, sums=known_sums(mlpx[0]))
    lines = {"OCOE": ocoe[0].whole()[0][event], "MLPX": counts[event], "MLPX-CLN": cleaned[event]}
    return lines, cleaned[event][changed[event]]


def replaced_samples(url, program, method="counterminer"):
    """How many samples a method changes in the multiplexed runs of the events that were recorded both ways."""
    known = {event for run in load_all(url, program, mode="ocoe") for event in run.counts}
    counted = {}
    for run in load_all(url, program, mode="mlpx"):
        counts, running = run.whole()
        both = [event for event in counts if event in known and event not in run.meta["pinned"]]
        if not both:
            continue
        _, changed = clean.clean_run(counts[both], running[both], method=method)
        for event in both:
            samples, replaced = counted.get(event, (0, 0))
            counted[event] = samples + int(counts[event].notna().sum()), replaced + int(changed[event].sum())
    rows = [(program, event, *numbers) for event, numbers in counted.items()]
    return pd.DataFrame(rows, columns=["program", "event", "samples", "replaced"])


def largest_outliers(url, program):
    """How many times an event's greatest multiplexed sample is what it usually is without multiplexing (Fig.
    2a)."""
    samples = {
        mode: pd.concat(
            [run.counts.drop(columns=run.meta["pinned"]) for run in load_all(url, program, mode=mode)]
            or [pd.DataFrame()]
        )
        for mode in ("ocoe", "mlpx")
    }
    usual = samples["ocoe"].median()
    ratio = (samples["mlpx"].max() / usual[usual > 0]).dropna()
    return ratio.rename("ratio").rename_axis("event").reset_index().assign(program=program)


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
