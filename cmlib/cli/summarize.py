"""`cmlib summarize`."""

import json
import re
from pathlib import Path

import click

_WIDTH = 40  # of a bar that is all slots


@click.command(epilog="Example: cmlib summarize elsewhere/gcc.csv.gz")
@click.argument("recording")
@click.option("--machine", "about", type=click.Path(exists=True, dir_okay=False),
              help="What `cmlib doctor --json` said on the machine measured.")  # fmt: skip
@click.option("--processor", help="Whose events they are, if no --machine tells; a wrong name lists all.")
@click.option(
    "--interval-ms",
    type=click.IntRange(1, 86_400_000),
    help="Time between samples; seen from the file if not given.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def summarize(recording, about, processor, interval_ms, as_json):
    """Say in seconds what limits a program, with bounds, and which events would decide it.

    RECORDING is a file, as `cmlib import` takes it, or the name of a program. Nothing is stored.
    """
    from cmlib import topdown
    from cmlib.io import events

    if processor and processor not in topdown.known_costs():
        raise click.BadParameter(
            f"no costs of it; of {', '.join(topdown.known_costs())}.", param_hint="--processor"
        )
    machine = _machine(about) if about else {}
    read = _from_file if Path(recording).is_file() else _from_recordings
    answers = []
    for name, found in read(recording, machine, interval_ms):
        names = {event for counts, _ in found["runs"] for event in counts}
        recorded_on = found.pop("machine")
        own = processor or events.find_processor([recorded_on], names)
        answers.append(topdown.summarize(name, processor=own, **found))
    if as_json:
        click.echo(json.dumps(answers[0] if len(answers) == 1 else answers, indent=1))
    else:
        click.echo("\n\n".join(map(_text, answers)))


def _machine(about):
    from cmlib.cli.recordings import _read_machine

    return _read_machine(about).get("machine", {})


def _from_file(file, machine, interval_ms):
    """Name and counts of every program and kind of core in a file."""
    from cmlib.io import events, perf
    from cmlib.io.archive import plain, read_file

    text = plain(read_file(file), file).decode("utf-8", "surrogateescape")
    for own in perf.by_kind_of_core(text).values():
        found = perf.totals(own, rows_are_runs=interval_ms is None)
        programs = {one.command: [] for one in found}
        for one in found:
            programs[one.command].append(perf.as_intervals(one))
        if not found:
            parts = perf.split_runs(own)
            programs = {"": [perf.parse_stat(part, interval_ms=interval_ms) for part in parts]}
        for command, frames in programs.items():
            written = [event for frame in frames for event in frame["event"].unique()]
            pinned = [event for event in written if re.search(r"\b(instructions|(cpu-)?cycles)\b", event)]
            modifier = "u" if pinned and all(re.search(r":[a-zA-Z]*u", event) for event in pinned) else ""
            runs = [_series(frame, machine) for frame in frames]
            several = command if len(programs) > 1 else ""
            name = " ".join(filter(None, [Path(file).name, several]))
            about = {"modifier": modifier, "whole_runs": bool(found), "core": events.core_pmu(written)}
            yield name, {"runs": runs, "machine": machine, **about}


def _series(frame, machine):
    from cmlib.io import events, perf

    counts, running = perf.series(frame)
    names = events.translate(counts, machine)
    return counts.rename(columns=names), running.rename(columns=names)


def _from_recordings(name, machine, interval_ms):
    from cmlib import places
    from cmlib.cli.stored import recorded_names
    from cmlib.io import events, perf
    from cmlib.io.archive import read_content
    from cmlib.io.archive.runs import PERF, are_totals, read_run, source_of
    from cmlib.io.imports import import_notes

    if name not in recorded_names(None, None, ""):
        raise click.BadParameter(f"{name} is neither a file nor a recorded program; see cmlib list.")
    files = sorted((places.recordings_dir() / name).glob("*.json"))
    metas = [read_run(file) for file in files]
    if any(source_of(meta) != PERF for meta in metas):
        raise click.ClickException(
            f"{name} is simulated: no cycles were counted. Its report: cmlib run live -p program={name}"
        )
    runs = []
    for file, meta in zip(files, metas, strict=True):
        runs.append(perf.read_run(read_content(file, meta["sha256"]).decode(errors="replace"), meta))
    first = metas[0]
    about = {"modifier": first.get("modifier") or "", "whole_runs": are_totals(first)}
    about["notes"] = import_notes(metas)
    about["core"] = events.core_pmu([*first.get("names", {}), *runs[0][0]])
    return [(name, {"runs": runs, "machine": machine or first["machine"], **about})]


def _text(answer):
    import pandas as pd

    from cmlib.templates import template

    phases = pd.DataFrame(answer["phases"]).to_string(index=False, float_format="{:.4g}".format)
    bars = _bars(answer["account"]["categories"]) if answer["account"] else []
    totals = answer["runs"] == answer["intervals"]
    shown = answer | {"phases_table": phases, "bars": bars, "totals": totals}
    return template("cmlib.cli", "summarize.txt.j2").render(shown).rstrip()


def _bars(categories):
    """A row a category: what is certain, what is possible."""
    depths = {"": -1}
    rows = []
    for row in categories:
        depths[row["name"]] = depth = depths.get(row["parent"], -1) + 1
        usual = f"{row['usual_low']:.0f}–{row['usual_high']:.0f} %" if "usual_low" in row else ""
        least, most = (round(_WIDTH * row[end] / 100) for end in ("low", "high"))
        bar = "█" * least + "░" * (most - least)
        rows.append(row | {"name": "  " * depth + row["name"], "usual": usual, "bar": bar})
    return rows
