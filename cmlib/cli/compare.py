"""The command ``cmlib compare``, which compares versions of a program, recordings or commits.

It compares two commands, two recordings (``--recordings``) or all commits of a history (``--history``). The
exit codes for two versions are:

- 0: the new version is not slower
- 1: it is slower, or it differs and ``--any-change`` is given
- 2: an error
- 3: there is no verdict, and ``--strict`` is given

For a history, the exit code is 1 if metrics changed and ``--any-change`` is given.
"""

import functools
import os
from pathlib import Path
from typing import Any

import click

from cmlib.cli.answers import print_json, show
from cmlib.cli.sources import COUNTED, SIMULATED, BySource, choose_source, option, simulating_options
from cmlib.terminal import printable, progress_bar, say

# Sources (what is compared) that only this command has. Their names are the options that choose them.
_HISTORY, _RECORDINGS = "--history", "--recordings"
_OF_COMMANDS = (COUNTED, SIMULATED)
_RUNS = {COUNTED: 40, SIMULATED: 2}  # default number of runs of each command
_RECORDINGS_CHANGED = ("differs", "faster", "counts differ")
_UNCHANGED = ("no change", "same", "inconclusive")  # verdicts that --any-change does not count


@click.command(
    cls=BySource,
    sources=(COUNTED, SIMULATED, _RECORDINGS, _HISTORY),
    epilog="Example: cmlib compare --events page-faults,context-switches './old --size 9' './new --size 9'",
)
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.option(
    "--history", type=click.Path(exists=True), metavar="FOLDER|CSV",
    help="Find the commits at which metrics changed. Folder of --keep folders, or CSV with one row per commit.",
)  # fmt: skip
@option(
    "--page", sources=(_HISTORY,), type=click.Path(dir_okay=False), help="Write an HTML page to this file."
)
@option(
    "--events",
    sources=(COUNTED,),
    metavar="LIST",
    help="Comma-separated events to count; NAME=CODE for raw events.",
)
@option(
    "--runs", "n_runs", sources=_OF_COMMANDS, type=click.IntRange(1),
    help="Maximum number of runs of each command. Ends earlier if the result is clear.  [default: 40, or 2 simulated]",
)  # fmt: skip
@option(
    "--alpha", sources=(COUNTED, _HISTORY), type=click.FloatRange(0, 0.5, min_open=True),
    help="Probability of a false alarm.  [default: 0.002; for a history 0.05]",
)  # fmt: skip
@click.option(
    "--smallest-change", "smallest", metavar="PERCENT", type=click.FloatRange(0, 1000),
    help="Smallest relevant change.  [default: times 4, simulated instructions 0.5, history 1, recordings 25]",
)  # fmt: skip
@click.option(
    "--any-change", is_flag=True, help="Exit with code 1 for every change, including faster versions."
)
@option(
    "--strict",
    sources=(*_OF_COMMANDS, _RECORDINGS),
    is_flag=True,
    help="Exit with code 3 if the verdict is inconclusive.",
)
@option(
    "--layouts", sources=(COUNTED,), metavar="N", type=click.IntRange(1),
    help="Also time both versions in N random memory layouts. At least 10; 20 are recommended.",
)  # fmt: skip
@option(
    "--build", sources=(COUNTED,), metavar="COMMAND",
    help="With --layouts: shell command that links a program again, for example `make -B`. It is run in its folder.",
)  # fmt: skip
@option(
    "--timeout", sources=_OF_COMMANDS, metavar="SECONDS", type=click.FloatRange(0, min_open=True),
    help="Time limit of each run.",
)  # fmt: skip
@option(
    "--keep",
    sources=(COUNTED,),
    type=click.Path(file_okay=False),
    help="Folder for the recordings old.json and new.json.",
)
@option(
    "--old-source",
    sources=_OF_COMMANDS,
    type=click.Path(exists=True),
    help="Source files of OLD, to find changed functions.",
)
@option("--new-source", sources=_OF_COMMANDS, type=click.Path(exists=True), help="Source files of NEW.")
@option(
    "--markdown", sources=_OF_COMMANDS, is_flag=True,
    help="Print Markdown. On a GitHub runner, add it to the job summary ($GITHUB_STEP_SUMMARY).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option(
    "--recordings", is_flag=True,
    help="Compare two recordings (files or names). Recordings of a service are compared at equal load.",
)  # fmt: skip
@option(
    "--load", sources=(_RECORDINGS,), default="instructions", show_default=True, metavar="EVENT",
    help="Event whose rate measures the load.",
)  # fmt: skip
@simulating_options
@click.pass_context
def compare(
    context: click.Context,
    old: Any,
    new: Any,
    history: Any,
    page: str | None,
    any_change: bool,
    strict: bool,
    markdown: bool,
    as_json: bool,
    simulated_caches: dict | None,
    recordings: bool,
    **settings: Any,
) -> None:
    """Compare the NEW version of a program with the OLD one.

    OLD and NEW are quoted commands, or files that --keep wrote. Prints whether NEW is slower, and the reason.
    The exit code is 1 if NEW is slower and 0 if NEW is not slower. The exit code is 2 if the versions cannot
    be compared.
    """
    given_sources = {
        _HISTORY: history is not None,
        _RECORDINGS: recordings,
        SIMULATED: simulated_caches is not None,
    }
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
    comparison = _compare_commands(old, new, source, simulated_caches, as_json=as_json, **settings)
    _print_comparison(comparison, markdown=markdown, as_json=as_json)
    context.exit(_exit_code_of_commands(comparison, any_change=any_change, strict=strict))


def _check_arguments(source: str, old: str | None, new: str | None) -> None:
    """Raise UsageError unless OLD and NEW, or only a history, are given."""
    has_history = source == _HISTORY
    if (has_history and (old or new)) or (not has_history and new is None):
        raise click.UsageError("Give OLD and NEW, or --history.")


def _compare_commands(
    old: str,
    new: str,
    source: str,
    caches: dict | None,
    *,
    as_json: bool,
    old_source: str | None = None,
    new_source: str | None = None,
    layouts: int | None = None,
    build: str | None = None,
    **settings: Any,
) -> dict:
    """Compare two commands by counts or by simulation.

    `source` is COUNTED or SIMULATED, and `caches` are the caches to simulate. If `as_json` is True, errors
    are also printed as JSON.
    """
    from cmlib.compare.comparison import compare_programs
    from cmlib.compare.layouts import REPEATS
    from cmlib.compare.report import make_refusal
    from cmlib.compare.simulated import compare_simulated
    from cmlib.compare.versions import is_recording

    sources = (old_source, new_source)
    if None in sources and any(sources):
        raise click.UsageError("--old-source and --new-source must be given together.")
    if build is not None and layouts is None:
        raise click.UsageError("--build needs --layouts.")
    settings["sources"] = list(sources) if all(sources) else None
    if source == SIMULATED:
        judge = functools.partial(compare_simulated, caches=caches)
    else:
        judge = compare_programs
        if layouts is not None:
            settings |= {"layouts": layouts, "build": build}
    n_commands = sum(not is_recording(name) for name in (old, new))
    n_runs = settings.get("n_runs", _RUNS[source]) + REPEATS * (layouts or 0)
    is_silent = True if n_commands == 0 else None  # None: silent if stderr is not a terminal
    try:
        with progress_bar(total=n_commands * n_runs, unit="run", disable=is_silent, leave=False) as bar:
            notify = functools.partial(say, err=True)
            return judge(old, new, notify=notify, progress=bar.update, **settings)
    except BaseException as error:
        if as_json:
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
            print_json(make_refusal(reason))
        raise


def _print_comparison(comparison: dict, *, markdown: bool, as_json: bool) -> None:
    """Print a comparison as text, Markdown or JSON.

    On a GitHub runner, Markdown is added to the summary of the job, and text is printed.
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


def _exit_code_of_commands(comparison: dict, *, any_change: bool, strict: bool) -> int:
    """Return the exit code for two commands."""
    has_changed = comparison["verdict"] not in _UNCHANGED or comparison["counters"]["differ"]
    if comparison["anomaly"] or (any_change and has_changed):
        return 1
    if strict and comparison["verdict"] == "inconclusive":
        return 3
    return 0


def _exit_code_of_recordings(verdict: str, *, any_change: bool, strict: bool) -> int:
    """Return the exit code for two recordings."""
    if verdict == "slower" or (any_change and verdict in _RECORDINGS_CHANGED):
        return 1
    if strict and verdict in ("not comparable", "inconclusive"):
        return 3
    return 0


def _compare_history(
    path: str, page: str | None, *, as_json: bool, alpha: float = 0.05, smallest: float = 0.01
) -> bool:
    """Print the commits at which metrics changed, and return True if there are any.

    `path` is a CSV file or a folder that ``cmlib compare --keep`` wrote. `page` is the HTML file to write.
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


def _compare_recordings(old: str, new: str, as_json: bool, *, load: str, **limits: Any) -> str:
    """Compare two recordings, print the result and return the verdict.

    Recordings without intervals are compared program by program. Recordings with intervals are compared at
    equal load. The load is the rate of the event `load`.
    """
    from cmlib.cli.summarize import read_programs
    from cmlib.experiments.repeated_runs import compare_repeated_runs
    from cmlib.experiments.service import compare_services
    from cmlib.io.archive.runs import are_totals

    recordings = [list(read_programs(recording, {})) for recording in (old, new)]
    if all(are_totals(metas[0]) for programs in recordings for _, metas, _ in programs):
        runs_by_program: list[dict[str, Any]] = [
            {_remove_file_name(recording, name): runs for name, _, runs in programs}
            for recording, programs in zip((old, new), recordings, strict=True)
        ]
        answer = compare_repeated_runs(runs_by_program[0], runs_by_program[1], **limits) | {
            "old": old,
            "new": new,
        }
        show(answer, "repeated_runs.txt.j2", as_json=as_json)
        return answer["verdict"]
    for recording, programs in zip((old, new), recordings, strict=True):
        if len(programs) != 1:
            raise click.BadParameter(
                f"{recording} contains {len(programs)} programs ({', '.join(name for name, *_ in programs)}). "
                "Recordings with intervals are compared one program at a time. Import the file with `cmlib import`, "
                "and give the names of two programs."
            )
    answer = compare_services(*(programs[0] for programs in recordings), load=load, **limits)
    show(answer, "service.txt.j2", as_json=as_json)
    return answer["verdict"]


def _remove_file_name(recording: str, name: str) -> str:
    """Remove the file name from the name of a program.

    Programs are named ``FILE PROGRAM`` if a file contains several programs. If a file contains one program,
    return "the program".
    """
    file = Path(recording).name
    return name.removeprefix(f"{file} ") if name.startswith(f"{file} ") else "the program"
