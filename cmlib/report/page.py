"""Lay a profile's results out as one page."""

import html
import re
from datetime import UTC, datetime
from pathlib import Path

import jinja2
import pandas as pd

from cmlib.archive import write_whole
from cmlib.report.inline import plain, to_html
from cmlib.report.manifests import read_manifests
from cmlib.report.overview import gather_cards, opening

_ROWS_SHOWN = 60
_LONG, _SHOWN = 160, 80  # characters of a command
_LONG_CODE = re.compile(rf"<code>(?P<code>[^<]{{{_LONG},}})</code>")
_PERCENT = re.compile("(?P<code><code>[^<]*</code>)| %")


def build_index(folder, *, to_come=()):
    """Write `index.html` over all results found in a profile's folder.

    Parameters
    ----------
    folder : path
        Holds a sub-folder a notebook, each with its `manifest.json`.
    to_come : iterable of str, optional
        Titles of notebooks that have not ended yet; the page says so.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    ValueError
        If no notebook has left whole results there.
    """
    folder = Path(folder)
    kept = read_manifests(folder)
    manifests, cards = kept.sections, gather_cards(kept)
    if not manifests:
        raise ValueError(f"no results under {folder}: run `cmlib run {folder.name}` first.")
    for manifest in manifests:
        for table in manifest["tables"]:
            table["html"] = _table_html(folder / manifest["notebook"] / f"{table['name']}.csv")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cmlib.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "sentence": _sentence,
        "folded": _folded,
        "plain": plain,
        "opening": opening,
        "number": _number,
    }
    page = environment.get_template("page.html.j2").render(
        profile=folder.name,
        sections=manifests,
        left_out=kept.left_out,
        damaged=kept.damaged,
        failed=kept.failed,
        to_come=list(to_come),
        cards=cards,
        findings=_by_program(manifests, {card.program for card in cards}),
        versions=manifests[-1]["versions"],
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    target = folder / "index.html"
    write_whole(target, page)
    return target


def _by_program(manifests, shown):
    """A group a program that is not shown yet, then what concerns all of them, under an empty name."""
    groups = {}
    for manifest in manifests:
        for finding in manifest["findings"]:
            if finding["program"] in shown:
                continue
            groups.setdefault(finding["program"], []).append((manifest["notebook"], finding["text"]))
    return {program: groups[program] for program in sorted(groups, key=lambda name: (not name, name))}


def _sentence(text):
    """A sentence as HTML, in which no line begins with a percent sign; code stays as it is, to be copied."""
    unbroken = _PERCENT.sub(lambda found: found["code"] or "&nbsp;%", to_html(text))
    return jinja2.utils.markupsafe.Markup(unbroken)


def _folded(text):
    """A clause as a sentence in HTML, with its full stop; long commands are folded to their beginning."""
    written = _LONG_CODE.sub(lambda found: _fold(html.unescape(found["code"])), _sentence(text))
    stop = "" if written.endswith("</details>") else "."
    return jinja2.utils.markupsafe.Markup(f"{written}{stop}")


def _fold(command):
    return (
        f'<details class="command"><summary><code>{html.escape(command[:_SHOWN])}…</code></summary>'
        f"<pre>{html.escape(command)}</pre></details>"
    )


def _table_html(file):
    try:
        frame = pd.read_csv(file, nrows=_ROWS_SHOWN)
    except pd.errors.EmptyDataError:  # neither rows nor columns
        return ""
    return frame.to_html(index=False, na_rep="–", border=0, float_format=_number)


def _number(value):
    if value is None or pd.isna(value):
        return "–"
    if isinstance(value, str):
        return value
    size = abs(value)
    if size == 0 or float(value).is_integer():
        return f"{value:,.0f}"
    if size >= 1000 or size < 0.001:
        return f"{value:.3g}" if size < 0.001 else f"{value:,.0f}"
    return f"{value:.3g}" if size < 1 else f"{value:,.2f}"
