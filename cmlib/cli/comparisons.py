"""Comparisons of two versions as text, a line a finding."""

_VERDICTS = {
    "slower": "ANOMALY, slower",
    "faster": "changed, faster",
    "counters differ": "changed, counters differ",
    "no change": "no change",
}


def programs_as_text(comparison):
    """Yield the lines that tell a comparison by times and counters."""
    rules = comparison["rules"]
    rules["percent"] = f"{100 * rules['smallest_change']:.3g} %"
    runs = f"{comparison['new']['runs']} new runs against {comparison['old']['runs']} old ones"
    yield f"{_VERDICTS[comparison['verdict']]}: {runs}, {'' if rules['paired'] else 'not '}in pairs"
    for test in comparison["times"]:
        yield (
            f"  {test['function']}, {test['measure']}: {test['ratio']:.3f} times{_interval(test)}, "
            f"{_duration(test['old_s'])} → {_duration(test['new_s'])}, p-value "
            f"{min(test['p_slower'], test['p_faster']):.2g}: {_judged(test, rules)}"
        )
    yield from _counters(comparison["counters"])
    yield from _changed(comparison["changed_functions"])
    yield (
        f"rules: a change is significant at a p-value of at most {rules['alpha']:g} ({rules['test']}, corrected for "
        f"{rules['tests']} tests and {rules['looks']} looks), relevant from {rules['percent']}, and told if it is both"
    )
    if not rules["paired"]:
        yield "recorded at different times, between which machines drift: compare two commands to find smaller changes"
    elif not comparison["settled"]:
        yield f"not every confidence interval excludes a change of {rules['percent']}: more --runs would tell"


def _interval(test):
    if test["low"] == 0 or test["high"] is None:
        return ""
    return f" (95 % confidence interval {test['low']:.3f} to {test['high']:.3f})"


def _duration(seconds):
    return next(
        f"{seconds / unit:.3g} {name}"
        for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
        if seconds >= unit or unit == 1e-9
    )


def _judged(test, rules):
    if test["verdict"] != "no change":
        return test["verdict"]
    if test["significant"]:
        return f"significant, but less than {rules['percent']}"
    return f"{rules['percent']} or more, but not significant" if test["relevant"] else "no change"


def _counters(counters):
    for function in counters["functions"]:
        differ = "differ" if function["anomalous"] else "as before"
        beyond = "lies" if function["relevant"] else "does not lie"
        yield (
            f"  {function['function']}, counters per {counters['counted_per']}: {differ}, p-value "
            f"{function['p_value']:.2g} (Mann-Whitney), the median new run {beyond} beyond every old one"
        )
    for cause in counters["causes"][:5]:
        usual = cause["times_usual"]
        much = "never seen before" if usual is None else f"{usual:.3g} times the usual"
        yield (
            f"    {cause['counter']}: {much}, {cause['share']:.0%} of the reconstruction error, first in "
            f"{cause['votes']} samples, most at {cause['location']}"
        )


def _changed(functions):
    named = sorted(functions, key=lambda function: not function["in_verdict"])
    for function in named[:10]:
        where = ", which the verdict names" if function["in_verdict"] else ""
        regions = ", ".join(function["targets"])
        yield (
            f"  source: {function['function']} ({function['location']}) was {function['change']}{where}"
            + (f"; a region belongs into {regions}" if regions and not where else "")
        )
    if len(named) > 10:
        yield f"  source: and {len(named) - 10} more functions"


def simulated_as_text(comparison):
    """Yield the lines that tell a comparison by simulated counts."""
    rules, simulator = comparison["rules"], comparison["simulator"]
    runs = f"{comparison['new']['runs']} new runs against {comparison['old']['runs']} old ones"
    yield f"{_VERDICTS[comparison['verdict']]}: SIMULATED by Callgrind {simulator['version']}, {runs}"
    causes = comparison["counters"]["causes"]
    for row in comparison["counts"]:
        told = row["verdict"] != "no change"
        if told or row["event"] == "sim.instructions":
            ratio = "new" if row["ratio"] is None else f"{row['ratio']:.4f} times"
            yield (
                f"  {row['event']} ({row['kind']}): {ratio}, {row['old']:,.0f} → {row['new']:,.0f}: {row['verdict']}"
            )
        for cause in causes if told else ():
            if cause["counter"] == row["event"]:
                much = "new" if cause["times_usual"] is None else f"{cause['times_usual']:.4g} times"
                yield f"    {cause['function']} ({cause['location']}): {much}, {cause['share']:.0%} of the change"
    yield f"  estimated cycles (Ir + 10 L1m + 100 LLm + 10 Bm): {comparison['cycle_estimate_ratio']:.4f} times"
    yield from _changed(comparison["changed_functions"])
    yield (
        f"rules: told are changes of exact counts from {100 * rules['smallest_change']:.3g} %, and of modelled "
        f"ones from {100 * rules['smallest_modelled_change']:.3g} % if they come to 0.1 % of the estimated "
        "cycles; the verdict is that of instructions"
    )
    if not comparison["settled"]:
        worst = next(row for row in comparison["counts"] if row["event"] == "sim.instructions")
        yield (
            f"runs of one version differ by {100 * worst['spread']:.2g} % in instructions, so that changes under "
            f"{100 * worst['threshold']:.2g} % are not told: is it random numbers, time, or the order of threads?"
        )
