"""What a reader does with a notebook in JupyterLab: runs it and moves every control of its panels."""

import re

from tests.browser.knobs import PANEL, movable, move
from tests.browser.opened import scroll_to

# Panels that stand in the notebook, and one of the library's, which test_explore.py moves without a browser.
NOTEBOOKS = ["02_cleaning.ipynb", "04_interactions.ipynb", "07_compression.ipynb"]


def run_and_turn(bench, notebook, record_property):
    """Run a notebook, and move the controls: each panel redraws its figure."""
    with bench.run(notebook) as (page, cells):
        failed = [cell for cell in cells if cell.error]
        if failed and failed[0].error[0] == "NothingRecordedError":
            scroll_to(page, failed[0].index)
            assert len(failed) == 1 and re.match("nothing recorded yet.*: run `", failed[0].error[1])
            return
        assert not failed, f"{failed[0].source}\n{': '.join(failed[0].error)}"
        assert all(cell.count for cell in cells if cell.source.strip())
        warned = [cell.stderr for cell in cells if cell.stderr]
        assert not warned, f"a reader sees, on red: {warned}"
        with_panel = [cell for cell in cells if "explore.Panel(" in cell.source]
        for place, cell in enumerate(with_panel):
            scroll_to(page, cell.index)
            name = notebook.removesuffix(".ipynb") + (f"-{place}" if place else "")
            _turn_every_knob(page, page.locator(PANEL).nth(place), name, bench.pictures, record_property)


def _turn_every_knob(page, panel, name, pictures, record_property):
    panel.locator("img").wait_for()
    panel.scroll_into_view_if_needed()
    panel.screenshot(path=pictures / f"{name}-before.png")
    moves = [move(page, panel, widget) for widget in movable(panel)]
    panel.screenshot(path=pictures / f"{name}-after.png")
    assert panel.locator("[role=alert]").count() == 0, panel.inner_text()
    for done in moves:
        seen = f"{done.picture or done.text:.0f} ms" if done.picture or done.text else "no change"
        record_property("redraw", f"{name}, {done.control}: {seen}")
    assert any(done.picture and done.text for done in moves), moves
