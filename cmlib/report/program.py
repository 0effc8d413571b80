"""Write the page of a program: where its cycles went, and what to try.

The HTML page and ``answers.json`` are made from summaries, the dicts of :func:`cmlib.topdown.summarize`. The
command ``cmlib run live`` writes the page before the first notebook starts. Whenever a notebook ends, a link
to the notebook is added. Other profiles have such a page for each program.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from cmlib import places
from cmlib.errors import InputError, NothingRecordedError
from cmlib.io.archive import write_whole
from cmlib.report.manifests import (
    BY_PROGRAM,
    Manifests,
    find_notebooks_with_page,
    make_file_name,
    page_address,
)
from cmlib.report.page_filters import page_template
from cmlib.topdown.first_answer import NOT_KNOWN, NOT_SEPARATED

SUMMARIES = "programs.json"
ANSWERS = "answers.json"
ANSWERS_VERSION = 5  # version of answers.json, which docs/answers.md describes
CATEGORIES = ("retired", "bad speculation", "front end", "back end")  # in the order of the stacked bars
# Separates advice from its explanation. Tables show only the advice.
_EXPLANATION = re.compile(r"; | \(")
# Categories of advice without a loss
_NO_LOSS = (NOT_SEPARATED, NOT_KNOWN)
_PROGRAM_PAGES = "programs"  # folder of the programs' pages in the results of a profile


@dataclass(frozen=True)
class ProgramCards:
    """Summaries of programs, displayed as one card per program.

    Attributes
    ----------
    summaries : list of dict
        Output of ``cmlib summarize --json``. ``docs/summary.md`` describes its keys.
    """

    summaries: list[dict]

    def _repr_html_(self) -> str:
        """Return the cards as HTML."""
        style = page_template("program_style.html.j2").render()
        return "\n".join([style, *map(render_card, self.summaries)])

    def __repr__(self) -> str:
        """Return the headlines, one per line."""
        return "\n".join(f"{summary['name']}: {summary['first']['headline']}" for summary in self.summaries)


def summarize_source(recording: str | Path, *, processor: str | None = None) -> ProgramCards:
    """Summarize a recorded program, or the programs in a file. See :func:`cmlib.summarize`."""
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


def summarize_stored(url: str, program_names: str, processor: str | None = None) -> dict[str, dict]:
    """Summarize programs in the store.

    Parameters
    ----------
    url : str
        SQLAlchemy URL of the store.
    program_names : str
        Comma-separated names of programs, or ``"all"``.
    processor : str, optional
        Name of the processor, for recordings that do not contain it.

    Returns
    -------
    dict of str to dict
        Summaries keyed by program. Empty if nothing is recorded in intervals.
    """
    from cmlib.experiments import data
    from cmlib.experiments.summary import summarize_programs
    from cmlib.io import store

    recordings = {}
    with contextlib.suppress(NothingRecordedError):
        for name in data.programs(url, program_names):
            run_ids = data.interval_runs(url, [name])["run_id"]
            recordings[name] = [store.load(url, run_id) for run_id in run_ids]
    return summarize_programs(recordings, processor=processor)


def write_summaries(folder: Path, summaries: dict[str, dict]) -> None:
    """Write summaries, keyed by program, to a folder of results."""
    write_whole(folder / SUMMARIES, json.dumps(summaries, indent=1, ensure_ascii=False) + "\n")


def read_summaries(folder: Path) -> dict[str, dict]:
    """Read the summaries in a folder of results, keyed by program.

    Parameters
    ----------
    folder : Path
        Results of a profile.

    Returns
    -------
    dict of str to dict
        Summaries keyed by program. Empty if no summaries were written.
    """
    files = [folder / SUMMARIES] if (folder / SUMMARIES).is_file() else sorted(folder.glob(f"*/{SUMMARIES}"))
    summaries = {}
    for file in files:
        if file.parent.suffix != ".partial":
            summaries |= json.loads(file.read_text(encoding="utf-8"))
    return summaries


def write_program_page(
    folder: Path, summaries: dict[str, dict], results: Manifests, *, made: str, to_come: Sequence[str] = ()
) -> Path:
    """Write the page of a user's program.

    The page contains one card per program and links to the notebooks.

    Parameters
    ----------
    folder : Path
        Results of the program in the profile ``live``.
    summaries : dict of str to dict
        Summaries keyed by program.
    results : Manifests
        Results of the notebooks.
    made : str
        Date and time.
    to_come : sequence of str
        Titles of the notebooks that are running or waiting.

    Returns
    -------
    Path
        The page.
    """
    page = _render_page(
        folder.name,
        summaries,
        _list_notebooks(folder, results.sections),
        root="",
        home="All programs",
        left_out=results.left_out,
        damaged=results.damaged,
        failed=results.failed,
        to_come=list(to_come),
        made=made,
    )
    write_whole(folder / "index.html", page)
    return folder / "index.html"


def write_program_pages(
    folder: Path, summaries: dict[str, dict], results: Manifests, *, made: str
) -> dict[str, str]:
    """Write a page for each program of a profile.

    A page contains a card, and links to the notebooks that read the recordings of the program.

    Parameters
    ----------
    folder : Path
        Results of the profile.
    summaries : dict of str to dict
        Summaries keyed by program.
    results : Manifests
        Results of the notebooks.
    made : str
        Date and time.

    Returns
    -------
    dict of str to str
        Addresses relative to the folder, keyed by program.
    """
    shutil.rmtree(folder / _PROGRAM_PAGES, ignore_errors=True)
    addresses = {}
    for name, summary in summaries.items():
        sections = [section for section in results.sections if _reads_program(section, name)]
        notebooks = _list_notebooks(folder, sections, root="../")
        page = _render_page(name, {name: summary}, notebooks, root="../", home="Overview", made=made)
        file = f"{make_file_name(name)}.html"
        (folder / _PROGRAM_PAGES).mkdir(exist_ok=True)
        write_whole(folder / _PROGRAM_PAGES / file, page)
        addresses[name] = f"{_PROGRAM_PAGES}/{quote(file)}"
    return addresses


def _render_page(name: str, summaries: dict[str, dict], notebooks: list[dict], **content: Any) -> str:
    """Render a page with one card per program and links to notebooks.

    `content` contains further values for the template.
    """
    is_alone = list(summaries) == [name]
    return page_template("program_page.html.j2").render(
        name=name,
        is_simulated=is_alone and summaries[name]["simulated"],
        cards=[render_card(summary, with_name=not is_alone) for summary in summaries.values()],
        notebooks=notebooks,
        version=version("cmlib"),
        **content,
    )


def _list_notebooks(folder: Path, sections: list[dict], root: str = "") -> list[dict]:
    """Add the address of the page to each manifest. Empty for a notebook without a page.

    `root` is the path from the linking page to the folder.
    """
    with_page = find_notebooks_with_page(folder)
    notebooks = []
    for section in sections:
        name = section["notebook"]
        address = root + page_address(name) if name in with_page else ""
        notebooks.append(section | {"address": address})
    return notebooks


def _reads_program(manifest: dict, name: str) -> bool:
    """Return True if a notebook has read recordings of a program."""
    return any(name in entry["programs"] for entry in manifest.get("data", []))


def write_answers(folder: Path, summaries: dict[str, dict], results: Manifests) -> None:
    """Write ``answers.json`` to a folder of results. ``docs/answers.md`` describes it."""
    is_of_program = folder.parent.name == BY_PROGRAM
    answers = {
        "schema": ANSWERS_VERSION,
        "profile": f"{BY_PROGRAM}/{folder.name}" if is_of_program else folder.name,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "programs": summaries,
        "left_out": [entry["message"] for entry in results.left_out],
    }
    write_whole(folder / ANSWERS, json.dumps(answers, indent=1, ensure_ascii=False) + "\n")


def describe_row(summary: dict) -> dict:
    """Describe a program for one row of a table.

    Parameters
    ----------
    summary : dict
        Summary of the program.

    Returns
    -------
    dict
        A dict with the following keys:

        - ``name``, ``simulated``, ``ipc``: copied from the summary
        - ``shares``: list of lower bounds [% of the slots] in the order of CATEGORIES, or None if slots were
          not counted
        - ``loss``: largest loss in Markdown, or the headline if no loss is known
        - ``advice``: list of dicts with ``category``, ``action`` (Markdown) and ``at_most`` (largest saving
          [% of the cycles] or None)
    """
    account = summary["account"]
    shares = None
    if account:
        lows = {row["name"]: row["low"] for row in account["categories"] if not row["parent"]}
        shares = [lows.get(category, 0.0) for category in CATEGORIES]
    n_shown = len(account["limits"]) if account and account["how"] == "counted" else 1
    return {
        "name": summary["name"],
        "simulated": summary["simulated"],
        "ipc": summary["levels"].get("instructions a cycle"),
        "shares": shares,
        "loss": _describe_loss(summary),
        "advice": [
            {
                "category": "" if row["category"] in _NO_LOSS else row["category"],
                "action": _EXPLANATION.split(row["action"])[0],
                "at_most": row["at_most"],
            }
            for row in summary["first"]["advice"][: max(1, n_shown)]
        ],
    }


def _is_by_slots(summary: dict) -> bool:
    """Return True if the headline of a summary is about pipeline slots."""
    account = summary["account"]
    return account is not None and summary["first"]["headline"] == account["text"]


def _describe_loss(summary: dict) -> str:
    """Return the largest loss and its bounds, or the headline. For example, ``front end 42–43 %``."""
    account = summary["account"]
    if not _is_by_slots(summary) or account["how"] == "little lost":
        return summary["first"]["headline"] or summary["untold_text"]
    rows = {row["name"]: row for row in account["categories"]}
    named = []
    for name in account["limits"]:
        low, high = f"{rows[name]['low']:.0f}", f"{rows[name]['high']:.0f}"
        named.append(f"{name} {low} %" if low == high else f"{name} {low}–{high} %")
    if account["how"] == "open":
        return f"not decided: {' or '.join(named)}"
    if account["how"] == "counted" and len(named) > 1:
        return f"tie: {' and '.join(named)}"
    return " or ".join(named)


def render_card(summary: dict, *, with_name: bool = True) -> Markup:
    """Render the card of a program as HTML."""
    bars, unit = _describe_bars(summary)
    first = summary["first"]
    command, _, comment = first["separate"].partition("   (")
    # The command is shown above the table, so the table does not repeat it.
    advice = [row for row in first["advice"] if not (command and row["category"] in _NO_LOSS)]
    return Markup(
        page_template("program_card.html.j2").render(
            summary=summary,
            with_name=with_name,
            label=_label_command(summary),
            is_open=_is_by_slots(summary) and summary["account"]["how"] == "open",
            first=first,
            advice=advice,
            is_bounded=any(row["at_most"] is not None for row in advice),
            command=command,
            comment=comment.rstrip(")"),
            bars=bars,
            unit=unit,
        )
    )


def _label_command(summary: dict) -> str:
    """Return the label above the proposed command."""
    if summary["simulated"]:
        return "To measure it, on a machine with hardware counters"
    if summary["first"]["kind"] == NOT_KNOWN:
        return "To find out, simulate it here, or record it on a machine with hardware counters"
    if not _is_by_slots(summary):
        return "To separate the rest, record"
    # The command counts two categories. A third one can be as large.
    return "To decide it, record" if len(summary["account"]["limits"]) <= 2 else "To narrow it down, record"


def _describe_bars(summary: dict) -> tuple[list[dict], str]:
    """Return the bars of a summary's picture, and their unit.

    A bar is a dict of label, depth, low, high and range.
    """
    if summary["cycles"]:
        unit = "estimated cycles" if summary["simulated"] else "cycles"
        return [row | {"depth": 0, "range": _describe_range(row)} for row in summary["cycles"]], unit
    account = summary["account"]
    if not account:
        return [], ""
    depths = {"": -1}
    bars = []
    for row in account["categories"]:
        depths[row["name"]] = depths.get(row["parent"], -1) + 1
        depth = depths[row["name"]]
        bars.append(row | {"label": row["name"], "depth": depth, "range": _describe_range(row)})
    return bars, "slots"


def _describe_range(row: dict) -> str:
    """Write the bounds of a share without unit. For example, ``36–84``."""
    if row["high"] < 0.5:
        return "<1"
    low, high = f"{row['low']:.0f}", f"{row['high']:.0f}"
    return low if low == high else f"{low}–{high}"
