"""Prepare the objects that the cells of a notebook use.

A notebook calls :func:`begin` in its first cell. The function checks the parameters and returns a
:class:`Notebook` with the results, the worker processes and the database.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from IPython import get_ipython

from cmlib import places, processors
from cmlib.errors import NotebookStopped, UnfitRecordingError
from cmlib.io.provenance import forget_read
from cmlib.parallel import Workers
from cmlib.report import Results, check_parameters
from cmlib.report.manifests import BY_PROGRAM
from cmlib.report.parameters import SETTINGS, SHARED, read_heading

__all__ = ["begin"]


@dataclass(frozen=True)
class Notebook:
    """Results, workers and settings of a notebook.

    Attributes
    ----------
    results : cmlib.report.results.Results
        Saves figures, tables, numbers and findings.
    workers : cmlib.parallel.Workers
        Worker processes for parallel computations.
    settings : dict
        Values of the shared settings, keyed by name. ``cmlib/report/parameters.yaml`` describes them.
    """

    results: Results
    workers: Workers
    settings: dict

    @property
    def of_program(self) -> bool:
        """True in the profile ``live``, which studies the programs of a user."""
        return self.settings["profile"].split("/")[0] == BY_PROGRAM

    @property
    def interactive(self) -> bool:
        """True if widgets are displayed, False if figures replace them.

        Widgets are displayed in a session of a Jupyter server and in VS Code. They are not displayed if
        Papermill or nbconvert runs the notebook.
        """
        has_server = "JPY_SESSION_NAME" in os.environ
        shell = get_ipython()
        in_vs_code = shell is not None and "__vsc_ipynb_file__" in shell.user_ns
        return self.settings["interactive"] and (has_server or in_vs_code)

    def widget(self, panel: Any, name: str, caption: str) -> Any:
        """Return a widget, or its first figure where widgets are not displayed.

        Parameters
        ----------
        panel : cmlib.explore.panel.Panel
            The widget.
        name : str
            Name of the figure's files.
        caption : str
            Caption of the figure, in Markdown.

        Returns
        -------
        Panel or IPython.display.HTML
            The widget, or the caption of the saved figure.
        """
        if self.interactive:
            return panel
        return self.results.figure(panel.figure(), name, caption)

    def stop(self, reason: str) -> None:
        """Save the results and skip all further cells.

        Parameters
        ----------
        reason : str
            The missing recordings, in one sentence (Markdown).

        Raises
        ------
        NotebookStopped
            Always. The run of the notebook counts as complete.
        """
        self.results.finding(reason)
        self.results.note_stop(reason)
        self.results.save()
        raise NotebookStopped(reason)

    @property
    def processor(self) -> str:
        """Processor that the user named for the recordings, or "".

        UnknownProcessorError is raised if the name is unknown.
        """
        name = self.settings["processor"]
        return processors.find(name) if name else ""

    @cached_property
    def database(self) -> str:
        """URL of the updated SQL store of recordings.

        NothingRecordedError is raised if there are no recordings.
        """
        from cmlib.io import store

        return store.refresh(None, self.settings["database"])


def begin(name: str, settings: dict, **parameters: object) -> Notebook:
    """Check the parameters of a notebook, and return the objects that it uses.

    For example, ``notebook = begin("03_ranking", settings, program=program, step=step)``.

    Parameters
    ----------
    name : str
        File name of the notebook without suffix.
    settings : dict
        Shared settings that differ from their defaults, keyed by name. ``cmlib run -p jobs=8`` sets them.
    **parameters
        Values of the parameters cell.

    Returns
    -------
    Notebook
        Empty results and all shared settings.

    Raises
    ------
    InputError
        If the notebook or a setting is unknown, or a value is wrong.
    """
    pd.set_option("display.max_columns", 8)  # tables fit the width of a page
    file = places.notebook_files().get(name, places.notebooks_dir() / f"{name}.ipynb")
    title, question = read_heading(file)
    check_parameters(file, parameters, "parameters")
    check_parameters(file, settings, SETTINGS)
    settings = {**{name: setting.default for name, setting in SHARED.items()}, **settings}
    workers = Workers(settings["jobs"], settings["executor"], settings["scheduler"])
    forget_read()
    shell = get_ipython()
    if shell is not None:
        shell.set_custom_exc((NotebookStopped, UnfitRecordingError), _end_early)
    profile, folder = settings["profile"], settings["results_folder"] or None
    results = Results(name, title=title, question=question, profile=profile, folder=folder)
    return Notebook(results, workers, settings)


def _end_early(
    shell: Any, error_type: type, error: Exception, traceback: Any, tb_offset: int | None = None
) -> None:
    """Show an error as one line, and end the notebook.

    This is an exception handler of IPython. Papermill treats an error named SystemExit as the regular end of
    a notebook.
    """
    shell._showtraceback(SystemExit, "", [str(error)])
