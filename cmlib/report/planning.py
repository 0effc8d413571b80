"""Which notebooks a profile runs, with which parameters; every name and value is checked before anything starts."""

import difflib
import json
from dataclasses import dataclass
from pathlib import Path

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.experiments.requested import split_names
from cmlib.io.store.raw import recorded_programs
from cmlib.report.manifests import BY_PROGRAM, place_of
from cmlib.report.parameters import (
    check_parameters,
    declared_parameters,
    read_heading,
    read_parameters,
    shown,
    unknown_parameter,
)

# Profiles in which notebooks keep their own defaults, unless a folder under params says otherwise.
_DEFAULTS = ("paper", "live")
_MOST_SHOWN = 8


@dataclass(frozen=True)
class Job:
    """One notebook to run."""

    notebook: Path
    given: dict
    declared: tuple

    @property
    def name(self):
        """Such as ``02_cleaning``."""
        return self.notebook.stem

    @property
    def title(self):
        """The notebook's first heading."""
        return read_heading(self.notebook)[0]

    @property
    def reads_results(self):
        """Whether it reads what the other notebooks found, and so comes after them."""
        return any("read_results(" in source for source in self._code())

    @property
    def reads_store(self):
        """Whether it is about any program that is recorded."""
        return {"program", "database"} <= set(self.declared)

    @property
    def for_overview(self):
        """Whether it tells something for the report's first page."""
        return any("results.overview(" in source for source in self._code())

    def _code(self):
        cells = json.loads(self.notebook.read_text(encoding="utf-8"))["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def plan(profile, wanted=(), extra=None):
    """The notebooks of a profile, in order of their names; for the report of some programs those that are about any."""
    extra = extra or {}
    if "profile" in extra:
        raise ValueError(f"-p: the profile is the command's first argument, {profile!r}; leave it out here.")
    jobs = [_job(name, file, profile, extra) for name, file in _chosen(profile, wanted).items()]
    _check_recorded(jobs, profile, extra)
    known = sorted({name for job in jobs for name in job.declared})
    for name in extra:
        if name not in known:
            raise ValueError(unknown_parameter(name, known, f"-p: profile {profile!r}"))
    of_some = profile == BY_PROGRAM and not wanted and split_names(extra.get("program", "all")) != ["all"]
    return [job for job in jobs if job.reads_store] if of_some else jobs


def _check_recorded(jobs, profile, extra):
    """Raise ValueError if notebooks that read the store are asked, under `live`, for a program that is not
    recorded."""
    if profile != BY_PROGRAM or not any(job.reads_store for job in jobs):
        return
    recorded, names = recorded_programs(), split_names(extra.get("program", "all"))
    if not names:
        raise ValueError("-p: program is empty; write all, or names separated by commas.")
    for name in names if names != ["all"] else ():
        if name in recorded:
            continue
        near = difflib.get_close_matches(name, recorded, n=1)
        known = f"did you mean {near[0]}?" if near else f"there are {_some(recorded)}."
        raise NothingRecordedError(
            f"nothing is recorded of a program {shown(name)}; {known} `cmlib record NAME -- COMMAND` and "
            "`cmlib import NAME FILE…` bring one in."
        )


def _some(names):
    shortened = [*names[:_MOST_SHOWN], "…"] if len(names) > _MOST_SHOWN else names
    return ", ".join(shortened) or "none"


def _chosen(profile, wanted):
    """The notebooks to run, by name, each with its file of parameters, or None where the profile has none."""
    folder = places.params_dir() / profile
    files = {file.stem: file for file in folder.glob("*.yaml")}
    known = sorted({*_DEFAULTS, *(file.parent.name for file in places.params_dir().glob("*/*.yaml"))})
    if profile not in known and not files:
        raise ValueError(
            f"no profile {profile!r}: it is the name of a folder under params ({', '.join(known)}), or a folder that "
            "holds parameters as these do, NOTEBOOK.yaml."
        )
    if profile not in known and place_of(profile, {}) in known:
        raise ValueError(f"{profile} has the name of a profile under params, whose results it would replace.")
    names = sorted(file.stem for file in places.notebooks_dir().glob("[0-9]*_*.ipynb"))
    for stem in files:
        if stem not in names:
            raise ValueError(f"params/{profile}/{stem}.yaml is of no notebook: there are {', '.join(names)}.")
    for name in wanted:
        if not any(_is_called(stem, name) for stem in names):
            raise ValueError(f"profile {profile!r} has no notebook {name!r}; it has {', '.join(names)}.")
    chosen = [stem for stem in names if not wanted or any(_is_called(stem, name) for name in wanted)]
    return {stem: files.get(stem) for stem in chosen}


def _is_called(stem, name):
    return stem == name or stem.startswith(f"{name}_")


def _job(name, file, profile, extra):
    where = f"params/{profile}/{name}.yaml"
    notebook = places.notebooks_dir() / f"{name}.ipynb"
    declared = declared_parameters(notebook)
    given = {} if file is None else read_parameters(file)
    check_parameters(notebook, given, where)
    if given.get("results_folder"):
        raise ValueError(
            f"{where}: results_folder is one for all notebooks of a run; "
            f"give it with -p results_folder=…, or in the environment variable CMLIB_RESULTS."
        )
    here = {name: value for name, value in extra.items() if name in declared}
    check_parameters(notebook, here, "-p")
    # Nobody is there to turn widgets; and one run has one folder.
    place = {"profile": place_of(profile, extra), "results_folder": ""}
    usual = {"interactive": False} | given | here | place
    return Job(notebook, {name: value for name, value in usual.items() if name in declared}, tuple(declared))
