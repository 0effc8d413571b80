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
            programs[one.command].append(perf.as_intervals([one]))
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
    import difflib

    from cmlib import places
    from cmlib.io import events, perf
    from cmlib.io.archive import read_content
    from cmlib.io.archive.runs import PERF, are_totals, read_run, source_of
    from cmlib.io.imports import import_notes

    folder = places.recordings_dir() / name
    files = sorted(folder.glob("*.json")) if re.fullmatch(r"[\w.+-]+", name) else []
    if not files:
        known = [one.name for one in places.recordings_dir().glob("*") if one.is_dir()]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise click.BadParameter(
            f"{name} is neither a file nor a recorded program.{hint}", param_hint="RECORDING"
        )
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
    lines = [
        _heading(answer),
        "",
        f"  {answer['levels_text']}",
    ]
    if answer["phases"]:
        lines += ["", *_phases(answer["phases"])]
    if answer["phases_text"]:
        lines += ["", f"  {answer['phases_text']}."]
    if account := answer["account"]:
        lines += ["", "  " + account["text"].replace("**", ""), "", *_bars(account["categories"])]
        if account["doubtful"]:
            lines += [f"  Not used, as they count far too little: {', '.join(account['doubtful'])}."]
        if account["contradiction"]:
            lines += [f"  The counts contradict each other by {account['contradiction']:.0f} % of the slots."]
        lines += ["", *(f"  {text}." for text in answer["misses_text"])] if answer["misses"] else []
        lines += ["", *(f"  To try: {advised['text']}." for advised in account["advice"])]
        if account["decide"]:
            lines += ["", f"  To decide it: {account['decide']}"]
        elif account["how"] == "open" and answer["processor"] in (None, "intel") and not answer["core"]:
            lines += [
                "",
                "  To know more: --machine, with what `cmlib doctor --json` says there, or --processor.",
            ]
    else:
        lines += [
            "",
            "  What limits it is not told without instructions and cycles: perf stat -e instructions,cycles,…",
        ]
    return "\n".join([*lines, *(f"  {remark}" for remark in answer["remarks"])])


def _heading(answer):
    counted = answer["counted"]
    share = "" if counted is None or counted == 1 else f", each counted for {100 * counted:.0f} % of the time"
    processor = answer["processor"] or "processor not known"
    many = {"run": answer["runs"], "interval": answer["intervals"], "event": answer["events"]}
    if answer["runs"] == answer["intervals"]:  # totals
        del many["interval"]
    elif answer["runs"] == 1:
        del many["run"]
    core = f", {answer['core']}" if answer["core"] else ""
    named = ", ".join(f"{n} {what}{'s' * (n != 1)}" for what, n in many.items())
    return f"{answer['name']}{core}: {named}{share}; {processor}"


def _phases(rows):
    names = list(rows[0])
    table = [names, *([f"{row[name]:.4g}" for name in names] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(names))]
    return [
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table
    ]


def _bars(categories):
    """A line a category: what is certain, what is possible."""
    parents = {row["name"]: row["parent"] for row in categories}
    lines = [f"  {'of all slots':30} {'at least':>8} {'at most':>8} {'usually':>9}"]
    for row in categories:
        depth, above = 0, row["parent"]
        while above:
            depth, above = depth + 1, parents.get(above, "")
        usual = f"{row['usual_low']:.0f}–{row['usual_high']:.0f} %" if "usual_low" in row else ""
        least, most = (round(_WIDTH * row[end] / 100) for end in ("low", "high"))
        bar = "█" * least + "░" * (most - least)
        name = "  " * depth + row["name"]
        lines.append(f"  {name:30} {row['low']:>6.1f} % {row['high']:>6.1f} % {usual:>9} {bar}".rstrip())
    return lines
