"""Plan the notebooks that a profile runs and their parameters; all are checked before the first notebook starts.

A profile is a folder of YAML files with notebooks' parameters. :func:`plan` takes its name and returns a
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
from cmlib.report.manifests import BY_PROGRAM, results_subdir

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
        Values of parameters by name; other parameters keep their defaults.
    declared : tuple of str
        Names of all its parameters.
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
        """True if it reads the results of other notebooks, so that it must run after them."""
        code = [cell["text"] for cell in parameters.read_cells(self.notebook) if cell["cell_type"] == "code"]
        return any("read_manifests(" in text for text in code)


def plan(profile, wanted=(), extra=None):
    """Return the notebooks that a profile runs, sorted by name.

    Parameters
    ----------
    profile : str
        Name of a folder under params, or path of a folder of files ``NOTEBOOK.yaml`` with lines ``name: value``.
    wanted : sequence of str
        Names of notebooks, or their beginnings, such as "02"; empty for all.
    extra : dict, optional
        Values (Python's, such as True, not text) that replace the profile's in every notebook that has such a
        parameter. In the jobs, results_folder is always "", because a run has one folder. The parameter profile is an
        error.

    Returns
    -------
    list of NotebookJob
        In profile ``live``, if the parameter program is set and no notebook is named, only notebooks that can run for
        any recorded program.

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
    jobs = [_make_job(name, file, profile, extra) for name, file in _choose(profile, wanted).items()]
    declared = sorted({name for job in jobs for name in job.declared})
    for name in extra:
        if name not in declared:
            raise InputError(parameters.describe_unknown(name, declared, f"-p: profile {profile!r}"))
    jobs_by_program = [job for job in jobs if {"program", "database"} <= set(job.declared)]
    if profile != BY_PROGRAM or not jobs_by_program:
        return jobs
    program = extra.get("program", "all")
    todo = "`cmlib record NAME -- COMMAND` and `cmlib import NAME FILE…` bring one in."
    resolve_names(program, recorded_programs(), about="the programs recorded", todo=todo)
    return jobs if wanted or program == "all" else jobs_by_program


def _choose(profile, wanted):
    """Choose the notebooks to run: a dict from name to YAML file of parameters, None where the profile has none."""
    files = {file.stem: file for file in (places.params_dir() / profile).glob("*.yaml")}
    profiles = sorted({*_DEFAULTS, *(file.parent.name for file in places.params_dir().glob("*/*.yaml"))})
    if profile not in profiles and not files:
        raise InputError(
            f"no profile {profile!r}: give the name of a folder under params ({', '.join(profiles)}), or the path of "
            "a folder with files NOTEBOOK.yaml like those."
        )
    if profile not in profiles and results_subdir(profile, {}) in profiles:
        raise InputError(f"{profile} has the name of a profile under params, whose results it would replace.")
    names = list(places.notebook_files())
    matches = {name: [stem for stem in names if f"{stem}_".startswith(f"{name}_")] for name in wanted}
    unknown = [*(files.keys() - names), *(name for name, stems in matches.items() if not stems)]
    if unknown:
        raise InputError(f"profile {profile!r} has no notebook {unknown[0]!r}; it has {', '.join(names)}.")
    chosen = {stem for stems in matches.values() for stem in stems}
    return {name: files.get(name) for name in names if not wanted or name in chosen}


def _make_job(name, file, profile, extra):
    """Make the NotebookJob of the notebook `name` and check its values; `file` is its YAML file (path) or None."""
    parameters_file = f"params/{profile}/{name}.yaml"
    notebook = places.notebook_files()[name]
    declared = parameters.declared_parameters(notebook)
    profile_values = {} if file is None else parameters.read_parameters(file)
    parameters.check_parameters(notebook, profile_values, parameters_file)
    if profile_values.get("results_folder"):
        raise InputError(
            f"{parameters_file}: results_folder is the same for all notebooks of a run; give it with "
            "-p results_folder=…, or in the environment variable CMLIB_RESULTS."
        )
    extra_values = {name: value for name, value in extra.items() if name in declared}
    parameters.check_parameters(notebook, extra_values, "-p")
    values = {"interactive": False}  # no widgets, because nobody can use them
    values |= profile_values | extra_values
    values |= {
        "profile": results_subdir(profile, extra),
        "results_folder": "",
    }  # one folder for the whole run
    declared_values = {name: value for name, value in values.items() if name in declared}
    return NotebookJob(notebook, declared_values, tuple(declared))
