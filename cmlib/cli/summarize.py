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

from cmlib import places
from cmlib.cli.recordings import processor_option, read_machine
from cmlib.cli.stored import recorded_names
from cmlib.shell import command_of_report
from cmlib.terminal import one_line, progress_bar, say

_PATIENCE_S = 2.0  # before the time so far is shown
# "   0.112000000 seconds user", also with a decimal comma and with "+- 0.01" before the unit
_SECONDS = re.compile(r"^ *([0-9]+[.,][0-9]+)(?: \+- [0-9.,]+)? seconds (user|sys)\b", re.MULTILINE)
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def summarize(recording, about, processor, interval_ms, as_json):
    """Say in seconds what limits a program, with bounds, and which events would decide it.

    RECORDING is the name of a recorded program, or a file, as `cmlib import` takes it; ./NAME is a file in any case.
    Nothing is stored.
    """
    from cmlib.experiments.summary import summarize_runs
    from cmlib.processors import machine_with

    machine = (read_machine(about).get("machine", {}) if about else {}) | machine_with(processor)
    with _progress(f"summarizing {recording}"):
        answers = [
            summarize_runs(name, metas, runs, machines=[machine], processor=processor)
            for name, metas, runs in read_programs(recording, machine, interval_ms)
        ]
    if as_json:
        say(json.dumps(answers[0] if len(answers) == 1 else answers, indent=1))
    else:
        say("\n\n".join(map(_text, answers)))


@contextlib.contextmanager
def _progress(what):
    """During a ``with`` block, show `what` and its time so far on stderr, once two seconds have passed."""
    done = threading.Event()

    def show():
        """Show the time so far once two seconds have passed, until the block has ended."""
        if not done.wait(_PATIENCE_S):
            with progress_bar(desc=one_line(what), bar_format="{desc}: {elapsed}", leave=False) as clock:
                while not done.wait(1):
                    clock.refresh()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def read_programs(recording, machine, interval_ms=None):
    """An iterable of (name, list of metadata, list of (counts, running shares)), one for each program.

    `recording` is the name of a recorded program, or a file as `cmlib import` takes it, which may hold several
    programs; `machine` (dict, may be empty) describes the machine of a file, `interval_ms` is the time between its
    samples (None: seen from the file). Metadata are a dict a run; counts and running shares (0 to 1) are DataFrames,
    a row an interval (index time_s [s]), a column an event. click.BadParameter if `recording` is neither,
    click.ClickException if the program is simulated or has no run that can be read, RecordError if a file can't be
    read.
    """
    if recording in recorded_names(None, None, ""):
        return _from_recordings(recording)
    if not Path(recording).is_file():
        raise click.BadParameter(f"{recording} is neither a file nor a recorded program; see cmlib list.")
    return _from_file(recording, machine, interval_ms)


def _from_file(file, machine, interval_ms):
    """Yield the programs in a file as :func:`read_programs` does; each kind of core is a program of its own."""
    from cmlib.io.sources import read_sources

    programs = {}
    for source in read_sources([file], machine, interval_ms=interval_ms, columns=None):
        programs.setdefault(source.mark, []).append(source)
    for mark, of_program in programs.items():
        metas = [
            _seconds_by_mode(source.raw) | source.facts | {"note": source.remark, "imported": True}
            for source in of_program
        ]
        name = " ".join(filter(None, [Path(file).name, mark]))
        yield name, metas, [(source.counts, source.running) for source in of_program]


def _seconds_by_mode(raw):
    """Return the times in user mode and in the kernel below the tables of perf (dict of lists [s]).

    Readers are to put them into the metadata; until then they are taken from the text.
    """
    found = {"user_s": [], "system_s": []}
    for number, mode in _SECONDS.findall(raw.decode(errors="replace")):
        found["user_s" if mode == "user" else "system_s"].append(float(number.replace(",", ".")))
    return {key: values for key, values in found.items() if values}


def _from_recordings(name):
    """The one recorded program of a name, as a list of what :func:`read_programs` gives."""
    from cmlib.io.archive import readable
    from cmlib.io.archive.programs import readable_runs
    from cmlib.io.archive.runs import PERF, source_of
    from cmlib.io.store.raw import read_counts, read_cpus

    folder = places.recordings_dir() / name
    metas = {folder / f"{run}.json": meta for run, meta in readable_runs(folder).items()}
    if any(source_of(meta) != PERF for meta in metas.values()):
        report = command_of_report(name)
        raise click.ClickException(f"{name} is simulated: no cycles were counted. Its report: {report}")
    runs = readable(lambda file: read_counts(file, metas[file]), metas)
    if not runs:
        raise click.ClickException(f"{name} has no run that can be read.")
    metas = [metas[file] | {"cpus": read_cpus(file, metas[file])} for file in runs]
    return [(name, metas, list(runs.values()))]


def _text(answer):
    """A summary (dict of :func:`cmlib.topdown.summarize`) as text."""
    import pandas as pd

    from cmlib.templates import template

    phases = pd.DataFrame(answer["phases"]).to_string(index=False, float_format="{:.4g}".format)
    bars = _bars(answer["account"]["categories"]) if answer["account"] else []
    totals = answer["runs"] == answer["intervals"]
    remarks = " ".join(answer["remarks"])
    means = re.search(r"(?<=Counts are )means of [^.]*runs|one operation(?=, in the mean)", remarks)
    shown = answer | {"phases_table": phases, "bars": bars, "totals": totals, "means": means and means[0]}
    shown["cycles_table"] = [row | {"bar": _bar(row)} for row in answer["cycles"]]
    text = template("cmlib.cli", "summarize.txt.j2").render(shown)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip()


def _bar(row):
    """A bar (str): full up to the lower bound of a share (dict of low and high [%]), hatched up to the upper one."""
    least, most = (round(_WIDTH * row[end] / 100) for end in ("low", "high"))
    return "█" * least + "░" * (most - least)


def _bars(categories):
    """The categories (dicts) of top-down analysis with an indented name and a bar (str) that stands for all slots.

    The bar is full as far as the category's lower bound, and hatched up to its upper bound.
    """
    depths = {"": -1}
    rows = []
    for row in categories:
        depths[row["name"]] = depth = depths.get(row["parent"], -1) + 1
        rows.append(row | {"name": "  " * depth + row["name"], "bar": _bar(row)})
    return rows
