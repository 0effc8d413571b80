"""`cmlib summarize`: say in seconds what limits a program, from a recording or a file of counts.

Prints text, or with --json the dict of :func:`cmlib.topdown.summarize` (a list of dicts if the file holds several
programs).
"""

import contextlib
import json
import re
import threading
from pathlib import Path

import click

from cmlib.cli.recordings import (
    count_option,
    format_option,
    level_option,
    place_option,
    processor_option,
    read_machine,
)
from cmlib.cli.stored import recorded_names
from cmlib.terminal import one_line, progress_bar, say, say_json

_PATIENCE_S = 2.0  # before the time so far is shown
_WIDTH = 40  # characters of a bar that stands for all slots


@click.command(epilog="Example: cmlib summarize elsewhere/gcc.csv.gz")
@click.argument("recording")
@click.option("--machine", "about", type=click.Path(exists=True, dir_okay=False),
              help="What `cmlib doctor --json` said on the machine measured.")  # fmt: skip
@processor_option
@click.option(
    "--interval-ms",
    type=click.IntRange(1, 86_400_000),
    help="Time between samples; seen from the file if not given.",
)
@count_option
@level_option
@format_option
@place_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def summarize(recording, about, processor, interval_ms, counts, levels, format, place, as_json):
    """Say in seconds what limits a program, with bounds, and which events would decide it.

    RECORDING is the name of a recorded program, or a file, as `cmlib import` takes it; ./NAME is a file in any case.
    Nothing is stored.
    """
    from cmlib.experiments.summary import summarize_runs
    from cmlib.io.formats.readings import ReadOptions
    from cmlib.processors import machine_with

    columns = dict.fromkeys(counts, "count") | dict.fromkeys(levels, "level")
    options = ReadOptions(columns=columns, interval_ms=interval_ms)

    machine = (read_machine(about).get("machine", {}) if about else {}) | machine_with(processor)
    with _progress(f"summarizing {recording}"):
        answers = [
            summarize_runs(name, metas, runs, machines=[machine], processor=processor)
            for name, metas, runs in read_programs(recording, machine, options, format, place)
        ]
    if as_json:
        say_json(json.dumps(answers[0] if len(answers) == 1 else answers, indent=1))
    else:
        say("\n\n".join(map(_render_text, answers)))


@contextlib.contextmanager
def _progress(description):
    """Show a description and the time so far on stderr during a ``with`` block, once two seconds have passed."""
    done = threading.Event()

    def show():
        """Show the time so far once two seconds have passed, until the block has ended."""
        if not done.wait(_PATIENCE_S):
            with progress_bar(
                desc=one_line(description), bar_format="{desc}: {elapsed}", leave=False
            ) as clock:
                while not done.wait(1):
                    clock.refresh()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def read_programs(recording, machine, options=None, format=None, place=""):
    """Return an iterable of (name, list of metadata, list of (counts, running shares)), one for each program.

    Parameters
    ----------
    recording : str
        Name of a recorded program, or a file as `cmlib import` takes it, which may hold several programs.
    machine : dict
        Description of the machine of a file; may be empty.
    options : ReadOptions, optional
        What the user says about a file.
    format : str, optional
        Name of the file's format. Default: the only one that recognizes it.
    place : str, default ""
        CPU, core, socket, node or kind of core of a file of which the counts are taken.

    Returns
    -------
    iterable of (str, list of dict, list of (DataFrame, DataFrame))
        Metadata are one dict per run; counts and running shares (0 to 1) have a row per interval (index time_s [s])
        and a column per event.

    Raises
    ------
    click.BadParameter
        If `recording` is neither.
    CmlibError
        If the program is simulated, or has no run that can be read.
    RecordError
        If a file cannot be read.
    """
    from cmlib.experiments.program_files import read_file, read_recorded

    if recording in recorded_names(None, None, ""):
        return read_recorded(recording)
    if not Path(recording).is_file():
        raise click.BadParameter(f"{recording} is neither a file nor a recorded program; see cmlib list.")
    return read_file(recording, machine, options, format, place)


def _render_text(answer):
    """Render a summary (dict of :func:`cmlib.topdown.summarize`) as text."""
    import pandas as pd

    from cmlib.templates import template

    phases = pd.DataFrame(answer["phases"]).to_string(index=False, float_format="{:.4g}".format)
    bars = _draw_bars(answer["account"]["categories"]) if answer["account"] else []
    totals = answer["runs"] == answer["intervals"]
    remarks = " ".join(answer["remarks"])
    means = re.search(r"(?<=Counts are )means of [^.]*runs|one operation(?=, in the mean)", remarks)
    text = template("cmlib.cli", "summarize.txt.j2").render(
        answer,
        phases_table=phases,
        bars=bars,
        totals=totals,
        means=means[0] if means else None,
        cycles_table=[row | {"bar": _draw_bar(row)} for row in answer["cycles"]],
    )
    return re.sub(r"\n{3,}", "\n\n", text).rstrip()


def _draw_bar(row):
    """Draw a share (dict of low and high [%]) as a bar (str): full up to the lower bound, hatched to the upper."""
    least, most = (round(_WIDTH * row[end] / 100) for end in ("low", "high"))
    return "█" * least + "░" * (most - least)


def _draw_bars(categories):
    """Give each category (dict) of the top-down analysis an indented name and a bar (str) of all slots.

    The bar is full up to the category's lower bound, and hatched up to its upper bound.
    """
    depths = {"": -1}
    rows = []
    for row in categories:
        depth = depths.get(row["parent"], -1) + 1
        depths[row["name"]] = depth
        rows.append(row | {"name": "  " * depth + row["name"], "bar": _draw_bar(row)})
    return rows
