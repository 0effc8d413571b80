"""Compare two versions of a program: is the new one slower, where, and which counters differ?"""

from contextlib import closing

from cmlib.anomaly.compare import compare_versions, find_obstacles
from cmlib.anomaly.detector import AutoPerf
from cmlib.anomaly.sides import check_free, open_sides, save_sides
from cmlib.anomaly.speed import NO_CHANGE, SLOWER, judge_speed
from cmlib.archive.runs import PERF
from cmlib.errors import CmlibError

SCHEMA = 2
COUNTERS, REFUSED = "counters differ", "refused"
# Good forms of 13 programs that were recorded twice (data/regions) differed by up to 17 % in their time.
DRIFT = 0.25
_UNBOUNDED = 1e12


def compare_programs(
    old,
    new,
    *,
    events=None,
    n_runs=40,
    alpha=0.002,
    smallest=0.05,
    keep=None,
    sources=None,
    timeout=None,
    seed=0,
    tell=print,
    progress=lambda: None,
):
    """Record two versions, or read their recordings, and judge the new one by the old one.

    Parameters
    ----------
    old, new, events, n_runs, timeout, tell, progress
        As of :func:`cmlib.anomaly.sides.open_sides`.
    alpha : float, default 0.002
        False-alarm probability that is accepted.
    smallest : float, default 0.05
        Smallest relevant change, as a share of the time; at least 0.25 where the two were not recorded in
        pairs, because machines drift.
    keep : path-like, optional
        Folder for the recordings of commands; refused if it holds some.
    sources : (path-like, path-like), optional
        Source trees of both, to name changed functions.
    seed : int
        Of the order within pairs, and of the autoencoders.

    Returns
    -------
    dict
        What `cmlib compare --json` prints; docs/compare.md describes it.

    Raises
    ------
    CmlibError
        If they can't be compared; the message says why, and what to do.
    """
    changed = changed_in(*sources) if sources else []
    if keep:
        check_free(keep)
    how = {"asked": events, "n_runs": n_runs, "timeout": timeout, "tell": tell, "progress": progress}
    with closing(open_sides(old, new, alpha=alpha, seed=seed, **how)) as looks:
        for sides in looks:
            machines = {"good_machine": sides.old.about["machine"], "new_machine": sides.new.about["machine"]}
            obstacles = find_obstacles(sides.old.runs, sides.new.runs, alpha=alpha, **machines)
            if obstacles:
                raise CmlibError("; ".join(obstacles))
            relevant = smallest if sides.paired else max(smallest, DRIFT)
            rules = {"alpha": alpha, "smallest": relevant, "paired": sides.paired, "n_looks": sides.n_looks}
            speed = judge_speed(sides.old.times, sides.new.times, **rules)
            if speed.settled:
                break
    if keep:
        save_sides(sides, keep)
    detector = AutoPerf(random_state=seed)
    counters = compare_versions(sides.old.runs, sides.new.runs, alpha=alpha, detector=detector)
    return _report(sides, speed, counters, changed, rules)


def refusal(reason):
    """What is reported when nothing could be compared.

    Parameters
    ----------
    reason : str

    Returns
    -------
    dict
    """
    return {"schema": SCHEMA, "verdict": REFUSED, "anomaly": None, "refused": [reason]}


def changed_in(old, new):
    """Functions that two source trees differ in, as rows that become JSON; by :mod:`cmlib.anomaly.changes`."""
    from cmlib.anomaly.changes import changed_functions

    changed = changed_functions(old, new).drop(columns="small")
    return [row | {"targets": list(row["targets"])} for row in changed.to_dict("records")]


def _report(sides, speed, counters, changed, rules):
    verdict = speed.verdict
    if verdict == NO_CHANGE and counters.anomalous:
        verdict = COUNTERS
    tests = speed.tests.to_dict("records")
    named = {test["function"] for test in tests if test["verdict"] != NO_CHANGE}
    named |= set(counters.functions.loc[counters.functions["anomalous"], "function"])
    return {
        "schema": SCHEMA,
        "source": PERF,
        "verdict": verdict,
        "anomaly": verdict == SLOWER,
        "settled": speed.settled,
        "p_value": speed.p_value,
        "rules": {
            "test": f"{'Wilcoxon signed-rank' if rules['paired'] else 'Mann-Whitney'} test of the logarithms of times, "
            "one-sided",
            "alpha": rules["alpha"],
            "smallest_change": rules["smallest"],
            "correction": "Bonferroni",
            "tests": len(tests),
            "looks": rules["n_looks"],
            "paired": rules["paired"],
        },
        "old": {"name": sides.old.name, "runs": len(sides.old.runs)},
        "new": {"name": sides.new.name, "runs": len(sides.new.runs)},
        "times": [_finite(test) for test in tests],
        "counters": {
            "counted_per": sides.old.about["per"],
            "differ": counters.anomalous,
            "p_value": counters.p_value,
            "functions": counters.functions.to_dict("records"),
            "causes": [_finite(cause) for cause in counters.counters.to_dict("records")],
        },
        "changed_functions": [
            function | {"in_verdict": not _last_names(named).isdisjoint(_names(function))}
            for function in changed
        ],
        "refused": [],
    }


def _finite(row):
    """A row whose infinite values, which JSON lacks, are null: a counter that used to be 0 has no multiple."""
    return {
        key: None if isinstance(value, float) and not abs(value) < _UNBOUNDED else value
        for key, value in row.items()
    }


def _names(function):
    return _last_names([function["function"], *function["targets"]])


def _last_names(names):
    return {name.replace("::", ".").rsplit(".", 1)[-1] for name in names}
