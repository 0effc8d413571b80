"""The notebooks in JupyterLab as their user has them: opened, run, their controls moved."""

import json

import pytest

from tests.browser.knobs import PANEL, movable, move
from tests.browser.walk import NOTEBOOKS, run_and_turn

pytestmark = pytest.mark.needs("chromium")

SCRATCH = """
import ipywidgets as widgets
from cmlib import explore, plot
from cmlib.io import store
runs = [store.load({database!r}, one) for one in store.runs({database!r}, program="wordcount", mode="ocoe")["run_id"]]
ipc = {{run.meta["run"]: run.counts["instructions"] / run.counts["cycles"] for run in runs}}
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


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_runs_and_its_controls_redraw_its_figure(notebook, copied, bench, record_property):
    run_and_turn(bench, copied(notebook), record_property)


def test_a_panel_says_why_it_cannot_draw_and_draws_again(lab, database, bench):
    sources = [SCRATCH.format(database=database).strip(), EMPTY]
    cells = [CELL | {"id": f"cell{i}", "source": source} for i, source in enumerate(sources)]
    notebook = {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}
    (lab.root / "scratch.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    with bench.run("scratch.ipynb") as (page, cells):
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
        panel.locator("[role=alert]").wait_for(state="detached")
