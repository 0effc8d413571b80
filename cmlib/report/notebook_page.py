"""Write the HTML pages of notebooks, with links to each other.

:func:`write_page` writes the page of an executed notebook. :func:`write_stored_page` writes the page of a
notebook with its stored outputs. Pages of notebooks are ``NAME/NAME.html`` in a folder of results, and pages
of documents are ``docs/NAME.html``.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Collection
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nbformat
from jinja2 import pass_context
from nbconvert import HTMLExporter

from cmlib import places
from cmlib.io.archive import write_whole
from cmlib.report.formulas import draw_formulas
from cmlib.report.manifests import BY_PROGRAM, page_address
from cmlib.report.parameters import read_heading

_TEMPLATE = Path(__file__).with_name("notebook.html.j2")
_DOCS = "docs"
# The text ends before the next link, so that many unclosed links take linear time.
_LINK = re.compile(r'<a href="(?P<target>[^"]*)">(?P<text>(?:(?!<a ).)*?)</a>', re.S)
_OUTSIDE = re.compile(r"https?:|mailto:")
# The id of a heading, in its tag and in the link that nbconvert adds to it.
_HEADING = re.compile(r'(?P<tag><h[1-6] id="|<a class="anchor-link" href="#)(?P<name>[^"]*)')
# nbconvert's exporter is not thread-safe.
_exporting = threading.Lock()


def write_page(notebook: Path, node: nbformat.NotebookNode, folder: Path, pages: Collection[str]) -> None:
    """Write the page of an executed notebook, and of all documents that it links.

    Parameters
    ----------
    notebook : Path
        The .ipynb file. Links in the notebook are relative to its folder.
    node : nbformat.NotebookNode
        The executed notebook.
    folder : Path
        Results of a profile.
    pages : collection of str
        Names of the notebooks that have a page in the folder, or will have one.
    """
    resources = {
        "metadata": {"name": read_heading(notebook)[0]},
        "files": _list_files(folder / notebook.stem),
        "home": folder.name if folder.parent.name == BY_PROGRAM else "",
        **_find_neighbors(notebook.stem, pages),
    }
    waiting = _export_page(notebook, node, folder / page_address(notebook.stem), pages, resources)
    written = set()
    while waiting:
        document = waiting.pop()
        written.add(document)
        cell = nbformat.v4.new_markdown_cell(document.read_text(encoding="utf-8"))
        node = nbformat.v4.new_notebook(cells=[cell])
        resources = {"metadata": {"name": document.stem}}
        page = folder / _DOCS / f"{document.stem}.html"
        waiting |= _export_page(document, node, page, pages, resources) - written


def write_stored_page(notebook: Path, folder: Path, pages: Collection[str], reason: str) -> None:
    """Write the page of a notebook with the outputs that are stored in its file.

    Parameters
    ----------
    notebook : Path
        The .ipynb file.
    folder : Path
        Results of a profile, to which the page is written.
    pages : collection of str
        Names of the notebooks that have a page in the folder, or will have one.
    reason : str
        Reason why the notebook was not run, in one sentence (Markdown).
    """
    node = nbformat.read(notebook, as_version=4)
    label = f"> **Stored with cmlib, not made in this run.** {reason}"
    node.cells.insert(1, nbformat.v4.new_markdown_cell(label))
    write_page(notebook, node, folder, pages)


def _export_page(
    source: Path, node: nbformat.NotebookNode, page: Path, pages: Collection[str], resources: dict
) -> set[Path]:
    """Write one page, and return the documents that it links.

    `source` is the file of the notebook or document.
    """
    resources |= {"source": source, "pages": pages, "documents": set()}
    with _exporting:
        html, resources = _make_exporter().from_notebook_node(node, resources)
    page.parent.mkdir(parents=True, exist_ok=True)
    write_whole(page, html)
    return resources["documents"]


def _find_page(target: str, resources: dict) -> str:
    """Return the address of the page for a link, or "" if the target has no page.

    `resources` contains the file with the link (`source`) and the notebooks with pages (`pages`). A linked
    document is added to `documents`.
    """
    if _OUTSIDE.match(target):
        return target
    address, mark, heading = target.partition("#")
    fragment = mark + _make_heading_id(heading)
    if not address:
        return fragment
    file = (resources["source"].parent / address).resolve()
    if file.suffix == ".ipynb" and file.stem in resources["pages"]:
        return f"../{page_address(file.stem)}{fragment}"
    if file.suffix == ".md" and file.parent == places.docs_dir() and file.is_file():
        resources["documents"].add(file)
        return f"../{_DOCS}/{file.stem}.html{fragment}"
    return ""


def _make_heading_id(text: str) -> str:
    """Return the id of a heading: its text in lower case without punctuation."""
    return re.sub(r"[^\w-]", "", unquote(unescape(text)).lower())


def _list_files(folder: Path) -> list[str]:
    """List the files of a notebook's results that the page links."""
    suffixes = {".ipynb", ".svg", ".png", ".csv", ".parquet"}
    return sorted(file.name for file in folder.glob("*") if file.suffix in suffixes)


def _find_neighbors(name: str, pages: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the address and title of the previous and the next notebook with a page."""
    files = places.notebook_files()
    names = [candidate for candidate in files if candidate in pages or candidate == name]
    position = names.index(name)
    sides = {"previous": position - 1, "next": position + 1}
    return {
        side: {"address": f"../{page_address(names[row])}", "title": read_heading(files[names[row]])[0]}
        for side, row in sides.items()
        if 0 <= row < len(names)
    }


@functools.cache
def _make_exporter() -> _PageExporter:
    """Return the exporter of all pages. Compiling its templates is slow, so it is made only once."""
    return _PageExporter(exclude_input_prompt=True, exclude_output_prompt=True, template_file=str(_TEMPLATE))


class _PageExporter(HTMLExporter):
    """HTML exporter of nbconvert with formulas in MathML and links between pages."""

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Convert Markdown to HTML. Links to files without a page become text."""
        html = super().markdown2html(context, draw_formulas(source))
        html = _HEADING.sub(lambda match: match["tag"] + _make_heading_id(match["name"]), html)

        def replace_link(link: re.Match) -> str:
            """Return a link to the page of its target, or only its text if there is no page."""
            address = _find_page(link["target"], context["resources"])
            return f'<a href="{address}">{link["text"]}</a>' if address else link["text"]

        return _LINK.sub(replace_link, html)
