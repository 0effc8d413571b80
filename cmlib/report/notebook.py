"""Begin a notebook: check its parameters and settings, and make the objects that its cells use.

:func:`begin` returns a :class:`Notebook` with the place of the results, the number of processes, and the database.
ValueError for a parameter or setting that is unknown or has a wrong value.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

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
    """The results, workers and settings that a notebook's cells use.

    Attributes
    ----------
    results : cmlib.report.results.Results
        Keeps figures, tables, numbers and sentences for the report.
    workers : cmlib.parallel.Workers
        Where, and by how many processes, is computed in parallel.
    settings : dict
        Value of each setting that notebooks share, by name; :data:`cmlib.report.parameters.SHARED` describes them.
    """

    results: Results
    workers: Workers
    settings: dict

    @property
    def of_program(self):
        """True in the profile ``live``, whose report shows a user's own programs alone."""
        return self.settings["profile"].split("/")[0] == BY_PROGRAM

    @property
    def interactive(self):
        """True to show widgets, False for a figure in their place.

        Widgets are shown only where somebody can move their controls: in a session of a Jupyter server, which names it
        to the kernel, or in VS Code. Papermill and nbconvert run kernels without either.
        """
        has_server = "JPY_SESSION_NAME" in os.environ
        shell = get_ipython()
        in_vs_code = shell is not None and "__vsc_ipynb_file__" in shell.user_ns
        return self.settings["interactive"] and (has_server or in_vs_code)

    def widget(self, panel, name, caption):
        """Return a widget where widgets are shown; else keep its first figure and return the caption.

        Parameters
        ----------
        panel : cmlib.explore.panel.Panel
            The widget.
        name, caption : str
            Name of the figure's files and its caption (Markdown), as for :meth:`Results.figure`.
        """
        if self.interactive:
            return panel
        return self.results.figure(panel.figure(), name, caption)

    def stop(self, reason):
        """Save the results so far with a reason, and skip the cells that follow.

        Parameters
        ----------
        reason : str
            One sentence (Markdown) on the missing recordings that the following cells need.

        Raises
        ------
        NotebookStopped
            Always; ``cmlib run`` and Papermill take the notebook as complete.
        """
        self.results.finding(reason)
        self.results.note_stop(reason)
        self.results.save()
        raise NotebookStopped(reason)

    @property
    def processor(self):
        """The processor that a user named for the recordings (its name in the event tables); "" if none was named.

        UnknownProcessorError (a ValueError) if no processor has that name.
        """
        name = self.settings["processor"]
        return processors.find(name) if name else ""

    @cached_property
    def database(self):
        """URL (str) of the SQL store of recordings, which is brought up to date first (:func:`cmlib.io.store.refresh`).

        NothingRecordedError if nothing is recorded.
        """
        from cmlib.io import store

        return store.refresh(None, self.settings["database"])


def begin(name: str, settings: dict, **parameters: object) -> Notebook:
    """Begin a notebook: ``notebook = begin("03_ranking", settings, program=program, step=step)``.

    Its title and question are read from its Markdown, and the limits of its parameters from its cell ``limits``.

    Parameters
    ----------
    name : str
        Name of its file under `notebooks` or `notebooks/studies`, without suffix.
    settings : dict
        Settings shared by all notebooks that differ from their default, by name; `cmlib run -p jobs=8` fills it.
    **parameters
        The values of its parameters cell, by name.

    Returns
    -------
    Notebook
        With empty results, and all shared settings.

    Raises
    ------
    ValueError
        If there is no such notebook, a parameter has a wrong value, or a setting an unknown name or a wrong value.
    """
    pd.set_option("display.max_columns", 8)  # so that frames fit the width of a page
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


def _end_early(shell, error_type, error, traceback, tb_offset=None):
    """Show one line in place of an error that says what a notebook lacks, and end the notebook.

    IPython's handler of exceptions. Papermill takes an output with the name SystemExit and no value for a notebook that
    ended as it should.
    """
    shell._showtraceback(SystemExit, "", [str(error)])
