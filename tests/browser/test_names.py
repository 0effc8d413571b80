"""Names that look like HTML, Markdown or a formula stay text on every page, whoever sent the recordings."""

import shutil

import nbformat
import pytest

from cmlib import places, report
from tests import made_up

pytestmark = pytest.mark.needs("chromium")

PROGRAM = "p<img src=x onerror='went=1'>"
EVENTS = [
    "e`<img src=x onerror='went=1'>`",
    "[e](javascript:went=1)![e](http://elsewhere.example)",
    r"e$\frac$*e*</title><script>went=1</script>",
]
# Every place of a page that a notebook can put a name in.
SOURCE = f"""
import pandas as pd
from cmlib import plot
from cmlib.report import Results
program, events = {PROGRAM!r}, {EVENTS!r}
results = Results("02_names", title=program, question=program, profile=profile)
frame = pd.DataFrame({{"mean": [3.0, 2.0, 1.0], "label": events}}, index=pd.Index(events, name=events[0]))
for place, event in enumerate(events):
    figure, _ = plot.ranking({{event: frame}}, value="mean", label="label", xlabel=program)
    display(results.figure(figure, f"f{{place}}", f"**Figure.** `{{event}}` and {{event}} of {{program}}."))
    display(results.table(frame.rename(columns={{"mean": event}}), f"t{{place}}", f"**Table.** `{{event}}`."))
    display(results.finding(f"`{{event}}`; {{event}}", program=program))
    results.number(event, 1.0, event, note=f"`{{event}}`; {{event}}")
display(results.numbers())
results.save()
"""
PARAMETERS = 'profile: str = ""  # name\nprogram: str = ""  # name\ndatabase: str = ""  # URL\n'
# What a name could have become: something that runs, or that leads elsewhere.
_MADE = """() => [typeof went, document.querySelectorAll(
    'img[onerror], [href^="javascript:"], [src*="elsewhere"], body script:not([type])').length]"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of two notebooks about a recording whose names attack."""
    home = tmp_path_factory.mktemp("received")
    made_up.record(home / "recordings", "received", EVENTS, EVENTS[0], n_intervals=30)
    _add_notebooks(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CMLIB_DATA", str(home))
        patch.setattr(places, "notebooks_dir", lambda: home)
        patch.setattr(places, "params_dir", lambda: home / "params")
        page = report.run_profile("live", parameters={"program": "received", "jobs": 1})
    return [page, *page.parent.glob("*/*.html")]


def test_names_stay_text(new_page, pages, pictures):
    assert len(pages) == 3
    for page in pages:
        opened = new_page()
        opened.goto(page.as_uri())
        opened.screenshot(path=pictures / f"{page.stem}.png", full_page=True)
        assert opened.evaluate(_MADE) == ["undefined", 0], page
        if "01" not in page.stem:  # programs of such names are refused, titles and captions are any text
            assert PROGRAM in opened.locator("body").inner_text()


def _add_notebooks(home):
    shutil.copy(places.notebooks_dir() / "01_collection.ipynb", home)
    cells = [nbformat.v4.new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})]
    cells.append(nbformat.v4.new_code_cell(SOURCE))
    kernel = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), home / "02_names.ipynb")
    (home / "params/live").mkdir(parents=True)
    for name in ("01_collection", "02_names"):
        (home / f"params/live/{name}.yaml").write_text("{}\n")
