"""Execute one notebook with Papermill, and keep it and its HTML page beside its results.

`execute` takes the notebook's path, its parameters, a folder and the names of pages, and returns nothing.
NothingRecordedError if nothing is recorded for it, NotebookError if it fails.
"""

import contextlib
import logging
import tempfile

import nbformat
import papermill
from jupyter_client.kernelspec import NoSuchKernel
from jupyter_core.utils import ensure_event_loop
from nbconvert.preprocessors import TagRemovePreprocessor
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from cmlib.errors import NotebookError, NothingRecordedError
from cmlib.io.archive import atomic_replace
from cmlib.report.manifests import BY_PROGRAM, failed_notebook, remove_drafts
from cmlib.report.notebook_page import write_page
from cmlib.report.parameters import for_papermill
from cmlib.scratch import scratch_folder

# Papermill's own messages on kernels are left out, as execute() raises an error for them.
logging.getLogger("papermill").setLevel(logging.CRITICAL)


def execute(notebook, parameters, folder, pages):
    """Execute a notebook, and keep it and its page beside its results.

    `folder/NAME` then contains the results, the executed notebook (NAME.ipynb) and its page (NAME.html).

    Parameters
    ----------
    notebook : Path
        Its .ipynb file.
    parameters : dict
        Values by name.
    folder : Path
        Results of a profile.
    pages : collection of str
        Names of the notebooks that have a page in the folder, or get one in this run.

    Raises
    ------
    NothingRecordedError
        If the notebook raises it or an UnfitRecordingError.
    NotebookError
        If a cell fails for another reason (the cells executed so far are kept in NAME.failed.ipynb), the notebook
        saves no results, the kernel dies or can't be started, or nothing can be written.
    """
    draft, unfinished = folder / f"{notebook.stem}.partial.ipynb", failed_notebook(folder, notebook.stem)
    try:
        # Papermill would wait for the reader of a FIFO in the draft's place.
        remove_drafts(folder, notebook.stem)
        _execute_with_kernel(notebook, draft, for_papermill(notebook, parameters), folder)
        reason = _keep_executed(draft)
        if reason and (folder / f"{notebook.stem}.partial").is_dir():  # it ended before it saved its results
            remove_drafts(folder, notebook.stem)
            raise NothingRecordedError(reason)
        if parameters.get("profile", "").partition("/")[0] == BY_PROGRAM:
            remove_answer(draft)
        _settle_with_page(notebook, draft, folder, pages)
        unfinished.unlink(missing_ok=True)
    except PapermillExecutionError as error:
        if error.ename == NothingRecordedError.__name__:
            remove_drafts(folder, notebook.stem)
            raise NothingRecordedError(error.evalue) from None
        atomic_replace(draft, unfinished)
        raise NotebookError(_explain(notebook, error, unfinished)) from None
    except (RuntimeError, NoSuchKernel, ConnectionError, EOFError) as error:
        remove_drafts(folder, notebook.stem)
        raise NotebookError(
            f"{notebook.name}: its kernel could not be started, or died, as it does when memory runs out: {error}"
        ) from error
    except OSError as error:
        remove_drafts(folder, notebook.stem)
        folders = f"{folder}, or to {tempfile.gettempdir()}"
        raise NotebookError(f"{notebook.name}: could not write to {folders}: {error}") from None


def remove_answer(notebook):
    """Remove the cells tagged ``answer`` from a notebook, because they describe cmlib's own recordings.

    Parameters
    ----------
    notebook : path
        Its .ipynb file, which is rewritten.
    """
    node = nbformat.read(notebook, as_version=4)
    node, _ = TagRemovePreprocessor(remove_cell_tags={"answer"}).preprocess(node, {})
    nbformat.write(node, notebook)


def _keep_executed(notebook):
    """Keep the cells of a notebook's file (path) up to the one that ended it early.

    Return the line (str) that says why it ended there; "" if all cells were executed.
    """
    node = nbformat.read(notebook, as_version=4)
    for number, cell in enumerate(node.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                node.cells = node.cells[: number + 1]
                nbformat.write(node, notebook)
                return "\n".join(output.traceback)
    return ""


def _settle_with_page(notebook, draft, folder, pages):
    """Move the executed notebook `draft` (path) to its results, and write its page beside it.

    NotebookError if it saved no results.
    """
    target = folder / notebook.stem / f"{notebook.stem}.ipynb"
    if not target.parent.is_dir():
        raise NotebookError(f"{notebook.name} did not save its results; its last cell calls results.save().")
    atomic_replace(draft, target)
    write_page(notebook, nbformat.read(target, as_version=4), folder, pages)


def _execute_with_kernel(notebook, draft, parameters, folder):
    """Execute a notebook into the file `draft`, with a kernel that is reached by sockets in a temporary folder."""
    with scratch_folder() as sockets, contextlib.closing(ensure_event_loop()):
        connection = {"transport": "ipc", "connection_file": f"{sockets}/kernel.json"}
        papermill.execute_notebook(
            notebook,
            draft,
            parameters,
            kernel_name="python3",
            request_save_on_cell_execute=False,
            progress_bar={"leave": False, "desc": notebook.stem, "disable": None},
            resources={"metadata": {"path": str(folder)}},
            extra_arguments=["--IPKernelApp.log_level=CRITICAL", "--IPKernelApp.ignore_cwd=True"],
            config=Config(KernelManager=connection),
        )


def _explain(notebook, error, unfinished):
    """Return the message (str) for a cell that failed.

    It contains the cell's first line, the error, and the path of the `unfinished` notebook.
    """
    first = next((line for line in error.source.splitlines() if line.strip()), "")
    return (
        f"{notebook.name}, cell {error.cell_index} (`{first.strip()}`): {error.ename}: {error.evalue}\n"
        f"The notebook as far as it came: {unfinished}"
    )
