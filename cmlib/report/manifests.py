"""Read the manifests that a profile's notebooks have left in its folder, and notes on those left out.

A manifest (JSON) is the list of a notebook's results: figures, tables, numbers and sentences, as
:class:`cmlib.report.Results` writes it. A profile is a set of values for the parameters of all notebooks.
"""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from cmlib.experiments.requested import split_names
from cmlib.io.archive import write_whole
from cmlib.shell import command_line, command_of_report

# The profile for a user's own programs, each of which has a folder of results.
BY_PROGRAM = "live"
# Version of manifests; results of another version have to be made again.
SCHEMA = 4

_NOTE = ".not_run.json"
_FAILED = ".failed.ipynb"


@dataclass(frozen=True)
class Manifests:
    """The results in a profile's folder, and what there is of notebooks without results.

    `sections` are the manifests (dicts) that can be shown. The others are lists of dicts with the keys notebook (name),
    title and message: `left_out` of notebooks for which nothing is recorded (also with the key for_overview, see
    :func:`note_left_out`), `damaged` of results that can't be read, `failed` of notebooks in which a cell raised an
    error.
    """

    sections: list
    left_out: list
    damaged: list
    failed: list


def place_of(profile, parameters):
    """A profile's folder among all results (str): ``paper``, or ``live/gcc``, ``live/bzip2,gcc``, ``live/all``.

    `profile` is its name, or a path of parameters. `parameters` (dict) tell the program of a live report.
    """
    if profile != BY_PROGRAM:
        return Path(profile).resolve().name  # of a folder that is elsewhere, its name alone
    # A name that is not recorded may be any text: it must not lead out of the folder.
    names = {re.sub(r"^\.|[^\w.-]", "_", name) for name in split_names(str(parameters.get("program", "all")))}
    return f"{profile}/{','.join(sorted(names))}"


def command_of(place):
    """The command line (str) that makes the results in a folder; `place` is as :func:`place_of` names it."""
    profile, _, program = place.partition("/")
    return command_of_report(program, profile) if program else command_line("cmlib", "run", profile)


def read_manifests(folder):
    """Manifests of the notebooks in a profile's folder (path); all lists are empty where there is nothing."""
    folder = Path(folder)
    left_out = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob(f"*{_NOTE}"))]
    hidden = {entry["notebook"] for entry in left_out}
    command = command_of("/".join(folder.parts[-2:]) if folder.parent.name == BY_PROGRAM else folder.name)
    sections, damaged = [], []
    for place in sorted(filter(_holds_results, folder.glob("*/"))):
        try:
            if place.name not in hidden:
                sections.append(_read(place))
        except (OSError, ValueError) as error:
            message = f"its results can't be read ({error}); make them again: {command} {place.name}"
            damaged.append({"notebook": place.name, "title": place.name, "message": message})
    failed = [_failed(file) for file in sorted(folder.glob(f"*{_FAILED}"))]
    return Manifests(sections, left_out, damaged, failed)


def note_left_out(folder, notebook, title, message, *, for_overview=False):
    """Note that a notebook was left out, as nothing is recorded for it; its next results remove the note.

    `folder` (path) is that of the profile's results, `notebook` and `title` are str, `message` says why;
    `for_overview`: whether the report's first page lacks something by it.
    """
    entry = {"notebook": notebook, "title": title, "message": message, "for_overview": for_overview}
    write_whole(_note(folder, notebook), json.dumps(entry))


def remove_note(folder, notebook):
    """Remove the note that a notebook (name) was left out, if there is one in the profile's folder (path)."""
    _note(folder, notebook).unlink(missing_ok=True)


def failed_notebook(folder, notebook):
    """Path at which a notebook (name) whose cell failed is kept as far as it came, in a profile's folder (path)."""
    return Path(folder) / f"{notebook}{_FAILED}"


def remove_drafts(folder, notebook):
    """Remove what a notebook (name) that did not end has left in a profile's folder (path): its copy and half its
    results.
    """
    (Path(folder) / f"{notebook}.partial.ipynb").unlink(missing_ok=True)
    shutil.rmtree(Path(folder) / f"{notebook}.partial", ignore_errors=True)


def _note(folder, notebook):
    return Path(folder) / f"{notebook}{_NOTE}"


def _failed(file):
    name = file.name.removesuffix(_FAILED)
    return {"notebook": name, "title": name, "message": f"as far as it came: `{file.name}`"}


def _holds_results(place):
    """Whether a folder holds the results of a notebook, and not half of them or something else."""
    made = (place / "manifest.json", place / f"{place.name}.ipynb")
    return place.suffix != ".partial" and any(file.is_file() for file in made)


def _read(place):
    """The manifest (dict) in a notebook's folder; ValueError if it is of another version."""
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise ValueError("manifest.json is of another version of cmlib")
    return manifest
