"""Write the HTML page of a notebook by nbconvert, with links that work among the pages of one folder of results.

:func:`write_page` writes the page of an executed notebook, :func:`write_stored_page` the page of a notebook as it is
stored with cmlib. Pages of notebooks lie at ``NAME/NAME.html`` in a folder of results, and pages of documents at
``docs/NAME.html``. OSError if a page can't be written.
"""

import functools
import re
import threading
from html import unescape
from pathlib import Path
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
# The text ends at the next link, so that many links without an end take linear time.
_LINK = re.compile(r'<a href="(?P<target>[^"]*)">(?P<text>(?:(?!<a ).)*?)</a>', re.S)
_OUTSIDE = re.compile(r"https?:|mailto:")
# The name of a heading, at the heading and in the link to itself that nbconvert adds.
_HEADING = re.compile(r'(?P<tag><h[1-6] id="|<a class="anchor-link" href="#)(?P<name>[^"]*)')
# nbconvert's exporter is not made for several threads.
_exporting = threading.Lock()


def write_page(notebook, node, folder, pages):
    """Write the page of an executed notebook, and those of the documents to which it links.

    Parameters
    ----------
    notebook : Path
        The .ipynb file. Links in the notebook are relative to its folder.
    node : nbformat.NotebookNode
        The executed notebook.
    folder : Path
        Folder with the results of a profile (``paper``, ``smoke``, ``live``).
    pages : collection of str
        Names of the notebooks that have a page in the folder, or get one in this run.
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


def write_stored_page(notebook, folder, pages, reason):
    """Write the page of a notebook from the outputs that are stored with cmlib.

    It stands in for the page that a run could not make.

    Parameters
    ----------
    notebook : Path
        Its .ipynb file.
    folder : Path
        Folder of the profile's results, to write to.
    pages : collection of str
        Names of the notebooks that have a page in the folder, or get one in this run.
    reason : str
        A sentence (Markdown) that says why the run did not make it, and what to do.
    """
    node = nbformat.read(notebook, as_version=4)
    label = f"> **Stored with cmlib, not made in this run.** {reason}"
    node.cells.insert(1, nbformat.v4.new_markdown_cell(label))
    write_page(notebook, node, folder, pages)


def _export_page(source, node, page, pages, resources):
    """Write one page, and return the documents (set of Path) to which it links.

    `source` is the path of the notebook or document, from which its links lead.
    """
    resources |= {"source": source, "pages": pages, "documents": set()}
    with _exporting:
        html, resources = _make_exporter().from_notebook_node(node, resources)
    page.parent.mkdir(parents=True, exist_ok=True)
    write_whole(page, html)
    return resources["documents"]


def _find_page(target, resources):
    """Return the address (str) of the page for a link's target, "" if there is none.

    `resources` (dict) has the path of the file with the link as `source`, and the names of notebooks with a page as
    `pages`. A document to which the link leads is added to its set `documents`.
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


def _make_heading_id(text):
    """Return the name (id) of a heading as links in Markdown write it: in lower case, without punctuation."""
    return re.sub(r"[^\w-]", "", unquote(unescape(text)).lower())


def _list_files(folder):
    """List the names of the notebook, the figures and the tables in a notebook's folder of results (Path)."""
    suffixes = {".ipynb", ".svg", ".png", ".csv", ".parquet"}
    return sorted(file.name for file in folder.glob("*") if file.suffix in suffixes)


def _find_neighbors(name, pages):
    """Find the previous and the next notebook with a page, in reading order: a dict of resources for the template."""
    files = places.notebook_files()
    names = [other for other in files if other in pages or other == name]
    position = names.index(name)
    neighbors = {"previous": names[position - 1 : position], "next": names[position + 1 : position + 2]}
    return {
        side: {"address": f"../{page_address(found[0])}", "title": read_heading(files[found[0]])[0]}
        for side, found in neighbors.items()
        if found
    }


@functools.cache
def _make_exporter():
    """Make the exporter of all pages; only once, because its templates take a fifth of a second to compile."""
    return _PageExporter(exclude_input_prompt=True, exclude_output_prompt=True, template_file=str(_TEMPLATE))


class _PageExporter(HTMLExporter):
    """nbconvert's exporter to HTML, with formulas in MathML and links to other pages."""

    @pass_context
    def markdown2html(self, context, source):
        """Convert Markdown (`source`, str) to HTML; nbconvert calls it for prose and outputs, with a `context`.

        A link to a file that has no page becomes text.
        """
        html = super().markdown2html(context, draw_formulas(source))
        html = _HEADING.sub(lambda found: found["tag"] + _make_heading_id(found["name"]), html)

        def lead(link):
            address = _find_page(link["target"], context["resources"])
            return f'<a href="{address}">{link["text"]}</a>' if address else link["text"]

        return _LINK.sub(lead, html)
