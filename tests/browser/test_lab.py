"""Every notebook in JupyterLab as its user has it: opened, run, its controls moved."""

import json
import re

import pytest

from cmlib import places, study
from tests.browser.bench import Bench
from tests.browser.chromium import open_context
from tests.browser.copies import copy_notebook, make_up
from tests.browser.knobs import PANEL, movable, move
from tests.browser.opened import scroll_to

pytestmark = pytest.mark.needs("chromium")

NOTEBOOKS = sorted(path.name for path in places.notebooks_dir().glob("*.ipynb"))
SUMMARY = NOTEBOOKS[-1]  # reads what the others have left

SCRATCH = """
import ipywidgets as widgets
from cmlib import explore, plot, store, study
ipc = study.ipc({database!r}, "wordcount")
def draw(runs, style, last):
    if runs > 4:
        raise ValueError("fewer runs than that, please")
    chosen = dict(list(ipc.items())[-runs:] if last else list(ipc.items())[:runs])
    return plot.series_by_program({{style: chosen}}, ylabel="IPC")[0], f"{{style}}: {{len(chosen)}} runs, {{last}}"
controls = dict(runs=widgets.IntSlider(2, 1, 6, description="runs"),
                style=widgets.Dropdown(options=["one", "two"], description="name"),
                last=widgets.Checkbox(False, description="last ones"))
explore.Panel(draw, controls)
"""
EMPTY = "explore.Panel.empty('cmlib record NAME -- COMMAND')"
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
CELL = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}


@pytest.fixture(scope="module")
def database(data):
    """A store that all notebooks share; where nothing is recorded, they find what is made up."""
    make_up(data)
    return study.open_database(f"sqlite:///{data / 'store.sqlite'}")


@pytest.fixture(scope="module")
def bench(lab, chromium, pictures):
    context = open_context(chromium)
    yield Bench(lab, context, pictures)
    context.close()
    assert not context.strangers, "a page asked for something outside this machine"


@pytest.fixture
def copied(lab, data, database):
    """Copies a notebook into the lab's folder, unless it already is there."""
    given = {
        "interactive": True,
        "jobs": 1,
        "results_folder": str(data / "results"),
        "database": database,
    }

    def copy(name):
        if not (lab.root / name).exists():
            copy_notebook(places.notebooks_dir() / name, lab.root / name, given)
        return name

    return copy


@pytest.fixture
def following(request):
    """The notebook that the next test looks at, and that may already run meanwhile; or None."""
    items = request.session.items
    at = items.index(request.node) + 1
    after = getattr(items[at], "callspec", None) if at < len(items) else None
    name = after and after.params.get("notebook")
    return None if name == SUMMARY else name


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_runs_and_its_controls_redraw_its_figure(
    notebook, following, copied, bench, record_property
):
    for name in filter(None, [notebook, following]):
        bench.begin(copied(name))
    with bench.finished(notebook) as (page, cells):
        failed = [cell for cell in cells if cell.error]
        if failed and failed[0].error[0] == "NothingRecordedError":
            scroll_to(page, failed[0].index)
            assert len(failed) == 1 and re.match("nothing recorded yet.*: run `", failed[0].error[1])
            return
        assert not failed, f"{failed[0].source}\n{': '.join(failed[0].error)}"
        assert all(cell.count for cell in cells if cell.source.strip())
        warned = [cell.stderr for cell in cells if cell.stderr]
        assert not warned, f"a reader sees, on red: {warned}"
        with_panel = [cell for cell in cells if "explore." in cell.source]
        for place, cell in enumerate(with_panel):
            scroll_to(page, cell.index)
            name = notebook.removesuffix(".ipynb") + (f"-{place}" if place else "")
            _turn_every_knob(page, page.locator(PANEL).nth(place), name, bench.pictures, record_property)


def test_a_panel_says_why_it_cannot_draw_and_draws_again(lab, database, bench):
    sources = [SCRATCH.format(database=database).strip(), EMPTY]
    cells = [CELL | {"id": f"cell{i}", "source": source} for i, source in enumerate(sources)]
    notebook = {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}
    (lab.root / "scratch.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    bench.begin("scratch.ipynb")
    with bench.finished("scratch.ipynb") as (page, cells):
        assert [(cell.error, cell.stderr) for cell in cells] == [(None, "")] * 2
        panel, empty = page.locator(PANEL).all()
        assert empty.inner_text().strip() == "nothing recorded yet: run cmlib record NAME -- COMMAND"
        slider, dropdown, checkbox = movable(panel)
        for widget in (slider, dropdown, checkbox, slider):
            done = move(page, panel, widget)
            assert done.picture and done.text, done
        move(page, panel, slider)
        panel.screenshot(path=bench.pictures / "refusal.png")
        assert panel.locator("[role=alert]").inner_text() == "fewer runs than that, please"
        assert panel.locator("img").count() == 0
        slider.locator(".noUi-handle").press("ArrowLeft")
        panel.locator("img").wait_for()
        assert panel.locator("[role=alert]").count() == 0


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
