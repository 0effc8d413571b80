"""Events that tick with the clock, and so explain cycles per instruction by the time they are divided by."""

import numpy as np
import pandas as pd
import pytest

from cmlib import experiments as study
from cmlib import places
from cmlib.errors import UnfitRecordingError
from cmlib.io import events
from cmlib.io.archive import programs as archive
from cmlib.io.meaning.stored import read_stored
from cmlib.rank.leaks import find_ticking
from tests.notebook_functions import functions_of

TICKING = ["context-switches", "irq_vectors:local_timer_entry", "cpu-migrations", "r0e01", "ref"]


def planted(seed, n, *names):
    """A run at 3 GHz whose speed drifts: cycles have causes, go along with others, and nothing to do with the rest."""
    rng = np.random.default_rng(seed)
    ipc = np.exp(np.cumsum(rng.normal(0, 0.1, n))).clip(0.3, 3)
    cycles = 3e8 * rng.uniform(0.98, 1.02, n)
    instructions, seconds = cycles * ipc, np.full(n, 0.1)
    made = {
        "instructions": instructions,
        "cycles": cycles,
        "context-switches": rng.poisson(20_000 * seconds),
        "irq_vectors:local_timer_entry": 25 + rng.integers(0, 2, n),
        "cpu-migrations": rng.poisson(0.5, n),
        "r0e01": rng.poisson(20_000 * seconds),
        "ref": 1e7 * rng.normal(1, 0.001, n),
        "branches": instructions * rng.normal(0.1, 0.01, n),
        "misses": instructions * (1 / ipc - 0.2).clip(0.01) / 200 * rng.normal(1, 0.1, n),
        "waited for": cycles / 300 * rng.normal(1, 0.03, n),
        "page-faults": rng.poisson(instructions * 1e-6 * rng.lognormal(0, 0.4, n)),
        "sched:sched_switch": rng.poisson(2000 * seconds * (1 / ipc) ** 1.5),
    }
    counts = pd.DataFrame(made, pd.Index(seconds.cumsum(), name="time_s"), dtype=float)
    return counts[[*names]] if names else counts, pd.Series(seconds, counts.index)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n", [60, 200])
def test_what_ticks_is_found_and_no_cause_and_no_company_of_instructions(seed, n):
    counts, seconds = planted(seed, n)
    ticking = find_ticking([(counts, seconds)])
    assert sorted(ticking.index) == sorted(TICKING)
    assert ticking["context-switches"] == pytest.approx(20_000, rel=0.01)
    # Not the order of columns, nor how many runs the intervals were counted in, nor the unit of anything
    halves = [(counts.iloc[part, ::-1], seconds.iloc[part]) for part in (slice(n // 2), slice(n // 2, n))]
    assert set(find_ticking(halves).index) == set(TICKING)


def as_matrix(*names):
    counts, seconds = planted(1, 200, *names)
    run = {"set": "x", "pass": 0, "counts": counts, "seconds": seconds}
    return study.matrix(pd.DataFrame([run]), per="instructions")


def test_no_cause_is_found_where_none_was_planted():
    data = as_matrix()
    assert set(data.ticking.index) == set(TICKING) and not set(TICKING) & set(data.X)
    table = pd.DataFrame({"description": []}, dtype=str)
    explain = functions_of("clusters", table=table, n_models=2, seed=0)["explain"]
    assert not set(TICKING) & set(explain(data)["members"]["event"])
    assert set(data.X) == {"branches", "misses", "waited for", "page-faults", "sched:sched_switch"}


def test_a_recording_of_nothing_else_is_refused_with_the_reason():
    with pytest.raises(
        UnfitRecordingError, match=r"fixed rate in time \(context-switches 20,\d+ times per second\)"
    ):
        as_matrix("instructions", "cycles", "context-switches")


def test_interrupts_are_no_vector_operations():
    names = [
        "irq_vectors:local_timer_entry",
        "context-switches",
        "sched:sched_switch",
        "hw_interrupts.received",
    ]
    what = events.kinds(names, pd.DataFrame({"description": []}, dtype=str))
    assert set(what["kind"]) == {"operating system"} and set(what["class"]) == {"other"}
    assert (
        events.kinds(["fp_ops_retired_by_type.vector_add"], pd.DataFrame({"description": []}))["topic"].iloc[
            0
        ]
        == "floating-point and vector ops"
    )


@pytest.mark.slow
@pytest.mark.parametrize("program", ["bzip2", "wordcount"])
def test_events_of_real_programs_stay_but_those_that_each_interrupt_brings(program):
    folder, runs = places.recordings_dir() / program, []
    for run, meta in archive.existing_runs(folder).items():
        counts = read_stored(archive.read_raw(folder, run), meta).counts
        runs.append((counts, pd.Series(np.diff(counts.index, prepend=0.0), counts.index)))
    ticking = find_ticking(runs)
    # bzip2's code stays in its caches but for interrupts: each of these misses would cost 5,000 cycles or more.
    assert len(ticking) <= (8 if program == "bzip2" else 0)
    cycles = sum(counts["cycles"].sum() for counts, _ in runs) / sum(part.sum() for _, part in runs)
    assert (cycles / ticking > 5000).all()
