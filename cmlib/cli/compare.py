"""Comparisons of two versions as text, a line a finding."""

import contextlib
import functools
import json
import signal

import click
from click.core import ParameterSource

from cmlib.cli.record import simulating_options

_VERDICTS = {
    "slower": "ANOMALY, slower",
    "faster": "changed, faster",
    "counters differ": "changed, counters differ",
    "no change": "no change",
    "may be slower": "MAY BE SLOWER",
    "same": "same",
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
        if not function["anomalous"]:
            yield f"  {function['function']}, counters per {counters['counted_per']}: as before"
    causes = counters["causes"]
    if causes:
        most = [cause for cause in causes if cause["share"] >= _LEAST_SHARE * causes[0]["share"]][:3]
        yield f"  why, by counters per {counters['counted_per']}: {', '.join(map(_cause, most))}"


def _cause(cause):
    times = cause["times_usual"]
    return f"{cause['counter']} {'never seen before' if times is None else f'{times:.3g} times'} ({cause['location']})"


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
    yield (
        f"  estimated cycles (Ir + 10 L1m + 100 LLm + 10 Bm): {comparison['cycle_estimate_ratio']:.4f} times, of which "
        f"misses and mispredictions {100 * comparison['cycles_by_misses']:+.2f} %"
    )
    yield from _changed(comparison["changed_functions"])
    yield (
        f"rules: slower from {100 * rules['smallest_change']:.3g} % more instructions or "
        f"{100 * rules['smallest_estimated_change']:.3g} % more estimated cycles; may be slower where misses add "
        f"{100 * rules['smallest_modelled_change']:.3g} % to these"
    )
    if not comparison["settled"]:
        worst = next(row for row in comparison["counts"] if row["event"] == "sim.instructions")
        yield (
            f"runs of one version differ by {100 * worst['spread']:.2g} % in instructions, so that changes under "
            f"{100 * worst['threshold']:.2g} % are not told: is it random numbers, time, or the order of threads?"
        )


_LEAST_SHARE = 0.1  # of the first cause's
_EXAMPLE = "Example: cmlib compare --events page-faults,context-switches './old --size 9' './new --size 9'"
_DEFAULTS = {"n_runs": 40, "smallest": 5.0}
_SIMULATED_DEFAULTS = {"n_runs": 2, "smallest": 0.5}
_OF_PERF = ("events", "alpha", "keep", "seed")


@click.command(epilog=_EXAMPLE)
@click.argument("old")
@click.argument("new")
@click.option(
    "--events", metavar="LIST", help="Events of commands, with commas between; NAME=CODE for raw ones."
)
@click.option(
    "--runs", "n_runs", type=click.IntRange(1),
    help="Most runs of each command; fewer are made if the result is clear.  [default: 40, or 2 simulated]",
)  # fmt: skip
@click.option(
    "--alpha", default=0.002, show_default=True, type=click.FloatRange(0, 0.5, min_open=True),
    help="False-alarm probability that is accepted.",
)  # fmt: skip
@click.option(
    "--smallest-change", "smallest", metavar="PERCENT", type=click.FloatRange(0, 1000),
    help="Smallest relevant change of the time, or of simulated instructions.  [default: 5, or 0.5 simulated]",
)  # fmt: skip
@click.option("--any-change", is_flag=True, help="Exit code 1 for every change, faster versions as well.")
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(0, min_open=True),
    help="End a command that runs longer, and refuse to compare.",
)  # fmt: skip
@click.option(
    "--keep", type=click.Path(file_okay=False), help="Folder for the recordings: old.json and new.json."
)
@click.option(
    "--old-source", type=click.Path(exists=True), help="Source files of OLD, to name what was changed in NEW."
)
@click.option("--new-source", type=click.Path(exists=True), help="Source files of NEW.")
@click.option("--seed", default=0, show_default=True, help="Of the order within pairs, and the autoencoders.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@simulating_options
@click.pass_context
def compare(context, old, new, any_change, old_source, new_source, as_json, simulated, **how):
    """Compare the NEW version of a program with the OLD one."""
    if (old_source is None) != (new_source is None):
        raise click.UsageError("--old-source and --new-source belong together.")
    from tqdm import tqdm

    from cmlib.collect.compare.verdict import compare_programs, compare_simulated, refusal

    judge, lines, defaults = compare_programs, programs_as_text, _DEFAULTS
    if simulated is not None:
        _drop_what_perf_needs(context, how)
        judge = functools.partial(compare_simulated, caches=simulated)
        lines, defaults = simulated_as_text, _SIMULATED_DEFAULTS
    how |= {name: value for name, value in defaults.items() if how[name] is None}
    how["smallest"] /= 100
    how["sources"] = (old_source, new_source) if old_source else None
    n_commands = sum(not name.endswith(".json") for name in (old, new))
    total = how["n_runs"] * n_commands
    try:
        with (
            _ended_by_signals(),
            tqdm(total=total, unit="run", disable=None if n_commands else True, leave=False) as bar,
        ):
            comparison = judge(
                old, new, tell=lambda text: click.echo(text, err=True), progress=bar.update, **how
            )
    except BaseException as error:
        if as_json:
            _print_json(refusal("interrupted" if isinstance(error, KeyboardInterrupt) else str(error)))
        raise
    if as_json:
        _print_json(comparison)
    else:
        click.echo("\n".join(lines(comparison)))
    changed = comparison["verdict"] not in ("no change", "same") or comparison["counters"]["differ"]
    alarming = comparison["anomaly"] or (any_change and changed)
    context.exit(int(alarming))


def _drop_what_perf_needs(context, how):
    for name in _OF_PERF:
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{name} is for commands that perf counts, and --simulate has no part for it."
            )
        del how[name]


@contextlib.contextmanager
def _ended_by_signals():
    """SIGTERM and SIGHUP end it as Ctrl-C does: with the program that runs, and what it started."""

    def end(*_):
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_json(comparison):
    click.echo(json.dumps(comparison, indent=1, ensure_ascii=False, allow_nan=False))
