"""Execute a profile's notebooks with Papermill, one after the other."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
import papermill
from jupyter_client.kernelspec import NoSuchKernel
from nbclient.exceptions import DeadKernelError
from nbconvert import HTMLExporter
from papermill.exceptions import PapermillExecutionError
from tqdm import tqdm

from cmlib import places
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.report.manifests import note_left_out, read_manifests, remove_note
from cmlib.report.page import build_index
from cmlib.report.parameter_file import read_parameters
from cmlib.report.parameters import check_parameters, declared_parameters, unknown_parameter

_PAGE = Path(__file__).with_name("notebook.html.j2")


class NotebookError(CmlibError):
    """A cell of a notebook failed."""


def run_profile(profile, notebooks=(), parameters=None, *, results=None):
    """Regenerate a profile's results, and the page that shows them.

    Every name and value is checked before the first notebook starts.

    A notebook for which nothing is recorded yet is left out, if it was not
    named; the page and a last line on standard error say so. What an earlier
    run of it left stays in its folder, and is not shown until it runs again.

    Parameters
    ----------
    profile : str
        A folder of `params`: ``smoke``, ``paper`` or ``live``.
    notebooks : sequence of str, optional
        Names such as ``02_cleaning`` or ``02``; empty means all of the profile.
    parameters : dict, optional
        Values that replace those of the profile, in every notebook that declares them.
    results : path, optional
        Folder for all that is made, the store included, instead of the
        parameter `results_folder`, or `data/results`.

    Returns
    -------
    pathlib.Path
        The page: `<results>/<profile>/index.html`.

    Raises
    ------
    ValueError
        If the profile, a notebook, a parameter's name or its value is unknown.
    CmlibError
        If results can't be written; nothing has been run then.
    NothingRecordedError
        If nothing is recorded for a notebook that was named, or for any.
    NotebookError
        If a cell fails, naming notebook, cell and error. Results of earlier
        notebooks and of earlier runs stay.
    """
    parameters = dict(parameters or {})
    jobs = _plan(profile, notebooks, parameters)
    results = Path(results or parameters.get("results_folder") or places.results_dir()).absolute()
    folder = results / profile
    _check_writable(folder)
    left_out, noted_before = {}, {entry["notebook"] for entry in read_manifests(folder).left_out}
    with places.handed_down(results):
        for notebook, given in (bar := tqdm(jobs, desc=f"profile {profile}", unit="notebook")):
            bar.set_postfix_str(notebook.stem)
            try:
                _execute(notebook, given, folder)
            except NothingRecordedError as nothing:
                if notebooks:
                    raise NothingRecordedError(f"{notebook.name}: {nothing}") from None
                left_out[notebook.stem] = str(nothing)
                # At once: a summary that runs later must not take up what an earlier run left there.
                note_left_out(folder, notebook.stem, _title(notebook), str(nothing))
    if len(left_out) == len(jobs):
        for name in left_out.keys() - noted_before:
            remove_note(folder, name)
        raise NothingRecordedError(next(iter(left_out.values())))
    page = build_index(folder)
    if left_out:
        print(_told(left_out), file=sys.stderr)
    return page


def _plan(profile, wanted, extra):
    folder = places.params_dir() / profile
    if not folder.is_dir():
        known = ", ".join(sorted(f.name for f in places.params_dir().iterdir() if f.is_dir()))
        raise ValueError(f"no profile {profile!r} under params; there are: {known}.")
    if "profile" in extra:
        raise ValueError(f"-p: the profile is the command's first argument, {profile!r}; leave it out here.")
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
        given = read_parameters(file)
        check_parameters(notebook, given, f"params/{profile}/{file.name}")
        if given.get("results_folder"):
            raise ValueError(
                f"params/{profile}/{file.name}: results_folder is one for all notebooks of a run; "
                f"give it with -p results_folder=…, or in the environment variable CMLIB_RESULTS."
            )
        here = {name: value for name, value in extra.items() if name in declared}
        check_parameters(notebook, here, "-p")
        fixed = {"profile": profile, "results_folder": ""}
        jobs.append((notebook, given | here | {name: fixed[name] for name in fixed if name in declared}))
    for name in extra:
        if name not in declared_somewhere:
            raise ValueError(unknown_parameter(name, sorted(declared_somewhere), f"-p: profile {profile!r}"))
    return jobs


def _check_writable(folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CmlibError(
            f"results can't be written to {folder}: {error.strerror}. Give another folder with "
            "-p results_folder=…, or in the environment variable CMLIB_RESULTS."
        ) from error


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
            extra_arguments=["--IPKernelApp.log_level=CRITICAL"],
            cwd=folder,
        )
    except PapermillExecutionError as error:
        if error.ename == NothingRecordedError.__name__:
            _forget(notebook, folder)
            raise NothingRecordedError(error.evalue) from None
        if error.ename == KeyboardInterrupt.__name__:  # Ctrl-C, which is passed on to the kernel's cell
            _forget(notebook, folder)
            raise KeyboardInterrupt from None
        kept = folder / f"{notebook.stem}.failed.ipynb"
        os.replace(draft, kept)
        raise NotebookError(_explain(notebook, error, kept)) from None
    except KeyboardInterrupt:
        _forget(notebook, folder)
        raise
    except (DeadKernelError, NoSuchKernel) as error:
        raise NotebookError(
            f"{notebook.name}: its kernel could not be started, or died, as it does when memory runs out: {error}"
        ) from error
    target = folder / notebook.stem / f"{notebook.stem}.ipynb"
    if not target.parent.is_dir():
        raise NotebookError(
            f"{notebook.name} ended without saving its results; its last cell calls results.save()."
        )
    os.replace(draft, target)
    exporter = HTMLExporter(exclude_input_prompt=True, template_file=str(_PAGE))
    page, _ = exporter.from_notebook_node(nbformat.read(target, as_version=4))
    target.with_suffix(".html").write_text(page, encoding="utf-8")
    (folder / f"{notebook.stem}.failed.ipynb").unlink(missing_ok=True)


def _forget(notebook, folder):
    """Remove what a notebook that did not end has left."""
    (folder / f"{notebook.stem}.partial.ipynb").unlink(missing_ok=True)
    shutil.rmtree(folder / f"{notebook.stem}.partial", ignore_errors=True)


def _explain(notebook, error, kept):
    first = next((line for line in error.source.splitlines() if line.strip()), "")
    return (
        f"{notebook.name}, cell {error.cell_index} (`{first.strip()}`): {error.ename}: {error.evalue}\n"
        f"The notebook as far as it came: {kept}"
    )


def _title(notebook):
    """A notebook's first heading."""
    cells = nbformat.read(notebook, as_version=4).cells
    lines = (line for cell in cells if cell.cell_type == "markdown" for line in cell.source.splitlines())
    return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), notebook.stem)


def _told(left_out):
    """One line: which notebooks were left out, and what to run."""
    names = {}
    for name, message in left_out.items():
        names.setdefault(" ".join(message.split()), []).append(name)
    return "left out: " + "; ".join(f"{', '.join(group)}: {message}" for message, group in names.items())
