"""Lay the results of a profile out as one HTML page (`index.html`), and as `answers.json`.

:func:`build_index` takes the folder of a profile's results and writes both. ValueError if there are no results.
"""

import functools
import html
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from cmlib.errors import InputError
from cmlib.io.archive import write_whole
from cmlib.report.inline import strip_markup, to_html
from cmlib.report.manifests import BY_PROGRAM, read_manifests
from cmlib.report.overview import answers_of, gather_cards, opening
from cmlib.report.reproduction import reproduction
from cmlib.shell import command_code
from cmlib.templates import template
from cmlib.topdown.cycle_costs import format_number
from cmlib.topdown.summary import describe_misses

ANSWERS = "answers.json"
ANSWERS_VERSION = 2  # of answers.json, as docs/answers.md describes it
_ROWS_SHOWN = 60  # of a table
_TIME = "%Y-%m-%d %H:%M UTC"
_LONG = 300  # characters of a command
_LONG_CODE = re.compile(rf"<code>(?P<code>[^<]{{{_LONG},}})</code>")
_OPTION = re.compile(r"<code>(?=-[^<\s]{,35}</code>)")
_PERCENT = re.compile("(?P<code><code>[^<]*</code>)| %")


def build_index(folder, *, to_come=()):
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
    manifests, cards = results.sections, gather_cards(results)
    if not manifests:
        raise InputError(f"no results under {folder}: run {command_code('cmlib', 'run', folder.name)} first.")
    profile = manifests[-1]["profile"]
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
        versions=manifests[-1]["versions"],
        made=datetime.now(UTC).strftime(_TIME),
    )
    target = folder / "index.html"
    write_whole(target, page)
    write_whole(folder / ANSWERS, json.dumps(_answers(results, cards), indent=1, ensure_ascii=False) + "\n")
    if of_program:
        _build_programs(folder.parent)
    return target


def _answers(results, cards):
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
        "profile": results.sections[-1]["profile"],
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "programs": programs,
        "left_out": [entry["message"] for entry in results.left_out],
    }


def _build_programs(folder):
    """Write the page that lists the reports of all programs in a folder."""
    programs = [
        {
            "name": page.parent.name,
            "made": datetime.fromtimestamp(page.stat().st_mtime, UTC).strftime(_TIME),
            "cards": gather_cards(read_manifests(page.parent)),
        }
        for page in sorted(folder.glob("*/index.html"))
    ]
    write_whole(folder / "index.html", page_template("programs.html.j2").render(programs=programs))


@functools.cache
def page_template(name):
    """The Jinja template of this package in the file `name`, with filters that write sentences and numbers as HTML."""
    filters = {
        "sentence": _sentence,
        "folded": _folded,
        "strip_markup": strip_markup,
        "opening": opening,
        "number": _number,
        "short": format_number,
        "describe_misses": describe_misses,
    }
    return template("cmlib.report", name, autoescape=True, filters=filters)


def _sentence(text):
    """A sentence as HTML whose lines do not break before a percent sign or within an option; code is unchanged."""
    unbroken = _PERCENT.sub(lambda match: match["code"] or "&nbsp;%", to_html(text))
    return Markup(_OPTION.sub('<code class="option">', unbroken))


def _folded(text):
    """A clause as an HTML sentence with its full stop; commands of 300 characters or more are folded up."""
    written = _LONG_CODE.sub(lambda match: _fold(html.unescape(match["code"])), _sentence(text))
    stop = "" if written.endswith("</details>") else "."
    return Markup(f"{written}{stop}")


def _fold(command):
    """A long command as HTML that opens on a click."""
    return (
        f'<details class="command"><summary>a command of {len(command):,} characters</summary>'
        f"<pre>{html.escape(command)}</pre></details>"
    )


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
    return frame.to_html(index=False, na_rep="–", border=0, float_format=_number)


def _number(value):
    """A value as text for a table: numbers with about three digits, "–" for a missing one, a str unchanged."""
    if isinstance(value, str):
        return value
    if value is None or pd.isna(value):
        return "–"
    if abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1 else f"{value:,.2f}"
