"""Write the first page of a folder of results (`index.html`), and the answers beside it (`answers.json`).

:func:`build_index` writes the overview of a profile: a row and a page per program, and a question, an answer and a
picture per notebook. In the profile ``live`` it writes the page of the user's program (:mod:`cmlib.report.program`),
and the list of all such pages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from cmlib import places
from cmlib.errors import InputError
from cmlib.io.archive import write_whole
from cmlib.io.provenance import SOFTWARE_EVENTS, Provenance
from cmlib.report.manifests import BY_PROGRAM, command_of, page_address, read_manifests
from cmlib.report.page_filters import page_template
from cmlib.report.parameters import read_cells, read_heading
from cmlib.report.program import (
    CATEGORIES,
    describe_row,
    read_summaries,
    write_answers,
    write_program_page,
    write_program_pages,
)
from cmlib.shell import command_code

TERMS = "terms.html"
_TIME = "%Y-%m-%d %H:%M UTC"
_ANSWER = re.compile(
    r">?\s*\*\*Answer\*\*\s*\((?P<data>[^()]*(?:\([^()]*\)[^()]*)*)\)\.\s*(?P<text>.*)", re.S
)
_FEWEST_WORDS = 5  # the overview adds the next sentence to an answer's first sentence if it is shorter
_END_OF_SENTENCE = re.compile(r"(?<!Eq\.)(?<!Fig\.)(?<!e\.g\.)(?<=[.?])\s+")
# The figure that stands for a notebook in the overview; for other notebooks it is their last figure.
_THUMBNAILS = {
    "00_first_look": "progress",
    "01_collection": "counting",
    "02_cleaning": "fig01-fig06",
    "03_ranking": "ranking",
    "04_interactions": "fig11-h",
    "05_fingerprinting": "unseen",
    "06_anomaly_detection": "fig11",
    "07_compression": "fig03-fig04",
    "08_tuning": "parameters",
    "09_colocation": "split",
    "10_summary": "reproduced",
}


def build_index(folder: str | Path, *, to_come: Sequence[str] = ()) -> Path:
    """Write the first page and `answers.json` for all results in a folder.

    Parameters
    ----------
    folder : path
        Results of a profile, or of one program of the profile ``live``.
    to_come : sequence of str
        Titles of notebooks that are still running or waiting.

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
    if not (results.sections or summaries):
        raise InputError(f"no results under {folder}: run {command_code('cmlib', 'run', folder.name)} first.")
    made = datetime.now(UTC).strftime(_TIME)
    write_answers(folder, summaries, results)
    versions = results.sections[-1]["versions"] if results.sections else {"cmlib": version("cmlib")}
    _write_terms(folder, versions)
    if folder.parent.name == BY_PROGRAM:
        page = write_program_page(folder, summaries, results, made=made, to_come=to_come)
        _write_program_list(folder.parent)
        return page
    return _write_overview(folder, summaries, results, made=made, to_come=to_come)


def read_answer(notebook: str | Path) -> tuple[str, str]:
    """Read the beginning of a notebook's answer, and the data on which it rests.

    Parameters
    ----------
    notebook : path
        Its .ipynb file; the answer is the cell tagged ``answer``, ``> **Answer** (DATA). SENTENCES``.

    Returns
    -------
    tuple of str
        First sentence (with the next one, if it has fewer than five words) and data, in Markdown; both "" if there is
        no such cell.
    """
    for cell in read_cells(notebook):
        match = _ANSWER.match(cell["text"])
        if match and "answer" in cell["metadata"].get("tags", []):
            first, *others = _END_OF_SENTENCE.split(match["text"].strip())
            if others and len(first.split()) < _FEWEST_WORDS:
                first = f"{first} {others[0]}"
            return first, match["data"]
    return "", ""


def _find_question(text):
    """Return a text up to its first sentence that is a question; its first sentence if none is."""
    sentences = _END_OF_SENTENCE.split(text)
    for number, sentence in enumerate(sentences, start=1):
        if sentence.endswith("?"):
            return " ".join(sentences[:number])
    return sentences[0]


def _write_overview(folder, summaries, results, *, made, to_come):
    """Write the overview of a profile's results (Manifests) and summaries (dict by program); return its path."""
    files = places.notebook_files()
    entries = [_describe_notebook(folder, section, files) for section in results.sections]
    for left_out in results.left_out:
        entries.append(_describe_left_out(left_out, files))
    entries.sort(key=lambda entry: entry["name"])
    addresses = write_program_pages(folder, summaries, results, made=made)
    page = page_template("overview.html.j2").render(
        profile=folder.name,
        command=command_of(folder.name),
        made=made,
        to_come=list(to_come),
        categories=CATEGORIES,
        processors=sorted({summary["processor"] for summary in summaries.values()} - {None}),
        programs=[
            describe_row(summary) | {"address": addresses[name]} for name, summary in summaries.items()
        ],
        questions=[entry for entry in entries if not entry["is_study"]],
        studies=[entry for entry in entries if entry["is_study"]],
        damaged=results.damaged,
        failed=results.failed,
    )
    write_whole(folder / "index.html", page)
    return folder / "index.html"


def _describe_notebook(folder, manifest, files):
    """Return the overview's entry (dict) for a notebook with results; `files` has the notebooks' files by name."""
    name = manifest["notebook"]
    return _describe_question(name, manifest["title"], manifest["question"], files) | {
        "address": _find_address(folder, name),
        "picture": _choose_picture(manifest),
        "stopped": manifest.get("stopped", ""),
        "kinds": list(dict.fromkeys(_describe_data(entry) for entry in manifest.get("data", []))),
        "reason": "",
    }


def _describe_data(entry):
    """Describe a provenance in a manifest (dict) in a few words, such as ``own hardware``."""
    provenance = Provenance(**entry)
    return f"own {provenance}" if provenance.kind == SOFTWARE_EVENTS else str(provenance)


def _describe_left_out(left_out, files):
    """Return the overview's entry (dict) for a notebook that was left out of the run, with its stored page."""
    name = left_out["notebook"]
    title, question = read_heading(files[name]) if name in files else (left_out["title"], "")
    return _describe_question(name, title, question, files) | {
        "address": left_out["stored"],
        "picture": None,
        "stopped": "",
        "kinds": [],
        "reason": left_out["message"],
    }


def _describe_question(name, title, question, files):
    """Return the part of an entry (dict) that does not depend on the run: title, question and answer."""
    file = files.get(name)
    return {
        "name": name,
        "title": title,
        "question": _find_question(question),
        "answer": read_answer(file)[0] if file else "",
        "is_study": file is not None and file.parent.name == "studies",
    }


def _find_address(folder, name):
    """Return the address of a notebook's page; "" if it has none."""
    address = page_address(name)
    return address if (folder / address).is_file() else ""


def _choose_picture(manifest):
    """Return the picture of a notebook in the overview (dict of source, width and height); None if it has none."""
    figures = {figure["name"]: figure for figure in manifest["figures"] if figure["on_page"]}
    if not figures:
        return None
    figure = figures.get(_THUMBNAILS.get(manifest["notebook"]), list(figures.values())[-1])
    return {
        "source": f"{manifest['notebook']}/{figure['name']}.png",
        "width": figure["width"],
        "height": figure["height"],
    }


def _write_program_list(folder):
    """Write the page that lists the pages of all programs in a folder of the profile ``live``."""
    rows = []
    for page in sorted(folder.glob("*/index.html")):
        for summary in read_summaries(page.parent).values():
            rows.append(describe_row(summary) | {"address": f"{quote(page.parent.name)}/index.html"})
    _write_terms(folder, {"cmlib": version("cmlib")})
    page = page_template("programs.html.j2").render(programs=rows, categories=CATEGORIES)
    write_whole(folder / "index.html", page)


def _write_terms(folder, versions):
    """Write the page that defines the terms, with the versions of libraries (dict by name)."""
    write_whole(folder / TERMS, page_template("terms.html.j2").render(versions=versions))
