"""Recordings in the real format whose truth is known: what drives a program's IPC is planted."""

import numpy as np

from cmlib.io.archive import programs as archive
from cmlib.io.archive.runs import run_name

INTERVAL_MS = 100


def record(
    folder, program, events, driver, *, seed=0, passes=2, n_intervals=60, strength=2.0, multiplexed="sweep"
):
    """Write unmultiplexed passes and a multiplexed run of a program whose IPC falls as `driver` rises.

    Parameters
    ----------
    folder : path
        Of all recordings.
    program : str
    events : list of str
        Three to an unmultiplexed run, all in the multiplexed one.
    driver : str
        One of them; the others are noise.
    seed, passes, n_intervals, strength : optional
    multiplexed : str, default "sweep"
        Set of the multiplexed run.
    """
    rng = np.random.default_rng(seed)
    path = 0.5 + 0.5 * np.sin(np.linspace(0, 20, n_intervals)) + rng.uniform(0, 0.3, n_intervals)
    groups = [tuple(events[start : start + 3]) for start in range(0, len(events), 3)]
    for number in range(passes):
        for part, group in enumerate(groups):
            rows = _rows(rng, path, driver, [group], 100.0, strength)
            _add(folder, program, "ocoe", number, part, [group], rows, "ocoe")
    rows = _rows(rng, path, driver, groups, 25.0, strength)
    _add(folder, program, multiplexed, 0, 0, groups, rows, "mlpx")


def _rows(rng, path, driver, groups, share, strength):
    instructions = 1e8
    for place, level in enumerate(path, start=1):
        time = place * INTERVAL_MS / 1000
        cycles = instructions * (0.5 + strength * level)
        yield from (
            (time, "instructions:uD", instructions, 100.0),
            (time, "cycles:uD", round(cycles), 100.0),
        )
        for event in (event for group in groups for event in group):
            rate = level if event == driver else rng.uniform(0.2, 1.0)
            yield time, event, round(rate * cycles / 1000 * rng.normal(1, 0.01)), share


def _add(folder, program, set_name, pass_number, part, groups, rows, mode):
    lines = [f"{t:.9f},{value:.0f},,{event},99000000,{share:.2f},,\n" for t, event, value, share in rows]
    events = [event for group in groups for event in group]
    meta = {
        "program": program,
        "set": set_name,
        "pass": pass_number,
        "part": part,
        "mode": mode,
        "run": run_name(set_name, pass_number, part),
        "command": f"cmlib record --program {program} --scale 1",
        "pinned": ["instructions", "cycles"],
        "groups": [list(group) for group in groups],
        "modifier": "u",
        "interval_ms": INTERVAL_MS,
        "encodings": {event: event for event in events},
        "separator": ",",
        "counters": {"offered": 6, "good": 5},
        "machine": {"model_name": "made up"},
        "date": "2026-11-21T03:00:46",
        "duration_s": len(lines) / (2 + len(events)) * INTERVAL_MS / 1000,
        "exit_code": 0,
        "warnings": [],
        "rejected": [],
        "note": "made up",
    }
    (folder / program).mkdir(parents=True, exist_ok=True)
    archive.add_run(folder / program, meta, "".join(lines).encode())
