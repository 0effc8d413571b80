"""Read the manifests of a profile's notebooks, and the records of skipped notebooks.

A profile is a named set of parameter values for the notebooks. :func:`read_manifests` takes its folder of
results and returns a :class:`Manifests`. A manifest (``manifest.json``) is a dict that lists the results of a
notebook. :class:`cmlib.report.Results` writes it, with the following keys:

- ``schema``: version of the format
- ``notebook``, ``title``, ``question``, ``profile``: what was run
- ``origin``: a warning if no counts were measured
- ``figures``, ``tables``, ``numbers``, ``findings``: lists of dicts
- ``stopped``: reason why the notebook stopped early, if it did
- ``data``: sources of counts as dicts of :class:`cmlib.io.provenance.Provenance`. Results refer to them by
  position.
- ``absent_sets``: public data sets that were not found
- ``versions``: versions of the libraries
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from cmlib.errors import InputError
from cmlib.experiments.requested import split_names
from cmlib.io.archive import read_file, write_whole
from cmlib.shell import command_line, command_of_report

__all__ = ["command_of", "read_manifests"]

# The profile for the programs of a user. Each program has its own folder of results.
BY_PROGRAM = "live"
# Version of manifests. Results of another version must be made again.
SCHEMA = 4

_SKIP_RECORD = ".not_run.json"
_FAILED = ".failed.ipynb"


@dataclass(frozen=True)
class Manifests:
    """Results in the folder of a profile.

    Attributes
    ----------
    sections : list of dict
        Manifests of the notebooks with results, sorted by name.
    left_out : list of dict
        Notebooks without recordings: ``notebook``, ``title``, ``message`` (reason) and ``stored`` (address of
        the page with stored results, or "").
    damaged : list of dict
        Notebooks with unreadable results: ``notebook``, ``title`` and ``message``.
    failed : list of dict
        Notebooks in which a cell failed: ``notebook``, ``title`` and ``message``.
    """

    sections: list
    left_out: list
    damaged: list
    failed: list


def results_subdir(profile: str, parameters: dict) -> str:
    """Return the results folder of a profile, relative to the folder of all results.

    Parameters
    ----------
    profile : str
        Name of the profile, or path of a folder of parameters.
    parameters : dict
        Parameters of the run. In the profile ``live``, ``program`` is a part of the folder.

    Returns
    -------
    str
        For example, ``paper``, ``live/gcc`` or ``live/bzip2,gcc``.
    """
    if profile != BY_PROGRAM:
        return Path(profile).resolve().name  # only the name of a folder elsewhere
    names = {make_file_name(name) for name in split_names(str(parameters.get("program", "all")))}
    return f"{profile}/{','.join(sorted(names))}"


def make_file_name(program: str) -> str:
    """Replace characters in a program's name that a file name cannot contain.

    Parameters
    ----------
    program : str
        Name of the program.

    Returns
    -------
    str
        A single name and not a path.
    """
    return re.sub(r"^\.|[^\w.-]", "_", program)


def command_of(subdir: str) -> str:
    """Return the command that makes a folder of results.

    Parameters
    ----------
    subdir : str
        Name of the folder. For example, ``paper`` or ``live/gcc``.

    Returns
    -------
    str
        A command line for a shell.
    """
    profile, _, program = subdir.partition("/")
    return command_of_report(program, profile) if program else command_line("cmlib", "run", profile)


def read_manifests(folder: str | Path) -> Manifests:
    """Read the manifests in the folder of a profile.

    Parameters
    ----------
    folder : path
        Results of a profile. The folder may be missing.

    Returns
    -------
    Manifests
        Its lists are empty if there are no results.

    Raises
    ------
    ValueError
        If the record of a skipped notebook is damaged.
    """
    folder = Path(folder)
    left_out = [json.loads(read_file(file)) for file in sorted(folder.glob(f"*{_SKIP_RECORD}"))]
    with_page = find_notebooks_with_page(folder)
    for entry in left_out:
        entry["stored"] = page_address(entry["notebook"]) if entry["notebook"] in with_page else ""
    skipped = {entry["notebook"] for entry in left_out}
    command = command_of("/".join(folder.parts[-2:]) if folder.parent.name == BY_PROGRAM else folder.name)
    sections, damaged = [], []
    for subfolder in sorted(filter(_is_results_folder, folder.glob("*/"))):
        name = subfolder.name
        if name in skipped:
            continue
        try:
            sections.append(_read_manifest(subfolder))
        except (OSError, ValueError) as error:
            message = f"its results cannot be read ({error}). Run it again: {command} {name}"
            damaged.append({"notebook": name, "title": name, "message": message})
    failed = [_describe_failed(file) for file in sorted(folder.glob(f"*{_FAILED}"))]
    return Manifests(sections, left_out, damaged, failed)


def record_skipped(folder: str | Path, notebook: str, title: str, message: str) -> None:
    """Record why a notebook was skipped.

    Parameters
    ----------
    folder : path
        Results of a profile.
    notebook : str
        Name of the notebook.
    title : str
        Heading of the notebook.
    message : str
        Reason why it was skipped.
    """
    entry = {"notebook": notebook, "title": title, "message": message}
    write_whole(_skip_record_path(folder, notebook), json.dumps(entry))


def remove_skip_record(folder: str | Path, notebook: str) -> None:
    """Remove the record of a skipped notebook, if there is one.

    Parameters
    ----------
    folder : path
        Results of a profile.
    notebook : str
        Name of the notebook.
    """
    _skip_record_path(folder, notebook).unlink(missing_ok=True)


def page_address(notebook: str) -> str:
    """Return the address of a notebook's page.

    Parameters
    ----------
    notebook : str
        Name of the notebook.

    Returns
    -------
    str
        Path relative to the folder of results.
    """
    return f"{notebook}/{notebook}.html"


def find_notebooks_with_page(folder: str | Path) -> set[str]:
    """Find the notebooks that have a page.

    Parameters
    ----------
    folder : path
        Results of a profile.

    Returns
    -------
    set of str
        Names of the notebooks.
    """
    # Subfolders are not listed, because they are renamed while notebooks run.
    subfolders = Path(folder).glob("*/")
    return {subfolder.name for subfolder in subfolders if (subfolder / f"{subfolder.name}.html").is_file()}


def failed_notebook_path(folder: str | Path, notebook: str) -> Path:
    """Build the path under which a notebook is kept if one of its cells fails.

    The file exists only after a failure.

    Parameters
    ----------
    folder : path
        Results of a profile.
    notebook : str
        Name of the notebook.

    Returns
    -------
    Path
    """
    return Path(folder) / f"{notebook}{_FAILED}"


def remove_drafts(folder: str | Path, notebook: str) -> None:
    """Remove the unfinished notebook and results of an interrupted run.

    Parameters
    ----------
    folder : path
        Results of a profile.
    notebook : str
        Name of the notebook.
    """
    (Path(folder) / f"{notebook}.partial.ipynb").unlink(missing_ok=True)
    shutil.rmtree(Path(folder) / f"{notebook}.partial", ignore_errors=True)


def _skip_record_path(folder: str | Path, notebook: str) -> Path:
    """Return the path of the record that a notebook was skipped."""
    return Path(folder) / f"{notebook}{_SKIP_RECORD}"


def _describe_failed(file: Path) -> dict[str, str]:
    """Return the entry of a failed notebook in ``Manifests.failed``."""
    name = file.name.removesuffix(_FAILED)
    return {"notebook": name, "title": name, "message": f"executed until the failed cell: `{file.name}`"}


def _is_results_folder(folder: Path) -> bool:
    """Return True if a folder contains the finished results of a notebook."""
    result_files = (folder / "manifest.json", folder / f"{folder.name}.ipynb")
    return folder.suffix != ".partial" and any(file.is_file() for file in result_files)


def _read_manifest(folder: Path) -> dict:
    """Read the manifest in a notebook's folder."""
    manifest = json.loads(read_file(folder / "manifest.json"))
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise InputError("manifest.json was written by another version of cmlib")
    return manifest
