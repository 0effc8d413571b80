"""Profiles of small notebooks, whose second cells are the tests'."""

from pathlib import Path

import nbformat
from papermill.exceptions import PapermillExecutionError

from cmlib.errors import NotebookStopped, UnfitRecordingError

_PARAMETERS = (
    'n_steps: int = 20  # steps\njobs: int = -1  # processes\nprofile: str = ""  # name\n'
    'results_folder: str = ""  # where results go\n'
)


def write_profile(folder, cells, more=""):
    """Write the notebooks and parameters of the profile ``tiny``, given the cells by notebook (``studies/NAME`` for
    a study)."""
    (folder / "params/tiny").mkdir(parents=True, exist_ok=True)
    (folder / "notebooks/studies").mkdir(parents=True, exist_ok=True)
    for name, cell in cells.items():
        (folder / f"params/tiny/{Path(name).name}.yaml").write_text("n_steps: 30\n")
        cells = cell, "limits = {'n_steps': (20, 2000)}"
        write_notebook(folder / f"notebooks/{name}.ipynb", *cells, parameters=_PARAMETERS + more)


def execute_here(notebook, draft, parameters, **_):
    """Execute a notebook's cells in this process, in place of ``papermill.execute_notebook``."""
    book, names = nbformat.read(notebook, as_version=4), {}
    nbformat.write(book, draft)
    for number, cell in enumerate(cell for cell in book.cells if cell.cell_type == "code"):
        try:
            exec(cell.source, names)
        except (NotebookStopped, UnfitRecordingError) as error:
            cell.outputs = [
                nbformat.v4.new_output("error", ename="SystemExit", evalue="", traceback=[str(error)])
            ]
            nbformat.write(book, draft)
            return
        except Exception as error:
            told = type(error).__name__, str(error)
            raise PapermillExecutionError(number, number, cell.source, *told, []) from error
        names |= parameters if number == 0 else {}


def write_notebook(path, *cells, parameters):
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "language": "python", "display_name": "Python 3"}
    heading = nbformat.v4.new_markdown_cell(f"# The title of {path.stem}\n\n**Question.** …")
    tagged = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    notebook.cells = [heading, tagged, *(nbformat.v4.new_code_cell(cell) for cell in cells)]
    nbformat.write(notebook, path)
    return path


def saving(name, more="r.number('steps', n_steps)"):
    return (
        "import pandas as pd\nfrom cmlib.report import Results\n"
        f"r = Results('{name}', title='Small', question='Does it run?', profile=profile, folder=results_folder)\n"
        f"{more}\nr.save()"
    )


# The last cell of a notebook that lists the numbers of the others.
SUMMARY = """from cmlib.errors import NothingRecordedError
from cmlib.report.manifests import read_manifests
made = read_manifests(r._final.parent).sections
if not made:
    raise NothingRecordedError("no results")
rows = [{"notebook": manifest["notebook"]} | number for manifest in made for number in manifest["numbers"]]
r.table(pd.DataFrame(rows), "numbers", "T.")"""
NOTHING = (
    "from cmlib.errors import NothingRecordedError\nfrom cmlib.report import Results\n"
    "r = Results('{}', title='', question='', profile=profile)\n"
    "raise NothingRecordedError('nothing recorded yet: run `cmlib sample NAME`')"
)
