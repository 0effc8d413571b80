"""Recording simulated runs of a program: into the same archive as perf's, and never beside them."""

import functools
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
from cmlib.simulate.caches import cache_options, second_level_options
from cmlib.simulate.callgrind import read_parts, read_second_level
from cmlib.simulate.cost import interval_and_cost
from cmlib.simulate.series import REPEATS, as_events, difference, read_series
from cmlib.simulate.valgrind import check_valgrind, simulate

SET = "sim"
_WHY = (
    "The program depends on time, on random numbers (Python's strings: set PYTHONHASHSEED=0) or on the order of its "
    "threads; as it is, read means of several --runs."
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
    say=tqdm.write,
):
    """Record a program under Valgrind's Callgrind, which counts thirteen events at once.

    Callgrind simulates two levels of caches: for three a run is simulated twice, with the processor's last level and
    with its second one as the last, which gives three more events. Both must have executed the same; else, and where
    the processor's second level is not known, the run has the thirteen events of one simulation.

    Runs that exist already are kept and not made again. The process and all that it starts are counted, in user
    mode; threads run one after another, and so do the intervals of several processes.

    Parameters
    ----------
    name : str
        Of the program; its folder among the recordings.
    command : sequence of str
    passes : int, optional
        Runs that exist afterwards: 1 by default, or 2 where one is simulated once, so that it shows whether counts
        repeat.
    intervals : int, default 200
        About how many intervals a run has.
    every_blocks : int, optional
        Basic blocks of an interval; if it is not given, the command is run once more, without a simulation, to tell
        it from `intervals`.
    caches : dict of str to str, optional
        As of :func:`cmlib.simulate.caches.cache_options`.
    levels : {2, 3}
        Of caches.
    set_name : str, optional
        ``sim`` if not given; other caches need another one.
    function : str, optional
        Count only what this function, and those that it calls, execute; the whole run by default.
    prefetch : bool, default False
        As of :func:`cmlib.simulate.caches.cache_options`.
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
        how = {"intervals": intervals, "n_simulations": n_simulations, "say": say}
        every, blocks = interval_and_cost(command, before or every_blocks, **how)
        made = []
        for number in missing:
            started = {"date": now(), "machine": about["machine"] | {"load_1min": machine.load_1min()}}
            outcomes = _simulated(target / runs[number], command, every, options, blocks)
            outcomes, told = _checked(outcomes)
            options = options[: len(outcomes)]
            say(f"{runs[number]}: {told}")
            raw = b"".join(outcome.raw for outcome in outcomes)
            meta = _finished(about | _plan(number, about, options) | started, every, outcomes, raw)
            check_run(meta, target / f"{meta['run']}.json")
            with locked(recordings):
                made.append(add_run(target, meta, raw))
        _say_repeats(target, chosen, say)
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
        "simulator": meta["simulator"] | {"every_blocks": every, "caches": caches},
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
            f"The {len(runs)} runs differ by {100 * apart:.2g} % in instructions, more than {100 * REPEATS:g} %. {_WHY}"
        )
