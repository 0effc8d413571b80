"""Make the README's pictures anew: `make pictures`.

Takes the overview of `cmlib run paper`, which must have been made, the ranking of `cmlib run live -p program=gcc`, and
the panel of notebook 03 as JupyterLab shows it.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image

from cmlib import places, report
from tests.browser.bench import Bench
from tests.browser.chromium import launched, open_context
from tests.browser.copies import copy_notebook, data_folder
from tests.browser.knobs import PANEL
from tests.browser.lab import jupyterlab
from tests.browser.opened import scroll_to

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTEBOOK = "03_ranking.ipynb"


def photograph_overview(browser, page):
    """Photograph the first screen of the overview (Path)."""
    context = open_context(browser, width=1280, height=900)
    opened = context.new_page()
    opened.goto(page.as_uri())
    for image in opened.locator(".questions img").all():
        image.evaluate("image => { image.loading = 'eager'; return image.decode(); }")
    opened.screenshot(path=DOCS / "report.png")
    context.close()
    Image.open(DOCS / "report.png").quantize(128).save(DOCS / "report.png", optimize=True)


def photograph_panel(browser, scratch):
    data = data_folder(scratch / "data", "gcc", "bzip2")
    (scratch / "notebooks").mkdir()
    (scratch / "private").mkdir()
    copy_notebook(
        places.notebooks_dir() / NOTEBOOK,
        scratch / "notebooks" / NOTEBOOK,
        {"program": "gcc,bzip2", "step": 40, "n_seeds": 6, "interactive": True},
    )
    context = open_context(browser, width=1200, height=1400)
    with jupyterlab(scratch / "notebooks", scratch / "private", {"CMLIB_DATA": data}) as lab:
        bench = Bench(lab, context, scratch)
        with bench.run(NOTEBOOK) as (page, cells):
            scroll_to(page, next(cell.index for cell in cells if "explore." in cell.source))
            page.locator(PANEL).locator("img").wait_for()
            page.locator(PANEL).screenshot(path=DOCS / "panel.png")
    context.close()


def main():
    overview = places.results_dir() / "paper/index.html"
    if not overview.is_file():
        sys.exit(f"{overview} is missing: make run")
    page = report.run_profile("live", ["03"], {"program": "gcc"})
    shutil.copyfile(page.parent / "03_ranking/ranking.png", DOCS / "ranking.png")
    with tempfile.TemporaryDirectory() as scratch, launched(scratch) as browser:
        photograph_overview(browser, overview)
        photograph_panel(browser, Path(scratch))


if __name__ == "__main__":
    main()
