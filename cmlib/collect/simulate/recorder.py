"""Record simulated runs of a program.

:func:`record_simulated` runs a command under Callgrind and stores its counts as recordings. It first estimates how
long a simulated run takes (:func:`estimate`), and at the end reports how far the runs differ.
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
from cmlib.io.callgrind import (
    LARGEST_DIFFERENCE,
    as_events,
    measure_difference,
    read_parts,
    read_second_level,
    read_series,
)
from cmlib.io.events import simulated_events
from cmlib.scratch import scratch_folder
from cmlib.terminal import progress_bar, say, say_above_bars

# Time and basic blocks under Callgrind, relative to Valgrind without a tool. Measured on bzip2, gzip and C loops:
# 8 to 13 times the time, and 1.0 to 2.5 times the blocks that Valgrind's scheduler reports.
_TIMES_AS_LONG = 10
_BLOCKS_RATIO = 1.6
_LONGEST_S = 60
_INTERVALS = 200  # in a run
_FEWEST_BLOCKS = 50_000  # in an interval; half of Valgrind's own time slice
SET = "sim"  # name of the set of simulated runs
_WHY = (
    "The program depends on time, on random numbers or on the order of its "
    "threads; as it is, read means of several --runs."
)


def estimate(command, n_simulations, notify=say, *, limit_s=_LONGEST_S):
    """Estimate the length of a simulated run.

    The program runs once under Valgrind without a simulation, which is about ten times faster.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    n_simulations : int
        Number of planned simulations, for the message.
    notify : callable
        Called with a message on how long each simulation takes.
    limit_s : float, default 60
        Longest time of the run without a simulation [s].

    Returns
    -------
    every_blocks : int
        Length of an interval [basic blocks]. A run has about 200 intervals.
    blocks : int
        Length of the run [basic blocks].

    Raises
    ------
    RecordError
        If the run fails or takes more than `limit_s`.
    """
    with scratch_folder() as folder:
        try:
            executed, seconds = valgrind.count_blocks(command, Path(folder), limit_s=limit_s)
        except TooLongError as error:
            raise RecordError(
                f"A simulated run takes more than {_TIMES_AS_LONG * limit_s / 60:.0f} minutes: without a simulation "
                f"{error}. Give it less work; or, to simulate it all the same, set the length of an "
                "interval: --every-blocks 100000000 is about ten seconds of simulation."
            ) from error
    seconds_each = _TIMES_AS_LONG * seconds
    blocks = round(_BLOCKS_RATIO * executed)
    notify(
        f"A simulated run takes about {seconds_each:.0f} s, ten times what it took under Valgrind without a "
        f"simulation; {n_simulations} are made."
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
    """Record simulated runs of a program.

    Callgrind counts all simulated events at once. Existing runs are not repeated.

    Parameters
    ----------
    name : str
        Name of the program.
    command : list of str
        The program and its arguments.
    passes : int, optional
        Number of runs. The default is one run with three levels of caches, else two runs.
    every_blocks : int, optional
        Length of an interval [basic blocks]. By default it is estimated.
    caches : dict of str to str, optional
        Size, ways and line length of the caches I1, D1, L2 and LL. For example, ``{"D1": "32K,8,64"}``. The default
        is this machine's caches.
    levels : {2, 3}, default 3
        Levels of caches. With three levels each run is simulated twice, the second time with L2 as the last cache.
    set_name : str, default "sim"
        Name of the set of runs.
    function : str, optional
        Count only while this function runs.
    folder : path-like, optional
        Folder of all recordings. The default is the data folder.
    note : str, default ""
        Text for the metadata.
    notify : callable
        Called with each message (str). Prints by default.

    Returns
    -------
    list of Path
        Metadata files of the new runs. Empty if all runs exist.

    Raises
    ------
    RecordError
        If Valgrind or the program is missing or fails, or if existing runs are not comparable with new ones.
    """
    recordings = Path(folder or places.recordings_dir())
    check_names(name, set_name)
    version = valgrind.check_valgrind()
    find_program(command)
    with errors_as(RecordError, recordings), program_folder(recordings / name) as target:
        existing = existing_runs(target)
        set_runs = [meta for meta in existing.values() if meta["set"] == set_name]
        options = _choose_options(caches or {}, levels, function, set_runs)
        about = _describe_simulation(name, command, version, note)
        check_comparable(existing.values(), _plan_metadata(set_name, 0, options, about))
        numbers = _list_missing(existing, set_name, passes or 3 - len(options))
        if not numbers:
            return []
        every_blocks = set_runs[0]["simulator"]["every_blocks"] if set_runs else every_blocks
        blocks = None
        if not every_blocks:
            every_blocks, blocks = estimate(command, len(numbers) * len(options), notify)
        files = []
        for number in numbers:
            run = run_name(set_name, number, 0)
            started = beginning(about)
            outcomes = _simulate_run(target / run, command, every_blocks, options, blocks)
            outcomes, message = _select_comparable(outcomes)
            notify(f"{run}: {message}")
            options = options[: len(outcomes)]  # later runs are simulated in the same way
            planned = _plan_metadata(set_name, number, options, started)
            with locked(recordings):
                files.append(_store_run(target, planned, every_blocks, outcomes))
        _report_repeats(target, set_name, notify)
        return files


def _list_missing(existing, set_name, n_runs):
    """List the numbers of the first `n_runs` runs of a set that do not exist yet."""
    return [number for number in range(n_runs) if run_name(set_name, number, 0) not in existing]


def _store_run(target, planned, every_blocks, outcomes):
    """Store the output of a run's simulations, one after another, and return the metadata file."""
    raw = b"".join(outcome.raw for outcome in outcomes)
    return add_run(target, _complete_metadata(planned, every_blocks, outcomes, raw), raw)


def _choose_options(caches, levels, function, set_runs):
    """Choose Valgrind's options for each simulation of a run: one list per simulation.

    A new run of a set gets the options of its first run. `set_runs` are the metadata of the existing runs.
    """
    first = set_runs[0]["simulator"] if set_runs else None
    prefetch = first is None or valgrind.PREFETCHING in first["options"]
    options = [valgrind.cache_options(caches, prefetch=prefetch)]
    if levels == 3 and (first is None or first.get("second_level")):
        second_level = valgrind.second_level_options(caches, prefetch=prefetch)
        if second_level:
            options.append(second_level)
    toggle = [f"--toggle-collect={function}"] if function else []
    return [[*simulation, *toggle] for simulation in options]


def _describe_simulation(name, command, version, note):
    """Return the metadata that all simulated runs share."""
    return {
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


def _simulate_run(place, command, every_blocks, options, blocks):
    """Simulate a run once with each list of Valgrind's options; return a list of Simulations.

    `blocks` is the expected length of the run [basic blocks], or None.
    """
    outcomes = []
    for number, simulation in enumerate(options, start=1):
        title = f"{place.name}, {number} of {len(options)}"
        with (
            working_folder(place) as folder,
            progress_bar(
                total=blocks, desc=title, unit=" basic blocks", unit_scale=True, mininterval=1
            ) as bar,
        ):
            settings = {
                "progress": lambda done, bar=bar: bar.update(done - bar.n),
                "every_blocks": every_blocks,
            }
            outcomes.append(valgrind.simulate(command, folder, options=simulation, **settings))
            blocks = bar.n or blocks  # the next simulation executes the same number
    return outcomes


def _select_comparable(outcomes):
    """Select the simulations that agree in instructions, and whose counts can be joined.

    Returns the simulations and a message on how far they agree.
    """
    texts = [outcome.raw.decode(errors="replace") for outcome in outcomes]
    last_level = as_events(read_parts(texts[0]).totals)
    if len(texts) == 1:
        return outcomes, f"{last_level['sim.instructions'].sum():,.0f} instructions."
    second_level = read_second_level("".join(texts))
    not_kept = "Misses of the second-level cache are not kept"
    if second_level is None:
        return outcomes[:1], f"{not_kept}: Valgrind took the same last level twice."
    relative_difference = measure_difference(last_level, as_events(second_level.totals))
    differ = f"simulations differ by {100 * relative_difference:.2g} % in instructions"
    if relative_difference > LARGEST_DIFFERENCE:
        return outcomes[:1], f"{not_kept}: the {differ}. {_WHY}"
    return outcomes, f"The {differ}, loads, stores and branches."


def _complete_metadata(meta, every_blocks, outcomes, raw):
    """Complete the planned metadata of a simulated run with its outcome."""
    text = raw.decode(errors="replace")
    counts, _ = read_series(text)
    caches = read_parts(text).caches
    second_level = read_second_level(text)
    if second_level is not None:
        caches |= {"L2": second_level.caches["LL"]}
    simulator = {"every_blocks": every_blocks, "caches": caches, "in_order": outcomes[0].in_order}
    return meta | {
        "duration_s": float(counts.index[-1]),
        "simulation_s": round(sum(outcome.seconds for outcome in outcomes), 3),
        "simulator": meta["simulator"] | simulator,
    }


def _plan_metadata(set_name, number, options, about):
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
    """Report how far the runs of a set differ in instructions."""
    runs = [run for run, meta in existing_runs(target).items() if meta["set"] == set_name]
    totals = [read_parts(read_raw(target, run).decode(errors="replace")).totals["Ir"].sum() for run in runs]
    relative_difference = (max(totals) - min(totals)) / min(totals)
    if len(runs) > 1:
        explanation = f" {_WHY}" if relative_difference > LARGEST_DIFFERENCE else ""
        notify(
            f"The {len(runs)} runs differ by {100 * relative_difference:.2g} % in instructions.{explanation}"
        )
