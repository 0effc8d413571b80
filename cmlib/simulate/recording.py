"""Recording simulated runs of a program: into the same archive as perf's, and never beside them."""

from pathlib import Path

from tqdm import tqdm

from cmlib import machine, places
from cmlib.archive import errors_as, locked, make_folder, now, remove_abandoned, working_folder
from cmlib.archive.runs import VALGRIND, check_run, run_name
from cmlib.events import simulated_events
from cmlib.record import RecordError, existing_runs
from cmlib.record.archive import add_run, check_comparable, check_names, read_raw
from cmlib.record.execute import find_program
from cmlib.record.program import noted
from cmlib.simulate.caches import cache_options
from cmlib.simulate.callgrind import read_parts
from cmlib.simulate.cost import estimate_cost, say_cost
from cmlib.simulate.series import read_series
from cmlib.simulate.valgrind import check_valgrind, extra_options, simulate

SET = "sim"
# Counts of one program and input repeat to this share; more is told.
REPEATS = 1e-4


def record_simulated(
    name,
    command,
    *,
    passes=2,
    intervals=200,
    every_blocks=None,
    caches=None,
    set_name=None,
    function=None,
    prefetch=False,
    folder=None,
    note="",
    say=tqdm.write,
):
    """Record a program under Valgrind's Callgrind, which counts thirteen events at once.

    Runs that exist already are kept and not made again. The process and all that it starts are counted, in user
    mode; threads run one after another, and so do the intervals of several processes.

    Parameters
    ----------
    name : str
        Of the program; its folder among the recordings.
    command : sequence of str
    passes : int, default 2
        Runs that exist afterwards; the second shows whether counts repeat.
    intervals : int, default 200
        About how many intervals a run has.
    every_blocks : int, optional
        Basic blocks of an interval; if it is not given, the command is run once more, without a simulation, to tell
        it from `intervals`.
    caches : dict of str to str, optional
        As of :func:`cmlib.simulate.caches.cache_options`.
    set_name : str, optional
        ``sim`` if not given; other caches need another one.
    function : str, optional
        Count only what this function, and those that it calls, execute; the whole run by default.
    prefetch : bool, default False
        Whether streams are prefetched into the last-level cache, never too late.
    folder : path, optional
        Of all recordings; `data/recordings` by default.
    note : str, default ""
    say : callable
        Takes what is told on the way: the cost beforehand, and whether counts repeat.

    Returns
    -------
    list of pathlib.Path
        Metadata files of the runs made now.

    Raises
    ------
    RecordError
        If the command or Valgrind does not exist, either fails, or the program's runs come from perf or were
        simulated otherwise. Runs made before stay, and nothing is left of one that was cut off.
    """
    recordings, chosen = Path(folder or places.recordings_dir()), set_name or SET
    check_names(name, chosen)
    version = check_valgrind()
    find_program(command)
    options = [*cache_options(caches or {}), *extra_options(function, prefetch)]
    with errors_as(RecordError, recordings):
        target = make_folder(recordings / name)
        remove_abandoned(target)
        existing = existing_runs(target)
        intended = _intended(name, chosen, noted(command), version, options, note)
        wanted = [intended(number) for number in range(passes)]
        for meta in wanted:
            check_comparable(existing.values(), meta)
        missing = [meta for meta in wanted if meta["run"] not in existing]
        if not missing:
            return []
        every, blocks = _interval(command, existing, chosen, every_blocks, intervals, len(missing), say)
        made = []
        for meta in missing:
            finished, raw = _record_one(target, meta, command, every, options, blocks)
            with locked(recordings):
                made.append(add_run(target, finished, raw))
        _say_repeats(target, chosen, say)
        return made


def _interval(command, existing, set_name, every_blocks, intervals, n_runs, say):
    """Basic blocks of an interval, and of the whole run as far as that is known."""
    before = [meta["simulator"]["every_blocks"] for meta in existing.values() if meta["set"] == set_name]
    if every_blocks or before:
        say("A simulated run takes about 50 to 100 times as long as the program by itself.")
        return (before or [every_blocks])[0], None
    cost = estimate_cost(command)
    told = say_cost(cost, n_runs)
    if cost is None:
        raise RecordError(
            f"{told} Give it less work; or, to simulate it all the same, tell the length of an interval: "
            "--every-blocks 100000000 is about ten seconds of simulation."
        )
    say(told)
    return cost.every(intervals), cost.blocks


def _record_one(target, meta, command, every, options, blocks):
    """The run's full metadata and its raw output."""
    started, load = now(), {"load_1min": machine.load_1min()}
    with (
        working_folder(target / meta["run"]) as folder,
        tqdm(total=blocks, desc=meta["run"], unit=" basic blocks", unit_scale=True, mininterval=1) as bar,
    ):
        outcome = simulate(
            command,
            folder,
            every_blocks=every,
            options=options,
            progress=lambda done: bar.update(done - bar.n),
        )
    text = outcome.raw.decode(errors="replace")
    counts, _ = read_series(text)
    simulator = meta["simulator"] | {"every_blocks": every, "caches": read_parts(text).caches}
    finished = meta | {
        "date": started,
        "duration_s": float(counts.index[-1]),
        "simulation_s": round(outcome.seconds, 3),
        "simulator": simulator,
        "machine": meta["machine"] | load,
    }
    check_run(finished, target / f"{meta['run']}.json")
    return finished, outcome.raw


def _intended(name, set_name, command, version, options, note):
    first, *others = simulated_events().index
    about = {
        "program": name,
        "set": set_name,
        "part": 0,
        "mode": "ocoe",
        "source": VALGRIND,
        "command": command,
        "pinned": [first],
        "groups": [others],
        "encodings": simulated_events()["callgrind"].loc[others].to_dict(),
        "modifier": "u",
        "interval_ms": 0,
        "counters": {"offered": None, "good": None},
        "simulator": {"tool": "callgrind", "version": version, "options": options},
        "machine": machine.describe(),
        "exit_code": 0,
        "warnings": [],
        "note": note,
    }
    return lambda number: {"pass": number, "run": run_name(set_name, number, 0), **about}


def _say_repeats(target, set_name, say):
    """Say how far the instructions of a set's runs are apart."""
    runs = [run for run, meta in existing_runs(target).items() if meta["set"] == set_name]
    if len(runs) < 2:
        return
    totals = [read_parts(read_raw(target, run).decode(errors="replace")).totals["Ir"].sum() for run in runs]
    apart = (max(totals) - min(totals)) / min(totals)
    if apart <= REPEATS:
        say(f"The {len(runs)} runs executed the same instructions, to {100 * apart:.2g} %.")
    else:
        say(
            f"The {len(runs)} runs differ by {100 * apart:.2g} % in instructions, more than {100 * REPEATS:g} %: the "
            "program depends on time, on random numbers or on the order of its threads, so read means of several runs."
        )
