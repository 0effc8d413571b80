"""Record runs of a program under Callgrind: estimate their time, make missing ones, and tell whether they repeat.

:func:`record_simulated` takes a name and a command (list of str), stores the runs among the recordings, and gives
the metadata files (paths) of the new ones. RecordError if Valgrind or the program fails, or what is there was
simulated otherwise.
"""

from pathlib import Path

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.record import RecordError, existing_runs
from cmlib.collect.record.execute import TooLongError, find_program, noted
from cmlib.collect.record.session import beginning, planned_metadata
from cmlib.collect.schedule import Plan
from cmlib.collect.simulate import valgrind
from cmlib.io.archive import errors_as, locked, program_folder, working_folder
from cmlib.io.archive.programs import add_run, check_comparable, check_names, read_raw
from cmlib.io.archive.runs import VALGRIND, run_name
from cmlib.io.callgrind import REPEATS, as_events, difference, read_parts, read_second_level, read_series
from cmlib.io.events import simulated_events
from cmlib.scratch import scratch_folder
from cmlib.terminal import progress_bar, say, say_above_bars

# Measured on bzip2, gzip and C loops: Callgrind takes 8 to 13 times as long as Valgrind without a tool, and counts
# 1.0 to 2.5 times as many basic blocks as the statistics of Valgrind's scheduler.
_TIMES_AS_LONG = 10
_BLOCKS_TOLD = 1.6
_LONGEST_S = 60
_INTERVALS, _FEWEST_BLOCKS = 200, 50_000  # in a run; in an interval (half of Valgrind's own time slice)
SET = "sim"  # name of the set of simulated runs
_WHY = (
    "The program depends on time, on random numbers or on the order of its "
    "threads; as it is, read means of several --runs."
)


def estimate(command, n_simulations, notify=say, *, limit_s=_LONGEST_S):
    """Estimate the length of a simulated run, by one run under Valgrind without a simulation.

    `command` is a list of str; `notify` is told (str) how long each of `n_simulations` will take. Returns a tuple
    of the number of basic blocks in an interval, so that a run has 200, and in a run. RecordError if that run fails
    or takes more than `limit_s` [s].
    """
    with scratch_folder() as folder:
        try:
            told, seconds = valgrind.count_blocks(command, Path(folder), limit_s=limit_s)
        except TooLongError as error:
            raise RecordError(
                f"A simulated run takes more than {_TIMES_AS_LONG * limit_s / 60:.0f} minutes: without a simulation "
                f"{error}. Give it less work; or, to simulate it all the same, tell the length of an "
                "interval: --every-blocks 100000000 is about ten seconds of simulation."
            ) from error
    each, blocks = _TIMES_AS_LONG * seconds, round(_BLOCKS_TOLD * told)
    notify(
        f"A simulated run takes about {each:.0f} s, ten times what it took under Valgrind without a simulation; "
        f"{n_simulations} are made."
    )
    return max(_FEWEST_BLOCKS, round(blocks / _INTERVALS)), blocks


def record_simulated(
    name,
    command,
    *,
    passes=None,
    every_blocks=None,
    caches=None,
    levels=3,
    set_name=SET,
    function=None,
    folder=None,
    note="",
    notify=say_above_bars,
):
    """Record a program under Callgrind, which counts all simulated events at once; return the new metadata files.

    They are a list of paths. `name` is the program's, `command` a list of str. `passes` is the number of runs (by
    default one with three levels of caches, else two), `every_blocks` the length of an interval in basic blocks
    (estimated if None). `caches` maps I1, D1, L2, LL to ``SIZE,WAYS,LINE``, by default this machine's; with three
    `levels` each run is simulated twice, the second time with L2 as the last cache. `function` limits counting to
    its calls. `set_name`, `folder` (of all recordings) and `note` are those of the recordings; `notify` is called
    with sentences (str). Runs that are there are not repeated. RecordError if Valgrind or the program is missing or
    fails, or runs that are there were simulated otherwise.
    """
    recordings = Path(folder or places.recordings_dir())
    check_names(name, set_name)
    version = valgrind.check_valgrind()
    find_program(command)
    with errors_as(RecordError, recordings), program_folder(recordings / name) as target:
        existing = existing_runs(target)
        of_set = [meta for meta in existing.values() if meta["set"] == set_name]
        # Runs added to a set are simulated as its first run was.
        prefetch = not of_set or valgrind.PREFETCHING in of_set[0]["simulator"]["options"]
        options = [valgrind.cache_options(caches or {}, prefetch=prefetch)]
        if levels == 3 and (not of_set or of_set[0]["simulator"].get("second_level")):
            options += filter(None, [valgrind.second_level_options(caches or {}, prefetch=prefetch)])
        toggle = [f"--toggle-collect={function}"] if function else []
        options = [[*simulation, *toggle] for simulation in options]
        about = {
            "program": name,
            "source": VALGRIND,
            "command": noted(command),
            "counters": {"offered": None, "good": None},
            "simulator": {"tool": "callgrind", "version": version},
            "machine": machine.describe(),
            "exit_code": 0,
            "warnings": [],
            "note": note,
        }
        check_comparable(existing.values(), _planned(set_name, 0, options, about))
        runs = {number: run_name(set_name, number, 0) for number in range(passes or 3 - len(options))}
        missing = [number for number, run in runs.items() if run not in existing]
        if not missing:
            return []
        every, blocks = of_set[0]["simulator"]["every_blocks"] if of_set else every_blocks, None
        if not every:
            every, blocks = estimate(command, len(missing) * len(options), notify)
        made = []
        for number in missing:
            started = beginning(about)
            outcomes = _simulated(target / runs[number], command, every, options, blocks)
            outcomes, message = _checked(outcomes)
            options = options[: len(outcomes)]
            notify(f"{runs[number]}: {message}")
            raw = b"".join(outcome.raw for outcome in outcomes)
            meta = _finished(_planned(set_name, number, options, started), every, outcomes, raw)
            with locked(recordings):
                made.append(add_run(target, meta, raw))
        _report_repeats(target, set_name, notify)
        return made


def _simulated(place, command, every, options, blocks):
    """Simulate a run once with each list of Valgrind's options; return a list of Simulations."""
    outcomes = []
    for number, simulation in enumerate(options, start=1):
        title = f"{place.name}, {number} of {len(options)}"
        with (
            working_folder(place) as folder,
            progress_bar(
                total=blocks, desc=title, unit=" basic blocks", unit_scale=True, mininterval=1
            ) as bar,
        ):
            settings = {"progress": lambda done, bar=bar: bar.update(done - bar.n), "every_blocks": every}
            outcomes.append(valgrind.simulate(command, folder, options=simulation, **settings))
            blocks = bar.n or blocks  # the next one executes as many
    return outcomes


def _checked(outcomes):
    """Select the simulations that agree in instructions, so that their counts can be joined.

    Returns the simulations, and a message on how far they agree.
    """
    texts = [outcome.raw.decode(errors="replace") for outcome in outcomes]
    last, not_kept = as_events(read_parts(texts[0]).totals), "Misses of the second-level cache are not kept"
    if len(texts) == 1:
        return outcomes, f"{last['sim.instructions'].sum():,.0f} instructions."
    second = read_second_level("".join(texts))
    if second is None:
        return outcomes[:1], f"{not_kept}: Valgrind took the same last level twice."
    apart = difference(last, as_events(second.totals))
    differ = f"simulations differ by {100 * apart:.2g} % in instructions"
    if apart > REPEATS:
        return outcomes[:1], f"{not_kept}: the {differ}. {_WHY}"
    return outcomes, f"The {differ}, loads, stores and branches."


def _finished(meta, every, outcomes, raw):
    """Complete the planned metadata of a simulated run with its outcome."""
    text = raw.decode(errors="replace")
    counts, _ = read_series(text)
    caches, second = read_parts(text).caches, read_second_level(text)
    if second is not None:
        caches |= {"L2": second.caches["LL"]}
    seconds = round(sum(outcome.seconds for outcome in outcomes), 3)
    lengths = {"duration_s": float(counts.index[-1]), "simulation_s": seconds}
    told = {"every_blocks": every, "caches": caches, "in_order": outcomes[0].in_order}
    return meta | lengths | {"simulator": meta["simulator"] | told}


def _planned(set_name, number, options, about):
    """Return the metadata of a simulated run before it is made.

    `options` has one or two lists, the second for the second-level cache.
    """
    first, second = [*options, None][:2]
    table = simulated_events(levels=3 if second else 2)
    pinned, *others = table.index
    plan = Plan(set_name, "ocoe", 0, (pinned,), (tuple(others),), interval_ms=0)
    meta = planned_metadata(plan, number, table["callgrind"], about)
    return meta | {"simulator": about["simulator"] | {"options": first, "second_level": second}}


def _report_repeats(target, set_name, notify):
    """Tell how far the runs of a set differ in instructions."""
    runs = [run for run, meta in existing_runs(target).items() if meta["set"] == set_name]
    totals = [read_parts(read_raw(target, run).decode(errors="replace")).totals["Ir"].sum() for run in runs]
    apart = (max(totals) - min(totals)) / min(totals)
    if len(runs) > 1:
        why = f" {_WHY}" if apart > REPEATS else ""
        notify(f"The {len(runs)} runs differ by {100 * apart:.2g} % in instructions.{why}")
