"""Read the results that the notebooks of a profile have left in its folder."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from cmlib.experiments.requested import split_names
from cmlib.io.archive import write_whole
from cmlib.shell import command_line, command_of_report

# The profile of one's own programs, whose results have a folder each.
BY_PROGRAM = "live"
# Changes with what a manifest holds; results of another one are made again.
SCHEMA = 4

_NOTE = ".not_run.json"
_FAILED = ".failed.ipynb"


@dataclass(frozen=True)
class Manifests:
    """The results in a profile's folder."""

    sections: list
    left_out: list
    damaged: list
    failed: list


def place_of(profile, parameters):
    """A profile's folder among all results: ``paper``; ``live/gcc``, ``live/bzip2,gcc`` or ``live/all``."""
    if profile != BY_PROGRAM:
        return Path(profile).resolve().name  # of a folder that is elsewhere, its name alone
    # What is not recorded may be any text, and leads nowhere else.
    names = {re.sub(r"^\.|[^\w.-]", "_", name) for name in split_names(str(parameters.get("program", "all")))}
    return f"{profile}/{','.join(sorted(names))}"


def command_of(place):
    """The command that makes the results in a folder that :func:`place_of` names."""
    profile, _, program = place.partition("/")
    return command_of_report(program, profile) if program else command_line("cmlib", "run", profile)


def read_manifests(folder):
    """Read what the notebooks of a profile have left."""
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
    """Note that a notebook found nothing recorded; its next results take the note away."""
    entry = {"notebook": notebook, "title": title, "message": message, "for_overview": for_overview}
    write_whole(_note(folder, notebook), json.dumps(entry))


def remove_note(folder, notebook):
    """Take away the note that a notebook was left out, if there is one."""
    _note(folder, notebook).unlink(missing_ok=True)


def failed_notebook(folder, notebook):
    """Where a notebook is kept as far as it came, if a cell of it failed."""
    return Path(folder) / f"{notebook}{_FAILED}"


def remove_drafts(folder, notebook):
    """Remove what a notebook that did not end has left."""
    (Path(folder) / f"{notebook}.partial.ipynb").unlink(missing_ok=True)
    shutil.rmtree(Path(folder) / f"{notebook}.partial", ignore_errors=True)


def _note(folder, notebook):
    return Path(folder) / f"{notebook}{_NOTE}"


def _failed(file):
    name = file.name.removesuffix(_FAILED)
    return {"notebook": name, "title": name, "message": f"as far as it came: `{file.name}`"}


def _holds_results(place):
    """Whether a folder is a notebook's: not one half written, and not one of something else."""
    made = (place / "manifest.json", place / f"{place.name}.ipynb")
    return place.suffix != ".partial" and any(file.is_file() for file in made)


def _read(place):
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise ValueError("manifest.json is of another version of cmlib")
    return manifest
