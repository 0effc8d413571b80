"""Execute a notebook and write its HTML page.

:func:`execute` runs the notebook NAME with Papermill. These files and folders are in the folder of a
profile's results:

- ``NAME.partial.ipynb``: the draft, which Papermill writes after each cell
- ``NAME.partial``: results that the notebook has not saved yet (see :class:`cmlib.report.results.Results`)
- ``NAME``: saved results, with the executed notebook and its page
- ``NAME.failed.ipynb``: the draft of a notebook in which a cell failed
"""

import contextlib
import logging
import tempfile
from collections.abc import Collection
from pathlib import Path

import nbformat
import papermill
from jupyter_client.kernelspec import NoSuchKernel
from jupyter_core.utils import ensure_event_loop
from nbconvert.preprocessors import TagRemovePreprocessor
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from cmlib.errors import NotebookError, NothingRecordedError
from cmlib.io.archive import atomic_replace
from cmlib.report.manifests import BY_PROGRAM, failed_notebook_path, remove_drafts
from cmlib.report.notebook_page import write_page
from cmlib.report.parameters import group_settings
from cmlib.scratch import scratch_folder

# Papermill logs errors of kernels. execute() raises the same errors, so they are not logged.
logging.getLogger("papermill").setLevel(logging.CRITICAL)


def execute(notebook: Path, parameters: dict, folder: Path, pages: Collection[str]) -> None:
    """Execute a notebook and write its HTML page.

    The executed notebook is written to ``folder/NAME/NAME.ipynb``, and its page to ``folder/NAME/NAME.html``.
    If a cell fails, the cells executed so far are written to ``folder/NAME.failed.ipynb``.

    Parameters
    ----------
    notebook : Path
        The .ipynb file.
    parameters : dict
        Values keyed by parameter name.
    folder : Path
        Results of the profile.
    pages : collection of str
        Names of the notebooks that have a page in the folder, or will have one. Only these are linked.

    Raises
    ------
    NothingRecordedError
        If the notebook needs recordings that do not exist. If it saved results before it stopped, no error is
        raised.
    NotebookError
        If a cell fails, the kernel dies, the notebook saves no results, or a file cannot be written.
    """
    draft = folder / f"{notebook.stem}.partial.ipynb"
    failed_notebook = failed_notebook_path(folder, notebook.stem)
    try:
        # If the draft of an earlier run were a named pipe, Papermill would wait for a reader of the pipe.
        remove_drafts(folder, notebook.stem)
        _execute_with_kernel(notebook, draft, group_settings(notebook, parameters), folder)
        # Some notebooks end early because recordings are missing. cmlib.report.notebook shows the reason as an error
        # that Papermill does not raise.
        reason = _cut_at_error(draft)
        if reason and _has_unsaved_results(folder, notebook.stem):
            raise NothingRecordedError(reason)
        if parameters.get("profile", "").partition("/")[0] == BY_PROGRAM:
            remove_answer(draft)
        _keep_with_page(notebook, draft, folder, pages)
        failed_notebook.unlink(missing_ok=True)
    except (NothingRecordedError, NotebookError):
        remove_drafts(folder, notebook.stem)
        raise
    except PapermillExecutionError as error:
        if error.ename == NothingRecordedError.__name__:
            remove_drafts(folder, notebook.stem)
            raise NothingRecordedError(error.evalue) from None
        atomic_replace(draft, failed_notebook)
        raise NotebookError(_describe_failure(notebook, error, failed_notebook)) from None
    except (RuntimeError, NoSuchKernel, ConnectionError, EOFError) as error:
        remove_drafts(folder, notebook.stem)
        raise NotebookError(
            f"{notebook.name}: its kernel could not be started or died, for example because memory ran out: {error}"
        ) from error
    except OSError as error:
        remove_drafts(folder, notebook.stem)
        raise NotebookError(
            f"{notebook.name}: could not write to {folder} or {tempfile.gettempdir()}: {error}"
        ) from None


def remove_answer(notebook: str | Path) -> None:
    """Remove the cells tagged ``answer`` from a notebook file.

    These cells describe the recordings that come with cmlib, not the recordings of the user.

    Parameters
    ----------
    notebook : path
        The .ipynb file, which is rewritten.
    """
    node = nbformat.read(notebook, as_version=4)
    node, _ = TagRemovePreprocessor(remove_cell_tags={"answer"}).preprocess(node, {})
    nbformat.write(node, notebook)


def _cut_at_error(notebook: Path) -> str:
    """Remove the cells after the first error from a notebook file.

    Return the displayed message of the error, or "" if no cell raised one.
    """
    node = nbformat.read(notebook, as_version=4)
    for number, cell in enumerate(node.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                node.cells = node.cells[: number + 1]
                nbformat.write(node, notebook)
                return "\n".join(output.traceback)
    return ""


def _has_unsaved_results(folder: Path, name: str) -> bool:
    """Return True if a notebook has begun its results and not saved them.

    Saving renames the folder ``NAME.partial`` to ``NAME``.
    """
    return (folder / f"{name}.partial").is_dir()


def _keep_with_page(notebook: Path, draft: Path, folder: Path, pages: Collection[str]) -> None:
    """Move an executed notebook to its results, and write its page.

    NotebookError is raised if the notebook did not save its results. Results of an earlier run may exist.
    """
    target = folder / notebook.stem / f"{notebook.stem}.ipynb"
    if _has_unsaved_results(folder, notebook.stem) or not target.parent.is_dir():
        raise NotebookError(
            f"{notebook.name} did not save its results. Call results.save() in its last cell."
        )
    atomic_replace(draft, target)
    write_page(notebook, nbformat.read(target, as_version=4), folder, pages)


def _execute_with_kernel(notebook: Path, draft: Path, parameters: dict, folder: Path) -> None:
    """Execute a notebook, and write it with its outputs to the file `draft`.

    The kernel's sockets are in a temporary folder.
    """
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


def _describe_failure(notebook: Path, error: PapermillExecutionError, failed_notebook: Path) -> str:
    """Write the message for a failed cell.

    It contains the first line of the cell, the error, and the path of the notebook with the outputs so far.
    """
    first_line = next((line for line in error.source.splitlines() if line.strip()), "")
    return (
        f"{notebook.name}, cell {error.cell_index} (`{first_line.strip()}`): {error.ename}: {error.evalue}\n"
        f"The cells executed so far are in {failed_notebook}"
    )
