"""Lay a profile's results out as one page."""

import contextlib
import html
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import jinja2
import pandas as pd

from cmlib.io.archive import write_whole
from cmlib.report.inline import plain, to_html
from cmlib.report.manifests import BY_PROGRAM, read_manifests
from cmlib.report.overview import gather_cards, opening
from cmlib.topdown.answers import format_number

ANSWERS = "answers.json"
_ROWS_SHOWN = 60
_TIME = "%Y-%m-%d %H:%M UTC"
_LONG, _SHOWN = 160, 80  # characters of a command
_LONG_CODE = re.compile(rf"<code>(?P<code>[^<]{{{_LONG},}})</code>")
_SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)pt"[^>]*?\bheight="([\d.]+)pt"')
_PERCENT = re.compile("(?P<code><code>[^<]*</code>)| %")


def build_index(folder, *, to_come=()):
    """Write `index.html` over all results found in a profile's folder."""
    folder = Path(folder)
    found = read_manifests(folder)
    manifests, cards = found.sections, gather_cards(found)
    if not manifests:
        raise ValueError(f"no results under {folder}: run `cmlib run {folder.name}` first.")
    for manifest in manifests:
        for kind in ("figures", "tables"):
            manifest[kind] = [entry for entry in manifest[kind] if entry.get("on_page", True)]
        for figure in manifest["figures"]:
            figure["size"] = _svg_size(folder / manifest["notebook"] / f"{figure['name']}.svg")
        for table in manifest["tables"]:
            table["html"] = _table_html(folder / manifest["notebook"] / f"{table['name']}.csv")
    for card in cards:
        if card.picture:
            card.picture["size"] = _svg_size(folder / card.picture["source"])
    profile = manifests[-1]["profile"]
    page = _template("page.html.j2").render(
        profile=profile,
        of_program=profile.startswith(f"{BY_PROGRAM}/"),
        sections=manifests,
        left_out=found.left_out,
        damaged=found.damaged,
        failed=found.failed,
        to_come=list(to_come),
        cards=cards,
        findings=_by_program(manifests, {card.program for card in cards}),
        versions=manifests[-1]["versions"],
        made=datetime.now(UTC).strftime(_TIME),
    )
    target = folder / "index.html"
    write_whole(target, page)
    write_whole(folder / ANSWERS, json.dumps(answers(folder), indent=1, ensure_ascii=False) + "\n")
    if profile.startswith(f"{BY_PROGRAM}/"):
        _build_programs(folder.parent)
    return target


def answers(folder):
    """What the first page says, as one dictionary; `docs/answers.md` describes it.

    Parameters
    ----------
    folder : path
        A profile's results, or one program's.

    Returns
    -------
    dict
        ``schema``, ``profile``, ``made`` (UTC), and ``programs``: by name the dictionary of its card.
    """
    found = read_manifests(Path(folder))
    programs = {}
    for card in gather_cards(found):
        findings = [{"notebook": notebook, "text": plain(text)} for notebook, text in card.findings]
        programs[card.program] = card.summary | {
            "simulated": card.simulated,
            "limits": plain(card.limits),
            "varies": plain(card.varies),
            "confidence": [plain(text) for text in card.sure],
            "advice": plain(card.advice),
            "missing": [plain(text) for text in card.lacking],
            "bars": card.bars,
            "findings": findings,
        }
    return {
        "schema": 1,
        "profile": found.sections[-1]["profile"] if found.sections else "",
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "programs": programs,
        "left_out": [entry["message"] for entry in found.left_out],
    }


def _build_programs(folder):
    """The page over the reports of all programs."""
    programs = [
        {
            "name": page.parent.name,
            "made": datetime.fromtimestamp(page.stat().st_mtime, UTC).strftime(_TIME),
            "limits": [card.limits for card in gather_cards(read_manifests(page.parent)) if card.limits],
        }
        for page in sorted(folder.glob("*/index.html"))
    ]
    write_whole(folder / "index.html", _template("programs.html.j2").render(programs=programs))


def _template(name):
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
        "short": format_number,
    }
    return environment.get_template(name)


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


def _svg_size(file):
    """Attributes that keep a picture's place until it has loaded."""
    with contextlib.suppress(OSError):
        if found := _SIZE.search(file.read_text(encoding="utf-8")[:2000]):
            width, height = (round(float(points) * 4 / 3) for points in found.groups())
            return jinja2.utils.markupsafe.Markup(f'width="{width}" height="{height}"')
    return ""


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
