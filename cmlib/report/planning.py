"""Plan which notebooks a profile runs, with which parameters; all is checked before the first one starts.

A profile is a folder of YAML files with notebooks' parameters. :func:`plan` takes its name and gives a
:class:`NotebookJob` for each notebook. ValueError for an unknown profile, notebook or parameter, or a value of
another type or out of limits; NothingRecordedError for a program that is not recorded.
"""

from dataclasses import dataclass
from pathlib import Path

from cmlib import places
from cmlib.errors import InputError
from cmlib.experiments.requested import resolve_names
from cmlib.io.store.raw import recorded_programs
from cmlib.report import parameters
from cmlib.report.manifests import BY_PROGRAM, place_of

# Profiles that need no folder under params: without a file there a notebook keeps its defaults.
_DEFAULTS = ("paper", BY_PROGRAM)


@dataclass(frozen=True)
class NotebookJob:
    """One notebook to run.

    Attributes
    ----------
    notebook : Path
        Its .ipynb file.
    parameters : dict
        Values that it gets, by name; other parameters keep their defaults.
    declared : tuple of str
        Names of all parameters that it has.
    """

    notebook: Path
    parameters: dict
    declared: tuple

    @property
    def name(self):
        """The notebook's name (str), such as ``02_cleaning``."""
        return self.notebook.stem

    @property
    def title(self):
        """The notebook's first heading (str)."""
        return parameters.read_heading(self.notebook)[0]

    @property
    def reads_results(self):
        """True if it reads the results of other notebooks, and so has to run after them."""
        code = [cell["text"] for cell in parameters.read_cells(self.notebook) if cell["cell_type"] == "code"]
        return any("read_manifests(" in text for text in code)


def plan(profile, wanted=(), extra=None):
    """Return the notebooks that a profile runs, sorted by name.

    Parameters
    ----------
    profile : str
        Name of a folder under params, or path of a folder of files ``NOTEBOOK.yaml`` with lines ``name: value``.
    wanted : sequence of str
        Names of notebooks, or how they begin, such as "02"; empty for all.
    extra : dict, optional
        Values (Python's, such as True, not text) that replace the profile's in every notebook that has such a
        parameter; but results_folder is always "" in the jobs, as a run has one folder, and profile is refused.

    Returns
    -------
    list of NotebookJob
        In profile ``live`` with the parameter program set and no notebook named, only those that can be run for any
        recorded program.

    Raises
    ------
    ValueError
        If a profile, notebook or parameter is unknown, or a value is of another type or out of limits.
    NothingRecordedError
        If a program of profile ``live`` is not recorded.
    """
    extra = extra or {}
    if "profile" in extra:
        raise InputError(f"-p: the profile is the command's first argument, {profile!r}; leave it out here.")
    jobs = [_job(name, file, profile, extra) for name, file in _chosen(profile, wanted).items()]
    known = sorted({name for job in jobs for name in job.declared})
    for name in extra:
        if name not in known:
            raise InputError(parameters.unknown_parameter(name, known, f"-p: profile {profile!r}"))
    of_any = [job for job in jobs if {"program", "database"} <= set(job.declared)]
    if profile != BY_PROGRAM or not of_any:
        return jobs
    program = extra.get("program", "all")
    todo = "`cmlib record NAME -- COMMAND` and `cmlib import NAME FILE…` bring one in."
    resolve_names(program, recorded_programs(), about="the programs recorded", todo=todo)
    return jobs if wanted or program == "all" else of_any


def _chosen(profile, wanted):
    """Choose the notebooks to run: a dict from name to YAML file of parameters, None where the profile has none."""
    files = {file.stem: file for file in (places.params_dir() / profile).glob("*.yaml")}
    known = sorted({*_DEFAULTS, *(file.parent.name for file in places.params_dir().glob("*/*.yaml"))})
    if profile not in known and not files:
        raise InputError(
            f"no profile {profile!r}: give the name of a folder under params ({', '.join(known)}), or the path of "
            "a folder with files NOTEBOOK.yaml like those."
        )
    if profile not in known and place_of(profile, {}) in known:
        raise InputError(f"{profile} has the name of a profile under params, whose results it would replace.")
    names = list(places.notebook_files())
    called = {name: [stem for stem in names if f"{stem}_".startswith(f"{name}_")] for name in wanted}
    for name in [*(files.keys() - names), *(name for name, stems in called.items() if not stems)]:
        raise InputError(f"profile {profile!r} has no notebook {name!r}; it has {', '.join(names)}.")
    asked = {stem for stems in called.values() for stem in stems}
    return {name: files.get(name) for name in names if not wanted or name in asked}


def _job(name, file, profile, extra):
    """Make the NotebookJob of the notebook `name` and check its values; `file` is its YAML file (path) or None."""
    where = f"params/{profile}/{name}.yaml"
    notebook = places.notebook_files()[name]
    declared = parameters.declared_parameters(notebook)
    of_profile = {} if file is None else parameters.read_parameters(file)
    parameters.check_parameters(notebook, of_profile, where)
    if of_profile.get("results_folder"):
        raise InputError(
            f"{where}: results_folder is the same for all notebooks of a run; give it with -p results_folder=…, or "
            "in the environment variable CMLIB_RESULTS."
        )
    here = {name: value for name, value in extra.items() if name in declared}
    parameters.check_parameters(notebook, here, "-p")
    # No widgets, as nobody can turn them, and one folder for the whole run.
    place = {"profile": place_of(profile, extra), "results_folder": ""}
    usual = {"interactive": False} | of_profile | here | place
    chosen = {name: value for name, value in usual.items() if name in declared}
    return NotebookJob(notebook, chosen, tuple(declared))
