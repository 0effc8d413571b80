"""Pages of notebooks: every link of an executed profile leads somewhere, and code is folded."""

import re
from pathlib import Path

import nbformat
import pytest

from cmlib import places, report
from cmlib.errors import NotebookError
from tests.small_notebooks import NOTHING, saving, write_profile

LINKS = """For $x^2$: the study [of sizes](studies/sizes.ipynb), [notebook 06](06_tests.ipynb),
[notebook 08](08_later.ipynb),
[the how-to](../docs/cost.md#what-it-costs-in-all), [elsewhere](https://example.org),
and [the source](../tools/source.py).

`[no link](06_tests.ipynb)`"""


@pytest.fixture
def linked_profile(tmp_path, monkeypatch, no_kernel):
    """The profile ``tiny`` with notebooks that link to each other, one of which is left out; its results' folder."""
    for folder in ("notebooks", "params", "docs"):
        monkeypatch.setattr(places, f"{folder}_dir", lambda folder=folder: (tmp_path / folder).resolve())
    cells = {"01_small": saving("01_small"), "06_tests": NOTHING.format("06_tests")}
    write_profile(tmp_path, cells | {"studies/sizes": saving("sizes")})
    add_links(tmp_path / "notebooks/01_small.ipynb", LINKS)
    add_links(tmp_path / "notebooks/06_tests.ipynb", "[The first](01_small.ipynb)")
    add_links(tmp_path / "notebooks/studies/sizes.ipynb", "[The first](../01_small.ipynb)")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/cost.md").write_text(
        "[Others](other.md), [a study](../notebooks/studies/sizes.ipynb), [below](#what-it-costs-in-all)\n\n"
        "## What it costs, in all\n"
    )
    (tmp_path / "docs/other.md").write_text("[Back](cost.md)\n")
    return tmp_path / "out"


def add_links(notebook, text):
    """Add a Markdown cell to a notebook's file (path)."""
    node = nbformat.read(notebook, as_version=4)
    node.cells.insert(1, nbformat.v4.new_markdown_cell(text))
    nbformat.write(node, notebook)


def follow_links(page):
    """Follow all links from a page (Path) to files: the pages reached, and the links that lead nowhere (two sets)."""
    reached, broken, waiting = set(), set(), {page.resolve()}
    while waiting:
        page = waiting.pop()
        reached.add(page)
        html = page.read_text(encoding="utf-8")
        for link in re.findall(r'(?:href|src)="([^"]*)"', html):
            address, _, heading = link.partition("#")
            target = (page.parent / address).resolve() if address else page
            if re.match(r"https:|data:", link):
                continue
            if not target.is_file() or (
                heading and f'id="{heading}"' not in target.read_text(encoding="utf-8")
            ):
                broken.add((page.name, link))
            elif target.suffix == ".html" and target not in reached:
                waiting.add(target)
    return reached, broken


def test_every_link_of_a_profile_leads_somewhere(linked_profile):
    reached, broken = follow_links(report.run_profile("tiny", results=linked_profile))
    assert not broken
    pages = ["docs/cost.html", "docs/other.html", "01_small/01_small.html", "06_tests/06_tests.html"]
    made = {
        linked_profile.resolve() / "tiny" / page
        for page in [*pages, "sizes/sizes.html", "index.html", "terms.html"]
    }
    assert reached == made
    first = (linked_profile / "tiny/01_small/01_small.html").read_text(encoding="utf-8")
    for text in ("notebook 08", "the source", "no link"):
        assert text in first and f">{text}</a>" not in first
    assert 'href="https://example.org"' in first
    assert "<msup><mi>x</mi><mn>2</mn></msup></mrow></math>" in first
    neighbors = re.findall('href="([^"]*)" rel="(prev|next)"', first)
    assert set(neighbors) == {("../06_tests/06_tests.html", "next")}
    second = (linked_profile / "tiny/06_tests/06_tests.html").read_text(encoding="utf-8")
    neighbors = re.findall('href="([^"]*)" rel="(prev|next)"', second)
    assert set(neighbors) == {("../01_small/01_small.html", "prev"), ("../sizes/sizes.html", "next")}


def test_links_lead_somewhere_where_one_notebook_is_run_and_where_one_fails(linked_profile, tmp_path):
    _, broken = follow_links(report.run_profile("tiny", ["01"], results=linked_profile))
    assert not broken
    write_profile(tmp_path, {"06_tests": "1 / 0"})
    with pytest.raises(NotebookError):
        report.run_profile("tiny", results=linked_profile)
    reached, broken = follow_links(linked_profile / "tiny/index.html")
    assert not broken
    failed = linked_profile.resolve() / "tiny/06_tests/06_tests.html"
    assert failed in reached and "It failed in this run" in failed.read_text(encoding="utf-8")


def test_every_link_of_the_smoke_profile_leads_somewhere_and_every_page_is_linked(smoke):
    reached, broken = follow_links(smoke / "index.html")
    assert not broken
    assert reached == {file.resolve() for file in smoke.rglob("*.html") if ".partial" not in str(file)}


def test_code_is_folded(linked_profile):
    report.run_profile("tiny", ["01"], results=linked_profile)
    html = (linked_profile / "tiny/01_small/01_small.html").read_text(encoding="utf-8")
    folded = re.findall(r'<details class="code">.*?</details>', html, re.S)
    code = [cell for cell in html.split('<div class="jp-Cell ')[1:] if cell.startswith("jp-CodeCell")]
    assert len(folded) == len(code) > 0


@pytest.mark.parametrize("notebook", places.notebook_files().values(), ids=lambda file: file.stem)
def test_links_of_notebooks_lead_to_files(notebook):
    cells = nbformat.read(notebook, as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^()\s]+\.(?:ipynb|md))(?:#[^)]*)?\)", prose)
    local = [link for link in links if not link.startswith("https:")]
    assert [link for link in local if not (Path(notebook).parent / link).is_file()] == []
