"""`cmlib compare`: two versions of a program, two recordings of a service, or a history of commits."""

import functools
import json
import os
import signal

import click
from click.core import ParameterSource

from cmlib.cli.history import compare_history
from cmlib.cli.record import simulating_options
from cmlib.terminal import printable, say

_LEAST_SHARE = 0.1  # of the first cause's
_VERDICTS = {
    "slower": "ANOMALY, slower",
    "faster": "changed, faster",
    "counters differ": "changed, counters differ",
    "no change": "no change",
    "may be slower": "MAY BE SLOWER",
    "inconclusive": "INCONCLUSIVE",
    "moved": "same code, moved",
    "same": "same",
}


def as_text(comparison, form="txt"):
    """A comparison as text or Markdown (md), a line a finding; of its causes the first three that matter."""
    from cmlib.templates import template

    causes = comparison["counters"]["causes"]
    most = [cause for cause in causes if cause["share"] >= _LEAST_SHARE * causes[0]["share"]][:3]
    changed = sorted(comparison["changed_functions"], key=lambda function: not function["in_verdict"])
    shown = comparison | {"verdicts": _VERDICTS, "causes": most, "changed": changed}
    return template("cmlib.cli", f"compare.{form}.j2").render(shown).rstrip()


_EXAMPLE = "Example: cmlib compare --events page-faults,context-switches './old --size 9' './new --size 9'"
_DEFAULTS = {"n_runs": 40, "smallest": 4.0}
_SMALLEST_OF_RECORDINGS = 25.0
_SIMULATED_DEFAULTS = {"n_runs": 2, "smallest": 0.5}
_HISTORY_DEFAULTS = {"alpha": 0.05, "smallest": 1.0}
_OF_HISTORY = ("history", "page", "any_change", "alpha", "smallest", "as_json")
_OF_PERF = ("events", "alpha", "keep", "seed", "layouts", "build")
_OF_RECORDINGS = ("any_change", "strict", "smallest", "load", "as_json", "recordings", "old", "new")
_UNCHANGED = ("no change", "same", "inconclusive")


@click.command(epilog=_EXAMPLE)
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.option(
    "--history", type=click.Path(exists=True), metavar="FOLDER|CSV",
    help="Instead of OLD and NEW: at which commits did metrics change? Folders of --keep, or commits by metrics.",
)  # fmt: skip
@click.option("--page", type=click.Path(dir_okay=False), help="With --history: an HTML page to write.")
@click.option(
    "--events", metavar="LIST", help="Events of commands, with commas between; NAME=CODE for raw ones."
)
@click.option(
    "--runs", "n_runs", type=click.IntRange(1),
    help="Most runs of each command; fewer are made if the result is clear.  [default: 40, or 2 simulated]",
)  # fmt: skip
@click.option(
    "--alpha", default=0.002, show_default=True, type=click.FloatRange(0, 0.5, min_open=True),
    help="False-alarm probability that is accepted; of a whole history 0.05.",
)  # fmt: skip
@click.option(
    "--smallest-change", "smallest", metavar="PERCENT", type=click.FloatRange(0, 1000),
    help="Smallest relevant change of the time, or of simulated instructions.  [default: 4; simulated 0.5, history 1]",
)  # fmt: skip
@click.option("--any-change", is_flag=True, help="Exit code 1 for every change, faster versions as well.")
@click.option("--strict", is_flag=True, help="Exit code 3 if the verdict is inconclusive.")
@click.option(
    "--layouts", metavar="N", type=click.IntRange(1),
    help="Time both versions in N random layouts too: is it the code, or where it lies? At least 10; 20 are good.",
)  # fmt: skip
@click.option(
    "--build", metavar="COMMAND",
    help="With --layouts: a shell command, run in the folder of each version's program, that links it anew: `make -B`.",
)  # fmt: skip
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
@click.option(
    "--markdown", is_flag=True,
    help="Print Markdown; or, on a runner of GitHub, add it to the job's summary ($GITHUB_STEP_SUMMARY).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option(
    "--recordings", is_flag=True,
    help="OLD and NEW are two recordings of a service, files or names: compare them where their load is the same.",
)  # fmt: skip
@click.option(
    "--load", default="instructions", show_default=True, metavar="EVENT",
    help="With --recordings: the event whose number a second is the load.",
)  # fmt: skip
@simulating_options
@click.pass_context
def compare(
    context,
    old,
    new,
    history,
    page,
    any_change,
    strict,
    old_source,
    new_source,
    markdown,
    as_json,
    simulated,
    recordings,
    load,
    **settings,
):
    """Compare the NEW version of a program with the OLD one."""
    if history is not None:
        context.exit(int(_compare_history(context, history, page, as_json, settings) and any_change))
    if page is not None:
        raise click.UsageError("--page is for --history.")
    if new is None:
        raise click.UsageError("Give OLD and NEW, or --history.")
    if recordings:
        _refuse_options(context, {*context.params} - {*_OF_RECORDINGS}, "--recordings")
        smallest = (_SMALLEST_OF_RECORDINGS if settings["smallest"] is None else settings["smallest"]) / 100
        verdict = _compare_recordings(old, new, load, smallest, as_json)
        changed = any_change and verdict == "differs"
        context.exit(1 if changed else 3 if strict and verdict == "not comparable" else 0)
    if context.get_parameter_source("load") == ParameterSource.COMMANDLINE:
        raise click.UsageError("--load is for --recordings.")
    if (old_source is None) != (new_source is None):
        raise click.UsageError("--old-source and --new-source belong together.")
    if settings["build"] and not settings["layouts"]:
        raise click.UsageError("--build is for --layouts.")
    from tqdm import tqdm

    from cmlib.collect.compare.comparison import compare_programs, compare_simulated, refusal
    from cmlib.collect.compare.layouts import REPEATS
    from cmlib.collect.record.execute import signals_handled

    judge, defaults = compare_programs, _DEFAULTS
    if simulated is not None:
        _refuse_options(context, _OF_PERF, "--simulate")
        settings = {name: value for name, value in settings.items() if name not in _OF_PERF}
        judge = functools.partial(compare_simulated, caches=simulated)
        defaults = _SIMULATED_DEFAULTS
    settings |= {name: value for name, value in defaults.items() if settings[name] is None}
    settings["smallest"] /= 100
    settings["sources"] = (old_source, new_source) if old_source else None
    n_commands = sum(not name.endswith(".json") for name in (old, new))
    total = (settings["n_runs"] + REPEATS * (settings.get("layouts") or 0)) * n_commands
    try:
        with (
            signals_handled((signal.SIGTERM, signal.SIGHUP), _interrupt),
            tqdm(total=total, unit="run", disable=None if n_commands else True, leave=False) as bar,
        ):
            comparison = judge(
                old, new, notify=lambda text: say(text, err=True), progress=bar.update, **settings
            )
    except BaseException as error:
        if as_json:
            _print_json(refusal("interrupted" if isinstance(error, KeyboardInterrupt) else str(error)))
        raise
    summary = os.environ.get("GITHUB_STEP_SUMMARY") if markdown else None
    if summary:
        with open(summary, "a", encoding="utf-8") as file:
            file.write(printable(as_text(comparison, "md")) + "\n")
    if as_json:
        _print_json(comparison)
    elif markdown and not summary:
        say(as_text(comparison, "md"))
    else:
        say(as_text(comparison))
    changed = comparison["verdict"] not in _UNCHANGED or comparison["counters"]["differ"]
    alarming = comparison["anomaly"] or (any_change and changed)
    context.exit(1 if alarming else 3 if strict and comparison["verdict"] == "inconclusive" else 0)


def _compare_history(context, path, page, as_json, settings):
    _refuse_options(context, {*context.params} - {*_OF_HISTORY}, "--history")
    if context.get_parameter_source("alpha") == ParameterSource.DEFAULT:
        settings["alpha"] = _HISTORY_DEFAULTS["alpha"]
    smallest = _HISTORY_DEFAULTS["smallest"] if settings["smallest"] is None else settings["smallest"]
    return compare_history(path, page, alpha=settings["alpha"], smallest=smallest / 100, as_json=as_json)


def _compare_recordings(old, new, load, smallest, as_json):
    """Print how two recordings of a service compare; the verdict."""
    from cmlib.cli.summarize import read_programs
    from cmlib.experiments.service import compare_services
    from cmlib.templates import template

    programs = [list(read_programs(recording, {})) for recording in (old, new)]
    for recording, within in zip((old, new), programs, strict=True):
        if len(within) != 1:
            raise click.BadParameter(f"{recording} holds {len(within)} programs: import it, and give names")
    answer = compare_services(*(within[0] for within in programs), load=load, smallest=smallest)
    if as_json:
        _print_json(answer)
    else:
        say(template("cmlib.cli", "service.txt.j2").render(answer).rstrip())
    return answer["verdict"]


def _refuse_options(context, names, mode):
    for name in sorted(names):
        is_set = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if is_set and context.params[name] is not None:
            option = next(param.opts[0] for param in context.command.params if param.name == name)
            raise click.UsageError(
                f"{option} is for commands that perf counts, and {mode} has no part for it."
            )


def _interrupt(*_):
    """SIGTERM and SIGHUP end a comparison as Ctrl-C does: with the program that runs, and what it started."""
    raise KeyboardInterrupt


def _print_json(comparison):
    say(json.dumps(comparison, indent=1, ensure_ascii=False, allow_nan=False))
