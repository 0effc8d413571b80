"""Compare two versions of a program: is the new one slower, where, and which counters differ?"""

from contextlib import closing

from cmlib.anomaly.compare import check_comparable, compare_versions
from cmlib.anomaly.detector import AutoPerf
from cmlib.anomaly.speed import NO_CHANGE, SLOWER, judge_speed
from cmlib.collect.compare.pairs import check_free, open_pair, save_pair
from cmlib.errors import CmlibError
from cmlib.io.archive.runs import PERF

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
    """Record two versions, or read their recordings, and judge the new one by the old one."""
    changed = changed_in(*sources) if sources else []
    if keep:
        check_free(keep)
    how = {"asked": events, "n_runs": n_runs, "timeout": timeout, "tell": tell, "progress": progress}
    with closing(open_pair(old, new, alpha=alpha, seed=seed, **how)) as looks:
        for pair in looks:
            machines = {"good_machine": pair.old.about["machine"], "new_machine": pair.new.about["machine"]}
            obstacles = check_comparable(pair.old.runs, pair.new.runs, alpha=alpha, **machines)
            if obstacles:
                raise CmlibError("; ".join(obstacles))
            relevant = smallest if pair.paired else max(smallest, DRIFT)
            rules = {"alpha": alpha, "smallest": relevant, "paired": pair.paired, "n_looks": pair.n_looks}
            speed = judge_speed(pair.old.times, pair.new.times, **rules)
            if speed.settled:
                break
    if keep:
        save_pair(pair, keep)
    detector = AutoPerf(random_state=seed)
    counters = compare_versions(pair.old.runs, pair.new.runs, alpha=alpha, detector=detector)
    return _report(pair, speed, counters, changed, rules)


def refusal(reason):
    """What is reported when nothing could be compared."""
    return {"schema": SCHEMA, "verdict": REFUSED, "anomaly": None, "refused": [reason]}


def changed_in(old, new):
    """Functions that two source trees differ in, as rows that become JSON; by :mod:`cmlib.anomaly.changes`."""
    from cmlib.anomaly.changes import changed_functions

    changed = changed_functions(old, new).drop(columns="small")
    return [row | {"targets": list(row["targets"])} for row in changed.to_dict("records")]


def _report(pair, speed, counters, changed, rules):
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
        "old": {"name": pair.old.name, "runs": len(pair.old.runs)},
        "new": {"name": pair.new.name, "runs": len(pair.new.runs)},
        "times": [_finite(test) for test in tests],
        "counters": {
            "counted_per": pair.old.about["per"],
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
