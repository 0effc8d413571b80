"""Read the manifests that a profile's notebooks have left in its folder, and notes on those left out.

A profile is a set of values for the parameters of all notebooks, and its results are one folder. A notebook's
manifest (``manifest.json``, a dict) lists its results, as :class:`cmlib.report.Results` writes it. Its keys: schema,
notebook, title, question, profile, origin ("" or a remark, such as that counts are simulated), figures, tables,
numbers and findings (lists of dicts), stopped (the reason why it stopped early, only if it did), data (list of dicts,
each a :class:`cmlib.io.provenance.Provenance`; figures, tables and numbers refer to their data by positions in this
list), absent_sets (public sets that it did not find) and versions (of libraries). Manifests that can't be read are
listed as damaged, without an error; a note that can't be read is a ValueError.
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

# The profile for a user's own programs, each of which has a folder of results.
BY_PROGRAM = "live"
# Version of manifests; results of another version have to be made again.
SCHEMA = 4

_NOTE = ".not_run.json"
_FAILED = ".failed.ipynb"


@dataclass(frozen=True)
class Manifests:
    """The results in a profile's folder, and notes on the notebooks without results.

    Attributes
    ----------
    sections : list of dict
        The manifests that can be shown, in order of their notebooks' names.
    left_out : list of dict
        Notebooks for which nothing is recorded: notebook (its name), title, message (the reason) and stored (address
        of the page with its stored results, "" if there is none).
    damaged : list of dict
        Results that can't be read: notebook, title and message.
    failed : list of dict
        Notebooks in which a cell raised an error: notebook, title and message.
    """

    sections: list
    left_out: list
    damaged: list
    failed: list


def results_subdir(profile, parameters):
    """Return the name of a profile's folder among all results.

    Parameters
    ----------
    profile : str
        Name of the profile, or path of a folder of parameters.
    parameters : dict
        Parameters of the run; in the profile ``live``, ``program`` is part of the name.

    Returns
    -------
    str
        Such as ``paper``, ``live/gcc``, ``live/bzip2,gcc`` or ``live/all``.
    """
    if profile != BY_PROGRAM:
        return Path(profile).resolve().name  # of a folder that is elsewhere, its name alone
    names = {make_file_name(name) for name in split_names(str(parameters.get("program", "all")))}
    return f"{profile}/{','.join(sorted(names))}"


def make_file_name(program: str) -> str:
    """Replace characters in a program's name, so that it is a single name of a file or folder and not a path."""
    return re.sub(r"^\.|[^\w.-]", "_", program)


def command_of(place: str) -> str:
    """Return the command line that makes the results in a folder.

    Parameters
    ----------
    place : str
        Name of the folder, such as ``paper`` or ``live/gcc``.

    Returns
    -------
    str
        A line for a shell.
    """
    profile, _, program = place.partition("/")
    return command_of_report(program, profile) if program else command_line("cmlib", "run", profile)


def read_manifests(folder: str | Path) -> Manifests:
    """Read the manifests of the notebooks in a profile's folder.

    Parameters
    ----------
    folder : path
        Results of a profile; it may be empty or missing.

    Returns
    -------
    Manifests
        All its lists are empty where there are no results.

    Raises
    ------
    ValueError
        If the note on a notebook that was left out can't be read.
    """
    folder = Path(folder)
    left_out = [json.loads(read_file(file)) for file in sorted(folder.glob(f"*{_NOTE}"))]
    with_page = find_notebooks_with_page(folder)
    for entry in left_out:
        entry["stored"] = page_address(entry["notebook"]) if entry["notebook"] in with_page else ""
    hidden = {entry["notebook"] for entry in left_out}
    command = command_of("/".join(folder.parts[-2:]) if folder.parent.name == BY_PROGRAM else folder.name)
    sections, damaged = [], []
    for place in sorted(filter(_is_results_folder, folder.glob("*/"))):
        try:
            if place.name not in hidden:
                sections.append(_read_manifest(place))
        except (OSError, ValueError) as error:
            message = f"its results can't be read ({error}); make them again: {command} {place.name}"
            damaged.append({"notebook": place.name, "title": place.name, "message": message})
    failed = [_describe_failed(file) for file in sorted(folder.glob(f"*{_FAILED}"))]
    return Manifests(sections, left_out, damaged, failed)


def record_skipped(folder, notebook, title, message):
    """Write a note that a notebook was left out because nothing is recorded for it.

    The notebook's next results remove the note.

    Parameters
    ----------
    folder : path
        Results of a profile.
    notebook : str
        Name of the notebook.
    title : str
        Its heading.
    message : str
        Why it was left out.
    """
    entry = {"notebook": notebook, "title": title, "message": message}
    write_whole(_note(folder, notebook), json.dumps(entry))


def remove_skip_record(folder, notebook):
    """Remove the note that a notebook was left out, if there is one.

    Parameters
    ----------
    folder : path
        Results of a profile.
    notebook : str
        Name of the notebook.
    """
    _note(folder, notebook).unlink(missing_ok=True)


def page_address(notebook):
    """Return the address of a notebook's page in a profile's folder.

    Parameters
    ----------
    notebook : str
        Name of the notebook.

    Returns
    -------
    str
        Relative to the folder.
    """
    return f"{notebook}/{notebook}.html"


def find_notebooks_with_page(folder):
    """List the notebooks that have a page.

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


def failed_notebook_path(folder, notebook):
    """Return the path at which a notebook with a failed cell is kept.

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


def remove_drafts(folder, notebook):
    """Remove the drafts of a notebook that did not end: NAME.partial.ipynb and the folder NAME.partial.

    Parameters
    ----------
    folder : path
        Results of a profile.
    notebook : str
        Name of the notebook.
    """
    (Path(folder) / f"{notebook}.partial.ipynb").unlink(missing_ok=True)
    shutil.rmtree(Path(folder) / f"{notebook}.partial", ignore_errors=True)


def _note(folder, notebook):
    """Return the path of the note that a notebook was left out."""
    return Path(folder) / f"{notebook}{_NOTE}"


def _describe_failed(file):
    """Return the entry (dict) of a notebook that failed; `file` is the Path of its unfinished notebook."""
    name = file.name.removesuffix(_FAILED)
    return {"notebook": name, "title": name, "message": f"as far as it came: `{file.name}`"}


def _is_results_folder(place):
    """Return True if a folder (Path) contains the finished results of a notebook."""
    result_files = (place / "manifest.json", place / f"{place.name}.ipynb")
    return place.suffix != ".partial" and any(file.is_file() for file in result_files)


def _read_manifest(place):
    """Read the manifest (dict) in a notebook's folder; ValueError if it is of another version."""
    manifest = json.loads(read_file(place / "manifest.json"))
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise InputError("manifest.json is of another version of cmlib")
    return manifest
