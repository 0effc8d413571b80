"""Execute a notebook and write its HTML page.

:func:`execute` runs the notebook with Papermill. The executed notebook and its page are moved to the folder
of the notebook's results.
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

# Suppress Papermill's messages on kernels, because execute() raises errors for them.
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
        Names of the notebooks to which pages can be linked.

    Raises
    ------
    NothingRecordedError
        If the notebook needs recordings that do not exist.
    NotebookError
        If a cell fails, the kernel dies, the notebook saves no results, or a file cannot be written.
    """
    draft = folder / f"{notebook.stem}.partial.ipynb"
    unfinished = failed_notebook_path(folder, notebook.stem)
    try:
        # If the draft were a FIFO, Papermill would wait for its reader.
        remove_drafts(folder, notebook.stem)
        _execute_with_kernel(notebook, draft, group_settings(notebook, parameters), folder)
        reason = _cut_at_error(draft)
        if reason and (folder / f"{notebook.stem}.partial").is_dir():  # no results were saved
            remove_drafts(folder, notebook.stem)
            raise NothingRecordedError(reason)
        if parameters.get("profile", "").partition("/")[0] == BY_PROGRAM:
            remove_answer(draft)
        _keep_with_page(notebook, draft, folder, pages)
        unfinished.unlink(missing_ok=True)
    except PapermillExecutionError as error:
        if error.ename == NothingRecordedError.__name__:
            remove_drafts(folder, notebook.stem)
            raise NothingRecordedError(error.evalue) from None
        atomic_replace(draft, unfinished)
        raise NotebookError(_describe_failure(notebook, error, unfinished)) from None
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

    Return the message of the error, or "" if there is none.
    """
    node = nbformat.read(notebook, as_version=4)
    for number, cell in enumerate(node.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                node.cells = node.cells[: number + 1]
                nbformat.write(node, notebook)
                return "\n".join(output.traceback)
    return ""


def _keep_with_page(notebook: Path, draft: Path, folder: Path, pages: Collection[str]) -> None:
    """Move an executed notebook to its results, and write its page."""
    target = folder / notebook.stem / f"{notebook.stem}.ipynb"
    if not target.parent.is_dir():
        raise NotebookError(
            f"{notebook.name} did not save its results. Call results.save() in its last cell."
        )
    atomic_replace(draft, target)
    write_page(notebook, nbformat.read(target, as_version=4), folder, pages)


def _execute_with_kernel(notebook: Path, draft: Path, parameters: dict, folder: Path) -> None:
    """Execute a notebook into the file `draft`. The kernel's sockets are in a temporary folder."""
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


def _describe_failure(notebook: Path, error: PapermillExecutionError, unfinished: Path) -> str:
    """Write the message for a failed cell: its first line, the error and the unfinished notebook."""
    first = next((line for line in error.source.splitlines() if line.strip()), "")
    return (
        f"{notebook.name}, cell {error.cell_index} (`{first.strip()}`): {error.ename}: {error.evalue}\n"
        f"The cells executed so far are in {unfinished}"
    )
