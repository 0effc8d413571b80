"""Make the README's pictures anew: `make pictures`.

Takes the ranking and the page of `cmlib run live -p program=gcc`, and the panel of notebook 03 as JupyterLab
shows it.
"""

import shutil
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


def photograph_report(browser, page):
    context = open_context(browser, width=1000, height=760)
    opened = context.new_page()
    opened.goto(page.as_uri())
    opened.locator("article img").evaluate("image => image.decode()")
    card = opened.locator("article").bounding_box()
    shown = {"x": 0, "y": 0, "width": 1000, "height": card["y"] + card["height"] + 20}
    opened.screenshot(path=DOCS / "report.png", clip=shown, full_page=True)
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
    page = report.run_profile("live", parameters={"program": "gcc"})
    shutil.copyfile(page.parent / "03_ranking/ranking.png", DOCS / "ranking.png")
    with tempfile.TemporaryDirectory() as scratch, launched(scratch) as browser:
        photograph_report(browser, page)
        photograph_panel(browser, Path(scratch))


if __name__ == "__main__":
    main()
