"""Compare two versions of a program by simulated counts, which repeat where times do not."""

import shlex
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.anomaly.counts import blame, judge_counts, judge_estimate, spread
from cmlib.anomaly.speed import NO_CHANGE, SLOWER
from cmlib.collect.compare.programs import SCHEMA, changed_in
from cmlib.collect.simulate import read_functions, read_parts
from cmlib.collect.simulate.recording import cost_message, estimate_cost
from cmlib.collect.simulate.valgrind import cache_options, simulate
from cmlib.errors import CmlibError
from cmlib.io.archive.runs import VALGRIND
from cmlib.io.callgrind import REPEATS, as_events, display_name
from cmlib.io.events import simulated_events

INSTRUCTIONS = "sim.instructions"
_TRIED_S = 20


@dataclass(frozen=True)
class SimulatedVersion:
    """One version."""

    name: str
    runs: pd.DataFrame
    functions: pd.DataFrame
    about: dict


def compare_simulated(
    old,
    new,
    *,
    n_runs=2,
    smallest=0.005,
    smallest_modelled=0.02,
    caches=None,
    sources=None,
    timeout=None,
    tell=print,
    progress=lambda: None,
):
    """Simulate two versions, and judge the new one by its instructions, and by what modelled misses add."""
    changed = changed_in(*sources) if sources else []
    options = cache_options(caches or {})
    for name in (old, new):
        if name.endswith(".json"):
            raise CmlibError(f"{name} is a recording; --simulate compares two commands, which it runs.")
    tell(cost_message(estimate_cost(_argv(old, 0), limit_s=_TRIED_S), 2 * n_runs, limit_s=_TRIED_S))
    made = {name: [] for name in ("old", "new")}
    for run in range(n_runs):
        for form, command in (("old", old), ("new", new)):
            made[form].append(_simulated(_argv(command, run), options, timeout))
            progress()
    versions = {form: _version(name, made[form]) for form, name in (("old", old), ("new", new))}
    tests = judge_counts(
        versions["old"].runs, versions["new"].runs, simulated_events(), smallest, smallest_modelled
    )
    return _report(versions, tests, changed, smallest, smallest_modelled)


def _argv(command, run):
    return [word.replace("{run}", str(run)) for word in shlex.split(command)]


def _simulated(argv, options, timeout):
    end = None if timeout is None else time.monotonic() + timeout

    def check(_):
        if end is not None and time.monotonic() > end:
            raise CmlibError(
                f"`{shlex.join(argv)}` took longer than {timeout:g} s (--timeout) when it was simulated, "
                "and was ended"
            )

    with tempfile.TemporaryDirectory(prefix="cmlib-") as folder:
        outcome = simulate(argv, Path(folder), options=options, progress=check)
    return outcome.raw.decode(errors="replace")


def _version(name, texts):
    parts = [read_parts(text) for text in texts]
    runs = pd.DataFrame([as_events(one.totals).sum() for one in parts])
    about = {"version": parts[0].version, "caches": parts[0].caches}
    return SimulatedVersion(name, runs, _by_function(texts), about)


def _by_function(texts):
    found = pd.concat([read_functions(text).reset_index() for text in texts], ignore_index=True)
    found["function"] = list(map(display_name, found["function"], found["object"]))
    shorts = simulated_events()["callgrind"]
    counts = as_events(found.groupby("function")[list(shorts)].sum()) / len(texts)
    files = found.loc[found.groupby("function")["Ir"].idxmax()].set_index("function")["file"]
    return counts.assign(file=files)


def _report(versions, tests, changed, smallest, smallest_modelled):
    old, new = versions["old"], versions["new"]
    weight = simulated_events()["weight"]
    verdict, ratio, by_misses, threshold = judge_estimate(
        tests, old.runs, new.runs, weight, smallest_modelled
    )
    causes = [
        {
            "counter": test.event,
            "kind": test.kind,
            "votes": len(new.runs),
            "share": float(row.share),
            "times_usual": _finite(row.ratio),
            "function": function,
            "location": row.file,
        }
        for test in tests[tests["verdict"] != NO_CHANGE].itertuples()
        for function, row in blame(old.functions, new.functions, test.event).iterrows()
    ]
    named = {cause["function"] for cause in causes}
    rows = [{key: _finite(value) for key, value in test.items()} for test in tests.to_dict("records")]
    differing = max(spread(version.runs)[INSTRUCTIONS] for version in versions.values())
    return {
        "schema": SCHEMA,
        "source": VALGRIND,
        "simulator": new.about,
        "verdict": verdict,
        "anomaly": verdict == SLOWER,
        "settled": bool(differing <= REPEATS),
        "p_value": None,
        "rules": {
            "test": "ranges of the runs' counts, which repeat",
            "alpha": None,
            "smallest_change": smallest,
            "smallest_modelled_change": smallest_modelled,
            "smallest_estimated_change": threshold,
            "correction": None,
            "tests": len(rows),
            "looks": 1,
            "paired": True,
        },
        "old": {"name": old.name, "runs": len(old.runs)},
        "new": {"name": new.name, "runs": len(new.runs)},
        "times": [],
        "counts": rows,
        "cycle_estimate_ratio": ratio,
        "cycles_by_misses": by_misses,
        "counters": {
            "counted_per": "run",
            "differ": any(row["verdict"] != NO_CHANGE for row in rows),
            "p_value": None,
            "functions": [],
            "causes": causes,
        },
        "changed_functions": [
            function | {"in_verdict": function["function"].rsplit("::", 1)[-1] in named}
            for function in changed
        ],
        "refused": [],
    }


def _finite(value):
    """JSON has no infinity: a count that used to be 0 has no multiple."""
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
