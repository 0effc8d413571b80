"""The second half of the notebooks in JupyterLab: in a file, and so a process, of its own."""

import pytest

from tests.browser.walk import NOTEBOOKS, run_and_turn

pytestmark = pytest.mark.needs("chromium")


@pytest.mark.parametrize("notebook", NOTEBOOKS[len(NOTEBOOKS) // 2 :])
def test_a_notebook_runs_and_its_controls_redraw_its_figure(
    notebook, following, copied, bench, record_property
):
    run_and_turn(bench, copied, notebook, following, record_property)
