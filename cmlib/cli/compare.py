"""`cmlib compare`: compare two versions of a program, two recordings of a service, or the commits of a history.

The command takes two commands (counted by perf, or simulated), two recordings with --recordings, or a folder or CSV
with --history. It prints what differs as text, Markdown or JSON. Exit codes of two versions:

- 0: the new version is not slower;
- 1: it is slower or, with --any-change, it differs;
- 3: there is no verdict, with --strict;
- 2: an error.

Histories have the exit code 1 with --any-change only.
"""

import functools
import os
from pathlib import Path

import click

from cmlib.cli.answers import print_json, show
from cmlib.cli.sources import COUNTED, SIMULATED, BySource, choose_source, option, simulating_options
from cmlib.terminal import printable, progress_bar, say

_HISTORY, _RECORDINGS = "--history", "--recordings"
_OF_COMMANDS = (COUNTED, SIMULATED)
_RUNS = {COUNTED: 40, SIMULATED: 2}  # of each command, by default
_RECORDINGS_CHANGED = ("differs", "faster", "counts differ")
_UNCHANGED = ("no change", "same", "inconclusive")  # verdicts that are no change to --any-change


@click.command(
    cls=BySource,
    sources=(COUNTED, SIMULATED, _RECORDINGS, _HISTORY),
    epilog="Example: cmlib compare --events page-faults,context-switches './old --size 9' './new --size 9'",
)
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.option(
    "--history", type=click.Path(exists=True), metavar="FOLDER|CSV",
    help="Instead of OLD and NEW: at which commits did metrics change? Folders of --keep, or commits by metrics.",
)  # fmt: skip
@option("--page", sources=(_HISTORY,), type=click.Path(dir_okay=False), help="An HTML page to write.")
@option(
    "--events",
    sources=(COUNTED,),
    metavar="LIST",
    help="Events of commands, with commas between; NAME=CODE for raw ones.",
)
@option(
    "--runs", "n_runs", sources=_OF_COMMANDS, type=click.IntRange(1),
    help="Most runs of each command; fewer are made if the result is clear.  [default: 40, or 2 simulated]",
)  # fmt: skip
@option(
    "--alpha", sources=(COUNTED, _HISTORY), type=click.FloatRange(0, 0.5, min_open=True),
    help="False-alarm probability that is accepted.  [default: 0.002; of a whole history 0.05]",
)  # fmt: skip
@click.option(
    "--smallest-change", "smallest", metavar="PERCENT", type=click.FloatRange(0, 1000),
    help="Smallest relevant change.  [default: 4 of times; 0.5 of simulated instructions; history 1, recordings 25]",
)  # fmt: skip
@click.option("--any-change", is_flag=True, help="Exit code 1 for every change, faster versions as well.")
@option(
    "--strict",
    sources=(*_OF_COMMANDS, _RECORDINGS),
    is_flag=True,
    help="Exit code 3 if the verdict is inconclusive.",
)
@option(
    "--layouts", sources=(COUNTED,), metavar="N", type=click.IntRange(1),
    help="Time both versions in N random layouts too: is it the code, or where it lies? At least 10; 20 are good.",
)  # fmt: skip
@option(
    "--build", sources=(COUNTED,), metavar="COMMAND",
    help="With --layouts: a shell command, run in the folder of each version's program, that links it anew: `make -B`.",
)  # fmt: skip
@option(
    "--timeout", sources=_OF_COMMANDS, metavar="SECONDS", type=click.FloatRange(0, min_open=True),
    help="End a command that runs longer, and refuse to compare.",
)  # fmt: skip
@option(
    "--keep",
    sources=(COUNTED,),
    type=click.Path(file_okay=False),
    help="Folder for the recordings: old.json and new.json.",
)
@option(
    "--old-source",
    sources=_OF_COMMANDS,
    type=click.Path(exists=True),
    help="Source files of OLD, to name what was changed in NEW.",
)
@option("--new-source", sources=_OF_COMMANDS, type=click.Path(exists=True), help="Source files of NEW.")
@option(
    "--markdown", sources=_OF_COMMANDS, is_flag=True,
    help="Print Markdown; or, on a runner of GitHub, add it to the job's summary ($GITHUB_STEP_SUMMARY).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option(
    "--recordings", is_flag=True,
    help="OLD and NEW are two recordings of a service, files or names: compare them where their load is the same.",
)  # fmt: skip
@option(
    "--load", sources=(_RECORDINGS,), default="instructions", show_default=True, metavar="EVENT",
    help="The event whose rate is the load.",
)  # fmt: skip
@simulating_options
@click.pass_context
def compare(
    context, old, new, history, page, any_change, strict, markdown, as_json, simulated, recordings, **settings
):
    """Compare the NEW version of a program with the OLD one.

    OLD and NEW are commands, each in quotes, or files that --keep wrote. Prints whether NEW is slower, and what
    explains it; the exit code is 1 if it is, 0 if it is not, and 2 if they can't be compared.
    """
    given_sources = {_HISTORY: history is not None, _RECORDINGS: recordings, SIMULATED: simulated is not None}
    source = choose_source(context, given_sources)
    settings = {name: value for name, value in settings.items() if value is not None}
    load = settings.pop("load")
    if "smallest" in settings:
        settings["smallest"] /= 100
    _check_arguments(source, old, new)
    limits = {name: settings[name] for name in ("alpha", "smallest") if name in settings}
    if source == _HISTORY:
        has_changes = _compare_history(history, page, as_json=as_json, **limits)
        context.exit(1 if has_changes and any_change else 0)
    if source == _RECORDINGS:
        verdict = _compare_recordings(old, new, as_json, load=load, **limits)
        context.exit(_exit_code_of_recordings(verdict, any_change=any_change, strict=strict))
    comparison = _compare_commands(old, new, source, simulated, as_json=as_json, **settings)
    _print_comparison(comparison, markdown=markdown, as_json=as_json)
    context.exit(_exit_code_of_commands(comparison, any_change=any_change, strict=strict))


def _check_arguments(source, old, new):
    """Raise click.UsageError unless there are OLD and NEW, or a history alone."""
    has_history = source == _HISTORY
    if (has_history and (old or new)) or (not has_history and new is None):
        raise click.UsageError("Give OLD and NEW, or --history.")


def _compare_commands(
    old,
    new,
    source,
    caches,
    *,
    as_json,
    old_source=None,
    new_source=None,
    layouts=None,
    build=None,
    **settings,
):
    """Count or simulate two commands, or read files of --keep, and compare them: a dict.

    `source` is COUNTED or SIMULATED, `caches` are those to simulate. With `as_json` an error is printed as JSON, too.
    Raises click.UsageError if options do not go together.
    """
    from cmlib.compare.comparison import compare_programs
    from cmlib.compare.layouts import REPEATS
    from cmlib.compare.report import make_refusal
    from cmlib.compare.simulated import compare_simulated
    from cmlib.compare.versions import is_recording

    sources = (old_source, new_source)
    if None in sources and any(sources):
        raise click.UsageError("--old-source and --new-source belong together.")
    if build is not None and layouts is None:
        raise click.UsageError("--build is for --layouts.")
    settings["sources"] = list(sources) if all(sources) else None
    if source == SIMULATED:
        judge = functools.partial(compare_simulated, caches=caches)
    else:
        judge = compare_programs
        if layouts is not None:
            settings |= {"layouts": layouts, "build": build}
    n_commands = sum(not is_recording(name) for name in (old, new))
    n_runs = settings.get("n_runs", _RUNS[source]) + REPEATS * (layouts or 0)
    is_silent = True if n_commands == 0 else None  # None: silent where stderr is no terminal
    try:
        with progress_bar(total=n_commands * n_runs, unit="run", disable=is_silent, leave=False) as bar:
            notify = functools.partial(say, err=True)
            return judge(old, new, notify=notify, progress=bar.update, **settings)
    except BaseException as error:
        if as_json:
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            print_json(make_refusal(reason))
        raise


def _print_comparison(comparison, *, markdown, as_json):
    """Print a comparison of commands as text, Markdown or JSON.

    On a runner of GitHub, Markdown is added to the job's summary, and text is printed.
    """
    from cmlib.compare.report import write_markdown, write_text

    job_summary = os.environ.get("GITHUB_STEP_SUMMARY") if markdown else None
    if job_summary:
        with open(job_summary, "a", encoding="utf-8") as file:
            file.write(printable(write_markdown(comparison)) + "\n")
    if as_json:
        print_json(comparison)
    elif markdown and not job_summary:
        say(write_markdown(comparison))
    else:
        say(write_text(comparison))


def _exit_code_of_commands(comparison, *, any_change, strict):
    """Return 1 if the new version is slower (with `any_change`: differs), 3 if it is open and `strict`, else 0."""
    has_changed = comparison["verdict"] not in _UNCHANGED or comparison["counters"]["differ"]
    if comparison["anomaly"] or (any_change and has_changed):
        return 1
    if strict and comparison["verdict"] == "inconclusive":
        return 3
    return 0


def _exit_code_of_recordings(verdict, *, any_change, strict):
    """Return 1 if the new recording is slower (with `any_change`: differs), 3 if it is open and `strict`, else 0."""
    if verdict == "slower" or (any_change and verdict in _RECORDINGS_CHANGED):
        return 1
    if strict and verdict in ("not comparable", "inconclusive"):
        return 3
    return 0


def _compare_history(path, page, *, as_json, alpha=0.05, smallest=0.01):
    """Print the commits of a history at which metrics changed, and return True if there are any.

    `path` is a CSV (a row per commit, a column per metric) or a folder of comparisons kept by `cmlib compare --keep`;
    `page` is an HTML file to write, or None; `as_json` prints JSON instead of text. `alpha` is the false-alarm
    probability for the whole history, `smallest` the smallest relevant change as a share. Raises a CmlibError if the
    history can't be read or the page can't be written.
    """
    from cmlib.compare.change_points import find_groups
    from cmlib.compare.histories import read_history
    from cmlib.compare.history_page import history_page, summarize_history
    from cmlib.compare.kept import read_kept
    from cmlib.errors import CmlibError
    from cmlib.io.archive import errors_as, write_whole

    history, subjects = read_kept(path) if Path(path).is_dir() else read_history(path)
    groups = find_groups(history, alpha=alpha, smallest=smallest)
    summary = summarize_history(history, subjects, groups, alpha=alpha, smallest=smallest)
    if page:
        with errors_as(CmlibError, page):
            write_whole(page, history_page(Path(path).name, history, summary, groups))
    show(summary, "history.txt.j2", as_json=as_json)
    return bool(groups)


def _compare_recordings(old, new, as_json, *, load, **limits):
    """Print how two recordings compare, as text or JSON, and return the verdict.

    `old` and `new` are files or names of recorded programs. Totals of repeated runs are compared program by program.
    Recordings with intervals are compared as those of a service, whose load is the rate of the event `load`. `limits`
    may have the smallest relevant change. Raises click.BadParameter if a recording with intervals has several programs
    or none.
    """
    from cmlib.cli.summarize import read_programs
    from cmlib.experiments.repeated_runs import compare_repeated_runs
    from cmlib.experiments.service import compare_services
    from cmlib.io.archive.runs import are_totals

    recordings = [list(read_programs(recording, {})) for recording in (old, new)]
    if all(are_totals(metas[0]) for programs in recordings for _, metas, _ in programs):
        by_program = [
            {_program_in(recording, name): runs for name, _, runs in programs}
            for recording, programs in zip((old, new), recordings, strict=True)
        ]
        answer = compare_repeated_runs(*by_program, **limits) | {"old": old, "new": new}
        show(answer, "repeated_runs.txt.j2", as_json=as_json)
        return answer["verdict"]
    for recording, programs in zip((old, new), recordings, strict=True):
        if len(programs) != 1:
            raise click.BadParameter(
                f"{recording} holds {len(programs)} programs ({', '.join(name for name, *_ in programs)}), and "
                "recordings with intervals are compared one program at a time. Import the file with "
                "`cmlib import`, and give the names of two programs."
            )
    answer = compare_services(*(programs[0] for programs in recordings), load=load, **limits)
    show(answer, "service.txt.j2", as_json=as_json)
    return answer["verdict"]


def _program_in(recording, name):
    """Return the name of a program without the name of its file, which comes first if the file holds several.

    The only program of a file, or a recorded one, is "the program" in both recordings, whatever its name is.
    """
    file = Path(recording).name
    return name.removeprefix(f"{file} ") if name.startswith(f"{file} ") else "the program"
