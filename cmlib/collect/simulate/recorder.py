"""Record simulated runs of a program: what they will cost, which are missing, and whether they repeat."""

import functools
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.record import RecordError, existing_runs
from cmlib.collect.record.execute import find_program, noted
from cmlib.collect.record.session import beginning
from cmlib.collect.simulate.valgrind import (
    cache_options,
    check_valgrind,
    count_blocks,
    second_level_options,
    simulate,
)
from cmlib.io.archive import errors_as, locked, make_folder, remove_abandoned, working_folder
from cmlib.io.archive.programs import add_run, check_comparable, check_names, read_raw
from cmlib.io.archive.runs import VALGRIND, check_run, run_name
from cmlib.io.callgrind import REPEATS, as_events, difference, read_parts, read_second_level, read_series
from cmlib.io.events import simulated_events

# Measured of bzip2, gzip and C loops: Callgrind takes 8 to 13 times as long as Valgrind without a tool, and sees
# 1.0 to 2.5 times the basic blocks that Valgrind's scheduler tells.
_TIMES_AS_LONG = 10
_BLOCKS_TOLD = 1.6
_LONGEST_S = 60
_FEWEST_BLOCKS = 50_000
SET = "sim"
_WHY = (
    "The program depends on time, on random numbers (Python's strings: set PYTHONHASHSEED=0) or on the order of its "
    "threads; as it is, read means of several --runs."
)


@dataclass(frozen=True)
class Cost:
    """What a simulated run takes."""

    seconds: float
    blocks: int

    def every(self, intervals):
        """Basic blocks of an interval, for about so many intervals; at least half of Valgrind's own time slice."""
        return max(_FEWEST_BLOCKS, round(self.blocks / intervals))


def estimate_cost(command, *, limit_s=_LONGEST_S):
    """Run a command under Valgrind without a tool, about five times slower than native, to tell what comes."""
    with tempfile.TemporaryDirectory(prefix="cmlib-") as folder:
        blocks, seconds = count_blocks(command, Path(folder), limit_s=limit_s)
    return None if blocks is None else Cost(_TIMES_AS_LONG * seconds, round(_BLOCKS_TOLD * blocks))


def interval_and_cost(command, every_blocks=None, *, intervals=200, n_simulations=1, notify=print):
    """Length of an interval, and what a simulation costs, which is told before it starts."""
    if every_blocks:
        notify("A simulated run takes 6 to 200 times as long as the program by itself.")
        return every_blocks, None
    cost = estimate_cost(command)
    message = cost_message(cost, n_simulations)
    if cost is None:
        raise RecordError(
            f"{message} Give it less work; or, to simulate it all the same, tell the length of an interval: "
            "--every-blocks 100000000 is about ten seconds of simulation."
        )
    notify(message)
    return cost.every(intervals), cost.blocks


def cost_message(cost, n_runs, *, limit_s=_LONGEST_S):
    """What so many simulated runs will take, in a sentence."""
    if cost is None:
        return (
            f"A simulated run takes more than {_TIMES_AS_LONG * limit_s / 60:.0f} minutes, and {n_runs} are made: "
            f"under Valgrind without a simulation the program was not over after {limit_s:g} s."
        )
    each = f"{cost.seconds:.0f} s" if cost.seconds < 120 else f"{cost.seconds / 60:.0f} min"
    return (
        f"A simulated run takes about {each}, ten times what it took under Valgrind without a simulation; "
        f"{n_runs} are made."
    )


def record_simulated(
    name,
    command,
    *,
    passes=None,
    intervals=200,
    every_blocks=None,
    caches=None,
    levels=3,
    set_name=None,
    function=None,
    prefetch=False,
    folder=None,
    note="",
    notify=tqdm.write,
):
    """Record a program under Valgrind's Callgrind, which counts thirteen events at once."""
    recordings, chosen = Path(folder or places.recordings_dir()), set_name or SET
    check_names(name, chosen)
    version = check_valgrind()
    find_program(command)
    counted = [f"--toggle-collect={function}"] if function else []
    options = [[*last, *counted] for last in _last_levels(caches or {}, levels, prefetch)]
    with errors_as(RecordError, recordings):
        target = make_folder(recordings / name)
        remove_abandoned(target)
        existing = existing_runs(target)
        of_set = [meta for meta in existing.values() if meta["set"] == chosen]
        if of_set and not of_set[0]["simulator"].get("second_level"):
            options = options[:1]
        about = _about(name, chosen, noted(command), version, note)
        check_comparable(existing.values(), about | _plan(0, about, options))
        runs = {number: run_name(chosen, number, 0) for number in range(passes or 3 - len(options))}
        missing = [number for number, run in runs.items() if run not in existing]
        if not missing:
            return []
        n_simulations = len(missing) * len(options)
        before = of_set[0]["simulator"]["every_blocks"] if of_set else None
        how = {"intervals": intervals, "n_simulations": n_simulations, "notify": notify}
        every, blocks = interval_and_cost(command, before or every_blocks, **how)
        made = []
        for number in missing:
            started = beginning(about)
            outcomes = _simulated(target / runs[number], command, every, options, blocks)
            outcomes, message = _checked(outcomes)
            options = options[: len(outcomes)]
            notify(f"{runs[number]}: {message}")
            raw = b"".join(outcome.raw for outcome in outcomes)
            meta = _finished(started | _plan(number, about, options), every, outcomes, raw)
            check_run(meta, target / f"{meta['run']}.json")
            with locked(recordings):
                made.append(add_run(target, meta, raw))
        _report_repeats(target, chosen, notify)
        return made


def _last_levels(caches, levels, prefetch):
    """Valgrind's options of each simulation of a run."""
    second = second_level_options(caches, prefetch=prefetch) if levels == 3 else []
    return [cache_options(caches, prefetch=prefetch), *([second] if second else [])]


def _simulated(place, command, every, options, blocks):
    """Outcomes of the simulations of a run."""
    outcomes = []
    for number, of_one in enumerate(options, start=1):
        title = place.name if len(options) == 1 else f"{place.name}, {number} of {len(options)}"
        with (
            working_folder(place) as folder,
            tqdm(total=blocks, desc=title, unit=" basic blocks", unit_scale=True, mininterval=1) as bar,
        ):
            shown = functools.partial(_show, bar)
            outcomes.append(simulate(command, folder, every_blocks=every, options=of_one, progress=shown))
            blocks = bar.n or blocks  # the next one executes as many
    return outcomes


def _show(bar, done):
    bar.update(done - bar.n)


def _checked(outcomes):
    """The simulations that can be read together, and what is to be said of them."""
    texts = [outcome.raw.decode(errors="replace") for outcome in outcomes]
    last = as_events(read_parts(texts[0]).totals)
    if len(texts) == 1:
        return outcomes, f"{last['sim.instructions'].sum():,.0f} instructions."
    second = read_second_level("".join(texts))
    if second is None:
        return outcomes[
            :1
        ], "Misses of the second-level cache are not kept: Valgrind took the same last level twice."
    apart = difference(last, as_events(second.totals))
    if apart == 0:
        return outcomes, "Both simulations executed the same instructions, loads, stores and branches."
    if apart <= REPEATS:
        return outcomes, (
            f"The simulations differ by {100 * apart:.1g} % in instructions: misses of the second-level cache are read "
            "off at equal shares of them."
        )
    return outcomes[:1], (
        f"Misses of the second-level cache are not kept: the simulations differ by {100 * apart:.2g} % in "
        f"instructions. {_WHY}"
    )


def _finished(meta, every, outcomes, raw):
    text = raw.decode(errors="replace")
    counts, _ = read_series(text)
    caches, second = read_parts(text).caches, read_second_level(text)
    if second is not None:
        caches |= {"L2": second.caches["LL"]}
    return meta | {
        "duration_s": float(counts.index[-1]),
        "simulation_s": round(sum(outcome.seconds for outcome in outcomes), 3),
        "simulator": meta["simulator"]
        | {"every_blocks": every, "caches": caches, "in_order": outcomes[0].in_order},
    }


def _about(name, set_name, command, version, note):
    """What all runs of a set have in common."""
    return {
        "program": name,
        "set": set_name,
        "part": 0,
        "mode": "ocoe",
        "source": VALGRIND,
        "command": command,
        "modifier": "u",
        "interval_ms": 0,
        "counters": {"offered": None, "good": None},
        "simulator": {"tool": "callgrind", "version": version},
        "machine": machine.describe(),
        "exit_code": 0,
        "warnings": [],
        "note": note,
    }


def _plan(number, about, options):
    """What a run counts, and with which caches."""
    first, second = [*options, None][:2]
    table = simulated_events(levels=3 if second else 2)
    pinned, *others = table.index
    return {
        "pass": number,
        "run": run_name(about["set"], number, 0),
        "pinned": [pinned],
        "groups": [others],
        "encodings": table["callgrind"].loc[others].to_dict(),
        "simulator": about["simulator"] | {"options": first, "second_level": second},
    }


def _report_repeats(target, set_name, notify):
    """Say how far the instructions of a set's runs are apart."""
    runs = [run for run, meta in existing_runs(target).items() if meta["set"] == set_name]
    if len(runs) < 2:
        return
    totals = [read_parts(read_raw(target, run).decode(errors="replace")).totals["Ir"].sum() for run in runs]
    apart = (max(totals) - min(totals)) / min(totals)
    if apart <= REPEATS:
        notify(f"The {len(runs)} runs executed the same instructions, to {100 * apart:.2g} %.")
    else:
        notify(
            f"The {len(runs)} runs differ by {100 * apart:.2g} % in instructions, more than {100 * REPEATS:g} %. {_WHY}"
        )
