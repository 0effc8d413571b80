"""Make the page of a user's program: what limits it, which command decides it, what to try, and one picture.

The page and `answers.json` (docs/answers.md) are made from summaries alone, the dicts of
:func:`cmlib.topdown.summarize` (docs/summary.md). `cmlib run live` writes the page before the first notebook starts,
and adds a link to each notebook as it ends. Other profiles get such a page for each program of their overview.
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
ANSWERS_VERSION = 5  # of answers.json, as docs/answers.md describes it
CATEGORIES = ("retired", "bad speculation", "front end", "back end")  # in the order in which bars are stacked
# Separates a piece of advice from its explanation, which a table leaves out.
_EXPLANATION = re.compile(r"; | \(")
# Categories of advice that name no loss.
_NO_LOSS = (NOT_SEPARATED, NOT_KNOWN)
PROGRAM_PAGES = "programs"  # folder of the pages of programs among the results of a profile


@dataclass(frozen=True)
class ProgramCards:
    """The summaries of the programs in a recording, which a notebook shows as a card per program.

    Attributes
    ----------
    summaries : list of dict
        The output of ``cmlib summarize --json``; docs/summary.md has the keys.
    """

    summaries: list[dict]

    def _repr_html_(self):
        """Return the cards as HTML, with their style."""
        style = page_template("program_style.html.j2").render()
        return "\n".join([style, *map(render_card, self.summaries)])

    def __repr__(self):
        """Return the headline of each program, one per line."""
        return "\n".join(f"{summary['name']}: {summary['first']['headline']}" for summary in self.summaries)


def summarize_source(recording: str | Path, *, processor: str | None = None) -> ProgramCards:
    """Summarize the programs in a file, or a recorded program, as :func:`cmlib.summarize` does."""
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


def summarize_stored(url: str, wanted: str, processor: str | None = None) -> dict[str, dict]:
    """Summarize programs from the store.

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
        The summary by program; empty if nothing is recorded in intervals.
    """
    from cmlib.experiments import data
    from cmlib.experiments.summary import summarize_programs
    from cmlib.io import store

    recordings = {}
    with contextlib.suppress(NothingRecordedError):
        for name in data.programs(url, wanted):
            run_ids = data.interval_runs(url, [name])["run_id"]
            recordings[name] = [store.load(url, run_id) for run_id in run_ids]
    return summarize_programs(recordings, processor=processor)


def write_summaries(folder: Path, summaries: dict[str, dict]) -> None:
    """Keep summaries (dict by program) in a folder of results (Path), from which its page is made."""
    write_whole(folder / SUMMARIES, json.dumps(summaries, indent=1, ensure_ascii=False) + "\n")


def read_summaries(folder: Path) -> dict[str, dict]:
    """Read the summaries (dict by program) in a folder of results (Path); empty if there are none.

    A run of the profile ``live`` writes them before its notebooks; in other profiles a notebook saves them.
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
    """Write the page of a user's program: a card for each program, and links to the notebooks' pages.

    Parameters
    ----------
    folder : Path
        Results of the program in the profile ``live``.
    summaries : dict of str to dict
        By program.
    results : cmlib.report.manifests.Manifests
        Of the notebooks that have run.
    made : str
        When the page is made.
    to_come : sequence of str
        Titles of notebooks that are still running or waiting.

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
    """Write a page for each program of a profile: its card, and links to the notebooks that read its recordings.

    Parameters
    ----------
    folder : Path
        Results of the profile.
    summaries : dict of str to dict
        By program.
    results : cmlib.report.manifests.Manifests
        Of the notebooks that have run.
    made : str
        When the pages are made.

    Returns
    -------
    dict of str to str
        Address of the page by program, relative to the folder.
    """
    shutil.rmtree(folder / PROGRAM_PAGES, ignore_errors=True)
    addresses = {}
    for name, summary in summaries.items():
        sections = [section for section in results.sections if _reads_program(section, name)]
        notebooks = _list_notebooks(folder, sections, root="../")
        page = _render_page(name, {name: summary}, notebooks, root="../", home="Overview", made=made)
        file = f"{make_file_name(name)}.html"
        (folder / PROGRAM_PAGES).mkdir(exist_ok=True)
        write_whole(folder / PROGRAM_PAGES / file, page)
        addresses[name] = f"{PROGRAM_PAGES}/{quote(file)}"
    return addresses


def _render_page(name, summaries, notebooks, **content):
    """Render a page (str) with the cards of some programs (dict of summaries by name) and links to `notebooks`.

    `name` is its heading; `content` are further values for the template.
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


def _list_notebooks(folder, sections, root=""):
    """Return manifests of notebooks (list of dict), each with the address of its page in a folder (Path).

    `root` is the path from the page with the links to the folder; the address is "" for a notebook without a page.
    """
    with_page = find_notebooks_with_page(folder)
    notebooks = []
    for section in sections:
        name = section["notebook"]
        address = root + page_address(name) if name in with_page else ""
        notebooks.append(section | {"address": address})
    return notebooks


def _reads_program(manifest, name):
    """Return True if a notebook has read recordings of a program, by its manifest (dict)."""
    return any(name in entry["programs"] for entry in manifest.get("data", []))


def write_answers(folder: Path, summaries: dict[str, dict], results: Manifests) -> None:
    """Write `answers.json` (docs/answers.md) into a folder of results (Path), from its summaries and Manifests."""
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
    """Describe a program in one row of a table.

    Parameters
    ----------
    summary : dict

    Returns
    -------
    dict
        ``name``, ``simulated``, ``ipc`` (float or None), ``shares`` (list of the lower bounds of the four shares
        [% of the slots] in the order of CATEGORIES; None without an account), ``loss`` (str, Markdown: the largest
        loss, or the first sentence where none is known) and ``advice`` (list of dict: the first thing to try, or one
        for each loss of about the same size; ``category``, "" if no loss is named, ``action`` in Markdown, and
        ``at_most``, what it saves at most [% of the cycles] or None).
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
    """Return True if a summary's headline is about the slots of the pipeline."""
    account = summary["account"]
    return account is not None and summary["first"]["headline"] == account["text"]


def _describe_loss(summary):
    """Return the largest loss with its bounds, such as ``front end 42–43 %``; else the headline."""
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
    """Return the card of a program as HTML (Markup) from its summary (dict), with or without its name as heading."""
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


def _label_command(summary):
    """Return the label above the proposed command."""
    if summary["simulated"]:
        return "To measure it, on a machine with hardware counters"
    if summary["first"]["kind"] == NOT_KNOWN:
        return "To find out, simulate it here, or record it on a machine with hardware counters"
    if not _is_by_slots(summary):
        return "To separate the rest, record"
    # The command counts two categories. A third one may still be as large.
    return "To decide it, record" if len(summary["account"]["limits"]) <= 2 else "To narrow it down, record"


def _describe_bars(summary):
    """Return the rows of a summary's picture (dicts of label, depth, low, high and range), and their unit (str)."""
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


def _describe_range(row):
    """Return the bounds of a share (dict of low and high [%]) without unit, such as ``36–84``."""
    if row["high"] < 0.5:
        return "<1"
    low, high = f"{row['low']:.0f}", f"{row['high']:.0f}"
    return low if low == high else f"{low}–{high}"
