"""Write the overview of a folder of results, and the file answers.json.

:func:`build_index` writes ``index.html``. The page lists the programs, and the question and answer of each
notebook. In the profile ``live``, the page of the user's program is written instead, and a list of all such
pages.
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
from cmlib.report.manifests import BY_PROGRAM, Manifests, command_of, page_address, read_manifests
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

_TERMS = "terms.html"
_TIME = "%Y-%m-%d %H:%M UTC"
_ANSWER = re.compile(
    r">?\s*\*\*Answer\*\*\s*\((?P<data>[^()]*(?:\([^()]*\)[^()]*)*)\)\.\s*(?P<text>.*)", re.S
)
_FEWEST_WORDS = 5  # the second sentence is added to an answer with fewer words
_END_OF_SENTENCE = re.compile(r"(?<!Eq\.)(?<!Fig\.)(?<!e\.g\.)(?<=[.?])\s+")


def build_index(folder: str | Path, *, to_come: Sequence[str] = ()) -> Path:
    """Write the overview and answers.json of a folder of results.

    Parameters
    ----------
    folder : path
        Results of a profile, or of one program in the profile ``live``.
    to_come : sequence of str
        Titles of the notebooks that are running or waiting.

    Returns
    -------
    pathlib.Path
        The overview page.

    Raises
    ------
    InputError
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
    """Read the first sentence of a notebook's answer, and its data.

    The answer is the cell tagged ``answer``. It begins with ``> **Answer** (DATA).``

    Parameters
    ----------
    notebook : path
        The .ipynb file.

    Returns
    -------
    tuple of str
        First sentence and data, in Markdown. A first sentence with fewer than five words is followed by the
        second one. Both are empty if there is no answer.
    """
    for cell in read_cells(notebook):
        match = _ANSWER.match(cell["text"])
        if match and "answer" in cell["metadata"].get("tags", []):
            first, *further = _END_OF_SENTENCE.split(match["text"].strip())
            if further and len(first.split()) < _FEWEST_WORDS:
                first = f"{first} {further[0]}"
            return first, match["data"]
    return "", ""


def _find_question(text: str) -> str:
    """Return a text up to its first question mark, or its first sentence if it asks nothing."""
    sentences = _END_OF_SENTENCE.split(text)
    for number, sentence in enumerate(sentences, start=1):
        if sentence.endswith("?"):
            return " ".join(sentences[:number])
    return sentences[0]


def _write_overview(
    folder: Path, summaries: dict[str, dict], results: Manifests, *, made: str, to_come: Sequence[str]
) -> Path:
    """Write the overview of a profile and return its path."""
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


def _describe_notebook(folder: Path, manifest: dict, files: dict[str, Path]) -> dict:
    """Return the entry of a notebook with results. `files` contains the notebooks, keyed by name."""
    name = manifest["notebook"]
    return _describe_question(name, manifest["title"], manifest["question"], files) | {
        "address": _find_address(folder, name),
        "stopped": manifest.get("stopped", ""),
        "kinds": list(dict.fromkeys(_describe_data(entry) for entry in manifest.get("data", []))),
        "reason": "",
    }


def _describe_data(entry: dict) -> str:
    """Return the kind of data in an entry of a manifest. For example, ``own hardware``."""
    provenance = Provenance(**entry)
    return f"own {provenance}" if provenance.kind == SOFTWARE_EVENTS else str(provenance)


def _describe_left_out(left_out: dict, files: dict[str, Path]) -> dict:
    """Return the entry of a skipped notebook."""
    name = left_out["notebook"]
    title, question = read_heading(files[name]) if name in files else (left_out["title"], "")
    return _describe_question(name, title, question, files) | {
        "address": left_out["stored"],
        "stopped": "",
        "kinds": [],
        "reason": left_out["message"],
    }


def _describe_question(name: str, title: str, question: str, files: dict[str, Path]) -> dict:
    """Return the part of an entry that does not depend on the run."""
    file = files.get(name)
    return {
        "name": name,
        "title": title,
        "question": _find_question(question),
        "answer": read_answer(file)[0] if file else "",
        "is_study": file is not None and file.parent.name == "studies",
    }


def _find_address(folder: Path, name: str) -> str:
    """Return the address of a notebook's page, or "" if it has none."""
    address = page_address(name)
    return address if (folder / address).is_file() else ""


def _write_program_list(folder: Path) -> None:
    """Write the page that lists all programs of the profile ``live``."""
    rows = []
    for page in sorted(folder.glob("*/index.html")):
        for summary in read_summaries(page.parent).values():
            rows.append(describe_row(summary) | {"address": f"{quote(page.parent.name)}/index.html"})
    _write_terms(folder, {"cmlib": version("cmlib")})
    page = page_template("programs.html.j2").render(programs=rows, categories=CATEGORIES)
    write_whole(folder / "index.html", page)


def _write_terms(folder: Path, versions: dict[str, str]) -> None:
    """Write the page that explains the terms and lists the versions of the libraries."""
    write_whole(folder / _TERMS, page_template("terms.html.j2").render(versions=versions))
