"""Execute a profile's notebooks with Papermill, one after the other."""

import os
from pathlib import Path

import nbformat
import papermill
import yaml
from nbconvert import HTMLExporter
from papermill.exceptions import PapermillExecutionError
from tqdm import tqdm

from cmlib import places
from cmlib.errors import CmlibError
from cmlib.report.page import build_index
from cmlib.report.parameters import check_parameters, declared_parameters, unknown_parameter


class NotebookError(CmlibError):
    """A cell of a notebook failed."""


def run_profile(profile, notebooks=(), parameters=None, *, results=None):
    """Regenerate a profile's results, and the page that shows them.

    Every name and value is checked before the first notebook starts.

    Parameters
    ----------
    profile : str
        A folder of `params`: ``smoke``, ``paper`` or ``live``.
    notebooks : sequence of str, optional
        Names such as ``02_cleaning`` or ``02``; empty means all of the profile.
    parameters : dict, optional
        Values that replace those of the profile, in every notebook that declares them.
    results : path, optional
        Folder for the results instead of `data/results`.

    Returns
    -------
    pathlib.Path
        The page: `<results>/<profile>/index.html`.

    Raises
    ------
    ValueError
        If the profile, a notebook, a parameter's name or its value is unknown.
    NotebookError
        If a cell fails, naming notebook, cell and error. Results of earlier
        notebooks and of earlier runs stay.
    """
    folder = Path(results or places.results_dir()) / profile
    jobs = _plan(profile, notebooks, dict(parameters or {}))
    folder.mkdir(parents=True, exist_ok=True)
    for notebook, given in (bar := tqdm(jobs, desc=f"profile {profile}", unit="notebook")):
        bar.set_postfix_str(notebook.stem)
        if results is not None:
            given = given | {"results_folder": str(results)}
        _execute(notebook, given, folder)
    return build_index(folder)


def _plan(profile, wanted, extra):
    folder = places.params_dir() / profile
    if not folder.is_dir():
        known = ", ".join(sorted(f.name for f in places.params_dir().iterdir() if f.is_dir()))
        raise ValueError(f"no profile {profile!r} under params; there are: {known}.")
    files = sorted(folder.glob("*.yaml"))
    chosen = [
        f for f in files if not wanted or any(f.stem == w or f.stem.startswith(f"{w}_") for w in wanted)
    ]
    for name in wanted:
        if not any(f.stem == name or f.stem.startswith(f"{name}_") for f in files):
            known = ", ".join(f.stem for f in files)
            raise ValueError(f"profile {profile!r} has no notebook {name!r}; it has {known}.")
    jobs, declared_somewhere = [], set()
    for file in chosen:
        notebook = places.notebooks_dir() / f"{file.stem}.ipynb"
        declared = declared_parameters(notebook)
        declared_somewhere |= set(declared)
        given = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        check_parameters(notebook, given, f"params/{profile}/{file.name}")
        here = {name: value for name, value in extra.items() if name in declared}
        check_parameters(notebook, here, "-p")
        jobs.append((notebook, given | here))
    for name in extra:
        if name not in declared_somewhere:
            raise ValueError(unknown_parameter(name, sorted(declared_somewhere), f"-p: profile {profile!r}"))
    return jobs


def _execute(notebook, given, folder):
    draft = folder / f"{notebook.stem}.partial.ipynb"
    try:
        papermill.execute_notebook(
            notebook,
            draft,
            parameters=given,
            kernel_name="python3",
            progress_bar={"leave": False, "desc": notebook.stem},
            request_save_on_cell_execute=False,
            extra_arguments=["--IPKernelApp.log_level=ERROR"],
            cwd=folder,
        )
    except PapermillExecutionError as error:
        kept = folder / f"{notebook.stem}.failed.ipynb"
        os.replace(draft, kept)
        raise NotebookError(_explain(notebook, error, kept)) from None
    target = folder / notebook.stem / f"{notebook.stem}.ipynb"
    if not target.parent.is_dir():
        raise NotebookError(
            f"{notebook.name} ended without saving its results; its last cell calls results.save()."
        )
    os.replace(draft, target)
    page, _ = HTMLExporter(exclude_input_prompt=True).from_notebook_node(nbformat.read(target, as_version=4))
    target.with_suffix(".html").write_text(page, encoding="utf-8")
    (folder / f"{notebook.stem}.failed.ipynb").unlink(missing_ok=True)


def _explain(notebook, error, kept):
    first = next((line for line in error.source.splitlines() if line.strip()), "")
    return (
        f"{notebook.name}, cell {error.cell_index} (`{first.strip()}`): {error.ename}: {error.evalue}\n"
        f"The notebook as far as it came: {kept}"
    )
