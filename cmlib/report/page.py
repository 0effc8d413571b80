"""Lay the results of a profile out as one HTML page (`index.html`), and as `answers.json`.

:func:`build_index` takes the folder of a profile's results and writes both. ValueError if there are no results.
"""

import functools
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from cmlib.errors import InputError
from cmlib.io.archive import write_whole
from cmlib.report.inline import strip_markup
from cmlib.report.manifests import BY_PROGRAM, read_manifests
from cmlib.report.overview import answers_of, gather_cards
from cmlib.report.page_filters import format_cell, page_template
from cmlib.report.program import read_summaries, render_card
from cmlib.report.reproduction import reproduction
from cmlib.shell import command_code

ANSWERS = "answers.json"
ANSWERS_VERSION = 2  # of answers.json, as docs/answers.md describes it
_ROWS_SHOWN = 60  # of a table
_TIME = "%Y-%m-%d %H:%M UTC"


def build_index(folder: str | Path, *, to_come: Sequence[str] = ()) -> Path:
    """Write `index.html` and `answers.json` over all results found in a profile's folder.

    Parameters
    ----------
    folder : path
        Of a profile, or of one program, whose results are on the page of all programs as well then.
    to_come : sequence of str
        Titles of notebooks that still run.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    ValueError
        If there are no results.
    """
    folder = Path(folder)
    results = read_manifests(folder)
    summaries = read_summaries(folder)
    manifests, cards = results.sections, gather_cards(results, summaries)
    if not (manifests or summaries):
        raise InputError(f"no results under {folder}: run {command_code('cmlib', 'run', folder.name)} first.")
    profile = _profile(folder, manifests)
    of_program = profile.startswith(f"{BY_PROGRAM}/")
    with_card = {card["program"] for card in cards}
    for manifest in manifests:
        for kind in ("figures", "tables"):
            manifest[kind] = [entry for entry in manifest[kind] if entry["on_page"]]
        for table in manifest["tables"]:
            table["html"] = _table(folder / manifest["notebook"] / f"{table['name']}.csv")
        unshown = [finding for finding in manifest["findings"] if finding["program"] not in with_card]
        manifest["answers"] = unshown or answers_of(manifest)
    of_papers = profile.split("/")[0] != BY_PROGRAM and not to_come
    reproduced = reproduction(folder, manifests).to_dict("records") if of_papers else []
    page = page_template("page.html.j2").render(
        vars(results),
        profile=profile,
        of_program=of_program,
        reproduced=reproduced,
        to_come=list(to_come),
        cards=cards,
        summarized=[render_card(summary) for summary in summaries.values()],
        versions=manifests[-1]["versions"] if manifests else {"cmlib": version("cmlib")},
        made=datetime.now(UTC).strftime(_TIME),
    )
    target = folder / "index.html"
    write_whole(target, page)
    write_whole(
        folder / ANSWERS, json.dumps(_answers(profile, results, cards), indent=1, ensure_ascii=False) + "\n"
    )
    if of_program:
        _build_programs(folder.parent)
    return target


def _answers(profile, results, cards):
    """The content of `answers.json`: what the first page says of a profile's results, as a dict (docs/answers.md)."""
    programs = {}
    for card in cards:
        programs[card["program"]] = card["summary"] | {
            "simulated": card["simulated"],
            **{topic: strip_markup(card[topic]) for topic in ("limits", "varies", "advice")},
            "confidence": list(map(strip_markup, card["sure"])),
            "missing": list(map(strip_markup, card["lacking"])),
            "bars": card["bars"],
            "findings": [
                {"notebook": finding["notebook"], "text": strip_markup(finding["text"])}
                for finding in card["findings"]
            ],
        }
    return {
        "schema": ANSWERS_VERSION,
        "profile": profile,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "programs": programs,
        "left_out": [entry["message"] for entry in results.left_out],
    }


def _profile(folder, manifests):
    """The name (str) of the profile with these results: as the last manifest has it, or, before there is one, by its
    folder.
    """
    if manifests:
        return manifests[-1]["profile"]
    return f"{BY_PROGRAM}/{folder.name}" if folder.parent.name == BY_PROGRAM else folder.name


def _build_programs(folder):
    """Write the page that lists the reports of all programs in a folder."""
    programs = [
        {
            "name": page.parent.name,
            "made": datetime.fromtimestamp(page.stat().st_mtime, UTC).strftime(_TIME),
            "cards": gather_cards(read_manifests(page.parent), read_summaries(page.parent)),
        }
        for page in sorted(folder.glob("*/index.html"))
    ]
    write_whole(folder / "index.html", page_template("programs.html.j2").render(programs=programs))


def _table(file):
    """A CSV as an HTML table of at most 60 rows; "" if there is no such file, as while its notebook runs again."""
    if not file.is_file():
        return ""
    try:
        return _table_html(file, file.stat().st_mtime_ns)
    except FileNotFoundError:  # its notebook runs again, and puts new results in their place
        return ""


@functools.lru_cache(maxsize=1000)  # the page is made again for each notebook that ends
def _table_html(file, _changed):
    """What :func:`_table` gives, cached until the file's time (`_changed`) changes; FileNotFoundError if it is gone."""
    try:
        frame = pd.read_csv(file, nrows=_ROWS_SHOWN)
    except pd.errors.EmptyDataError:  # neither rows nor columns
        return ""
    return frame.to_html(index=False, na_rep="–", border=0, float_format=format_cell)
