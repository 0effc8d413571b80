"""Every notebook in JupyterLab as its user has it: opened, run, its controls moved."""

import json
import re

import pytest

from cmlib import places
from tests.browser.copies import copy_notebook
from tests.browser.knobs import PANEL, movable, move
from tests.browser.opened import run_notebook, scroll_to

pytestmark = pytest.mark.needs("chromium")

NOTEBOOKS = sorted(places.notebooks_dir().glob("*.ipynb"))


@pytest.fixture
def page(new_page, lab, pictures, request):
    """A page whose last look is kept, however the test ends."""
    page = new_page()
    yield page
    page.screenshot(path=pictures / f"{re.sub('[^a-z0-9_]+', '-', request.node.name)[5:].strip('-')}.png")
    lab.end_kernels()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_controls_redraw_its_figure(
    notebook, page, lab, data, pictures, record_property
):
    given = {
        "interactive": True,
        "jobs": 1,
        "results_folder": str(data / "results"),
        "database": f"sqlite:///{data / 'store.sqlite'}",
    }
    copy_notebook(notebook, lab.root / notebook.name, given)
    cells = run_notebook(page, lab, notebook.name)
    failed = [cell for cell in cells if cell.error]
    if failed and failed[0].error[0] == "NothingRecordedError":
        assert len(failed) == 1 and failed[0].error[1].startswith("nothing recorded yet: run `cmlib ")
        return
    assert not failed, f"{failed[0].source}\n{': '.join(failed[0].error)}"
    assert all(cell.count for cell in cells if cell.source.strip())
    warned = [cell.stderr for cell in cells if cell.stderr]
    assert not warned, f"a reader sees, on red: {warned}"
    with_panel = [cell for cell in cells if "explore." in cell.source]
    if with_panel:
        scroll_to(page, with_panel[-1].index)
        _turn_every_knob(page, notebook.stem, pictures, record_property)
    assert not page.strangers, "asked for something outside this machine"


def _turn_every_knob(page, name, pictures, record_property):
    panel = page.locator(PANEL)
    panel.locator("img").wait_for()
    panel.scroll_into_view_if_needed()
    panel.screenshot(path=pictures / f"{name}-before.png")
    moves = [move(page, panel, widget) for widget in movable(panel)]
    panel.screenshot(path=pictures / f"{name}-after.png")
    assert panel.locator("[role=alert]").count() == 0, panel.inner_text()
    for done in moves:
        record_property("redraw", f"{name}, {done.control}: {done.picture or done.text:.0f} ms")
    assert any(done.picture and done.text for done in moves), moves


SCRATCH = """
import ipywidgets as widgets
from cmlib import explore, plot, store, study
url = study.open_database({database!r})
ipc = study.ipc(url, "wordcount", "ocoe")
def draw(runs, style, last):
    if runs > 4:
        raise ValueError("fewer runs than that, please")
    chosen = dict(list(ipc.items())[-runs:] if last else list(ipc.items())[:runs])
    return plot.series_by_program({{style: chosen}}, ylabel="IPC")[0], f"{{style}}: <b>{{len(chosen)}} runs</b>, {{last}}"
controls = dict(runs=widgets.IntSlider(2, 1, 6, description="runs"),
                style=widgets.Dropdown(options=["one", "two"], description="name"),
                last=widgets.Checkbox(False, description="last ones"))
panel = explore.Panel(draw, controls)
"""


def test_a_panel_answers_the_keyboard_and_says_why_it_cannot_draw(page, lab, data, pictures):
    scratch = SCRATCH.format(database=f"sqlite:///{data / 'store.sqlite'}").strip()
    _write_notebook(lab.root / "scratch.ipynb", [scratch, "panel"])
    cells = run_notebook(page, lab, "scratch.ipynb")
    assert [cell.error for cell in cells] == [None, None]
    panel = page.locator(PANEL)
    panel.locator("img").wait_for()
    for widget in movable(panel):
        done = move(page, panel, widget)
        assert done.picture and done.text, done
    slider, name, _ = movable(panel)
    assert move(page, panel, slider).picture, "four runs can be drawn"
    move(page, panel, slider)
    panel.screenshot(path=pictures / "refusal.png")
    assert panel.locator("[role=alert]").inner_text() == "fewer runs than that, please"
    assert panel.locator("img").count() == 0
    slider.locator(".noUi-handle").press("ArrowLeft")
    panel.locator("img").wait_for()
    assert panel.locator("[role=alert]").count() == 0


def test_what_nobody_recorded_is_a_message_in_notebook_and_panel(page, lab):
    first = "from cmlib import explore\nexplore.Panel.empty('cmlib record NAME -- COMMAND')"
    second = "from cmlib.errors import NothingRecordedError\nraise NothingRecordedError('nothing recorded yet: run `cmlib record x`')"
    _write_notebook(lab.root / "empty.ipynb", [first, second])
    cells = run_notebook(page, lab, "empty.ipynb")
    assert [cell.error for cell in cells] == [
        None,
        ["NothingRecordedError", "nothing recorded yet: run `cmlib record x`"],
    ]
    assert page.locator(PANEL).inner_text() == "nothing recorded yet: run cmlib record NAME -- COMMAND"


def _write_notebook(path, sources):
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    cells = [
        {
            "cell_type": "code",
            "id": f"c{i}",
            "metadata": {},
            "source": s,
            "outputs": [],
            "execution_count": None,
        }
        for i, s in enumerate(sources)
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
