"""Make the page of a user's program: what limits it, the command that decides it, what to try, and one picture.

Everything is made from summaries, the dicts of :func:`cmlib.topdown.summarize` (docs/summary.md). A page of
`cmlib run live` is written from them before the first notebook starts, and shows links to the notebooks as they end.
"""

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from cmlib import places
from cmlib.errors import InputError, NothingRecordedError
from cmlib.io.archive import write_whole
from cmlib.report.page_filters import page_template

SUMMARIES = "programs.json"
_LEVELS = ("", "front end", "back end", "memory")  # parents of the categories that the picture shows


@dataclass(frozen=True)
class ProgramCards:
    """The summaries of the programs in a recording, which a notebook shows as a card per program.

    Attributes
    ----------
    summaries : list of dict
        As ``cmlib summarize --json`` prints them; docs/summary.md has the keys.
    """

    summaries: list

    def _repr_html_(self):
        """Return the cards as HTML, with their style."""
        return str(page_template("program_cards.html.j2").render(cards=map(render_card, self.summaries)))

    def __repr__(self):
        return "\n".join(f"{summary['name']}: {summary['first']['headline']}" for summary in self.summaries)


def summarize_source(recording, *, processor=None):
    """Summarize the programs in a file, or a recorded program; :func:`cmlib.summarize` says more."""
    from cmlib.experiments.program_files import read_file, read_recorded
    from cmlib.experiments.summary import summarize_runs
    from cmlib.processors import machine_with

    machine = machine_with(processor)
    if Path(recording).is_file():
        programs = read_file(recording, machine)
    elif (places.recordings_dir() / str(recording)).is_dir():
        programs = read_recorded(str(recording))
    else:
        raise InputError(
            f"{recording} is neither a file nor a recorded program. `cmlib list` lists recorded programs."
        )
    return ProgramCards(
        [
            summarize_runs(name, metas, runs, machines=[machine], processor=processor)
            for name, metas, runs in programs
        ]
    )


def summarize_stored(url, wanted, processor=None):
    """Summarize measured programs from the store.

    Parameters
    ----------
    url : str
        SQLAlchemy URL of the store.
    wanted : str
        Names of programs separated by commas, or ``"all"``.
    processor : str, optional
        Name of the processor where the recordings do not contain it.

    Returns
    -------
    dict of str to dict
        The summary by program; without simulated programs, and empty if nothing is recorded in intervals.
    """
    from cmlib.experiments import data
    from cmlib.experiments.summary import summarize_recordings
    from cmlib.io import store

    summaries = {}
    with contextlib.suppress(NothingRecordedError):
        for name in data.programs(url, wanted):
            run_ids = data.interval_runs(url, [name])["run_id"]
            recordings = [store.load(url, run_id) for run_id in run_ids]
            if not any(recording.simulated for recording in recordings):
                summaries[name] = summarize_recordings(name, recordings, processor=processor)
    return summaries


def write_summaries(folder, summaries):
    """Keep summaries (dict by program) in a folder of results (Path), from which its page is made."""
    write_whole(folder / SUMMARIES, json.dumps(summaries, indent=1, ensure_ascii=False) + "\n")


def read_summaries(folder):
    """Read the summaries (dict by program) kept in a folder of results (Path); empty if there are none."""
    file = folder / SUMMARIES
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def render_card(summary):
    """Return the card of a program as HTML (Markup) from its summary (dict)."""
    bars, unit = _bars(summary)
    first = summary["first"]
    command, _, comment = first["separate"].partition("   (")
    return Markup(
        page_template("program_card.html.j2").render(
            summary=summary,
            first=first,
            command=command,
            comment=comment.rstrip(")"),
            bars=bars,
            unit=unit,
        )
    )


def _bars(summary):
    """The rows of a summary's picture (dicts of label, depth, low, high), and of what they are shares (str)."""
    if summary["cycles"]:
        return [row | {"depth": 0} for row in summary["cycles"]], "cycles"
    account = summary["account"]
    if not account:
        return [], ""
    rows = [row for row in account["categories"] if row["parent"] in _LEVELS]
    depths = {"": -1}
    bars = []
    for row in rows:
        depths[row["name"]] = depths.get(row["parent"], -1) + 1
        bars.append(row | {"label": row["name"], "depth": depths[row["name"]]})
    return bars, "slots of the pipeline"
