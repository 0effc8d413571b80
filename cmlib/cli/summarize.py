"""The command ``cmlib summarize``, which estimates what limits a program.

It takes the name of a recorded program or a file of counts. It prints text, or with ``--json`` the result of
:func:`cmlib.topdown.summarize`.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from cmlib.io.formats.readings import ReadOptions

_DELAY_S = 2.0  # time before the progress is shown [s]
_WIDTH = 40  # length of a bar for 100 % [characters]


@click.command(epilog="Example: cmlib summarize elsewhere/gcc.csv.gz")
@click.argument("recording")
@click.option("--machine", "about", type=click.Path(exists=True, dir_okay=False),
              help="Output of `cmlib doctor --json` on the measured machine.")  # fmt: skip
@processor_option
@click.option(
    "--interval-ms",
    type=click.IntRange(1, 86_400_000),
    help="Length of an interval [ms].  [default: from the file]",
)
@count_option
@level_option
@format_option
@place_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def summarize(
    recording: str,
    about: str | None,
    processor: str | None,
    interval_ms: int | None,
    counts: tuple[str, ...],
    levels: tuple[str, ...],
    format: str | None,
    place: str,
    as_json: bool,
) -> None:
    """Estimate what limits a program, and list the events that would decide it.

    RECORDING is the name of a recorded program, or a file that `cmlib import` can read. If a file and a
    program have the same name, write ./NAME for the file. Nothing is stored.
    """
    from cmlib.experiments.summary import summarize_runs
    from cmlib.io.formats.readings import ReadOptions
    from cmlib.processors import machine_with

    columns: dict[str, Any] = dict.fromkeys(counts, "count") | dict.fromkeys(levels, "level")
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
def _progress(description: str) -> Iterator[None]:
    """Show a description and the elapsed time on standard error in a ``with`` block.

    Nothing is shown in the first two seconds.
    """
    done = threading.Event()

    def show() -> None:
        """Show the elapsed time until the block ends."""
        if not done.wait(_DELAY_S):
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


def read_programs(
    recording: str,
    machine: dict,
    options: ReadOptions | None = None,
    format: str | None = None,
    place: str = "",
) -> Iterable[tuple[str, list[dict], list[tuple]]]:
    """Read the programs in a recording.

    Parameters
    ----------
    recording : str
        Name of a recorded program, or path of a file.
    machine : dict
        Description of the machine of a file. It may be empty.
    options : ReadOptions, optional
        Options for reading a file.
    format : str, optional
        Name of the file format. Default: recognized from the content.
    place : str, default ""
        CPU, core, socket or node of which the counts are read.

    Returns
    -------
    iterable of (str, list of dict, list of (DataFrame, DataFrame))
        Name, metadata of each run, and counts and running shares of each run. A running share is the fraction
        of time in which an event was counted. DataFrames have one row per interval and one column per event.

    Raises
    ------
    click.BadParameter
        If `recording` is neither a file nor a recorded program.
    CmlibError
        If the program is simulated, or no run can be read.
    RecordError
        If a file cannot be read.
    """
    from cmlib.experiments.program_files import read_file, read_recorded

    if recording in recorded_names(None, None, ""):
        return read_recorded(recording)
    if not Path(recording).is_file():
        raise click.BadParameter(f"{recording} is neither a file nor a recorded program. See cmlib list.")
    return read_file(recording, machine, options, format, place)


def _render_text(answer: dict) -> str:
    """Write a summary as text."""
    import pandas as pd

    from cmlib.templates import template

    phases = pd.DataFrame(answer["phases"]).to_string(index=False, float_format="{:.4g}".format)
    bars = _draw_bars(answer["account"]["categories"]) if answer["account"] else []
    totals = answer["runs"] == answer["intervals"]  # each run has one interval
    # A file can contain means instead of counts. One of the remarks then says what the means are taken over, and this
    # is shown in place of the number of runs.
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


def _draw_bar(row: dict) -> str:
    """Draw a share [%] as a bar, hatched between the lower and the upper bound."""
    least, most = (round(_WIDTH * row[end] / 100) for end in ("low", "high"))
    return "█" * least + "░" * (most - least)


def _draw_bars(categories: list[dict]) -> list[dict]:
    """Add a bar and an indented name to each category."""
    depths = {"": -1}
    rows = []
    for row in categories:
        depth = depths.get(row["parent"], -1) + 1
        depths[row["name"]] = depth
        rows.append(row | {"name": "  " * depth + row["name"], "bar": _draw_bar(row)})
    return rows
