"""Make the picture of README again: `make pictures`.

It shows the overview of `cmlib run paper`, which must have run before.
"""

import sys
import tempfile
from pathlib import Path

from PIL import Image

from cmlib import places
from tests.browser.chromium import launched, open_context

DOCS = Path(__file__).resolve().parents[2] / "docs"


def photograph_overview(browser, page):
    """Photograph the first screen of the overview (Path)."""
    context = open_context(browser, width=1280, height=900)
    opened = context.new_page()
    opened.goto(page.as_uri())
    opened.screenshot(path=DOCS / "report.png")
    context.close()
    Image.open(DOCS / "report.png").quantize(128).save(DOCS / "report.png", optimize=True)


def main():
    overview = places.results_dir() / "paper/index.html"
    if not overview.is_file():
        sys.exit(f"{overview} is missing: make run")
    with tempfile.TemporaryDirectory() as scratch, launched(scratch) as browser:
        photograph_overview(browser, overview)


if __name__ == "__main__":
    main()
