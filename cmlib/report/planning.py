"""Plan the notebooks that a profile runs, and check their parameters.

:func:`plan` takes the name of a profile and returns a :class:`NotebookJob` for each notebook. A profile is a
folder of YAML files with parameter values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cmlib import places
from cmlib.errors import InputError
from cmlib.experiments.requested import resolve_names
from cmlib.io.store.raw import recorded_programs
from cmlib.report import parameters
from cmlib.report.manifests import BY_PROGRAM, results_subdir

# Profiles without a folder under params. Their notebooks use the default values.
_DEFAULTS = ("paper", BY_PROGRAM)


@dataclass(frozen=True)
class NotebookJob:
    """A notebook to run.

    Attributes
    ----------
    notebook : Path
        The .ipynb file.
    parameters : dict
        Parameter values that differ from the defaults, keyed by name.
    declared : tuple of str
        Names of all parameters.
    """

    notebook: Path
    parameters: dict
    declared: tuple

    @property
    def name(self) -> str:
        """File name of the notebook without suffix."""
        return self.notebook.stem

    @property
    def title(self) -> str:
        """First heading of the notebook."""
        return parameters.read_heading(self.notebook)[0]

    @property
    def reads_results(self) -> bool:
        """True if the notebook reads the results of other notebooks."""
        code = [cell["text"] for cell in parameters.read_cells(self.notebook) if cell["cell_type"] == "code"]
        return any("read_manifests(" in text for text in code)


def plan(profile: str, names: Sequence[str] = (), extra: dict | None = None) -> list[NotebookJob]:
    """Plan the notebooks that a profile runs.

    Parameters
    ----------
    profile : str
        Name of a folder under params, or path of a folder with files ``NOTEBOOK.yaml``.
    names : sequence of str
        Names of notebooks, or their beginnings. For example, "02". Empty for all notebooks.
    extra : dict, optional
        Parameter values for all notebooks, which replace the values in the profile. The parameter `profile` is
        not allowed.

    Returns
    -------
    list of NotebookJob
        Sorted by name. If a program is named in the profile ``live``, the list contains only notebooks with a
        parameter `program`, unless notebooks are named.

    Raises
    ------
    InputError
        If a profile, notebook or parameter is unknown, or a value is wrong.
    NothingRecordedError
        If a program of the profile ``live`` is not recorded.
    """
    extra = extra or {}
    if "profile" in extra:
        raise InputError(
            f"-p: the profile is already the first argument of the command, {profile!r}. Remove it."
        )
    chosen = _choose(profile, names)
    jobs = [_make_job(name, file, profile, extra) for name, file in chosen.items()]
    declared = sorted({name for job in jobs for name in job.declared})
    for name in extra:
        if name not in declared:
            raise InputError(parameters.describe_unknown(name, declared, f"-p: profile {profile!r}"))
    jobs_by_program = [job for job in jobs if {"program", "database"} <= set(job.declared)]
    if profile != BY_PROGRAM or not jobs_by_program:
        return jobs
    program = extra.get("program", "all")
    todo = "Add one with `cmlib record NAME -- COMMAND` or `cmlib import NAME FILE…`."
    resolve_names(program, recorded_programs(), about="the programs recorded", todo=todo)
    return jobs if names or program == "all" else jobs_by_program


def _choose(profile: str, names: Sequence[str]) -> dict[str, Path | None]:
    """Choose the notebooks to run, and return the YAML file of each or None, keyed by name."""
    files = {file.stem: file for file in (places.params_dir() / profile).glob("*.yaml")}
    profiles = sorted({*_DEFAULTS, *(file.parent.name for file in places.params_dir().glob("*/*.yaml"))})
    if profile not in profiles and not files:
        raise InputError(
            f"no profile {profile!r}. Give the name of a folder under params ({', '.join(profiles)}), or the path of "
            "a folder with such files NOTEBOOK.yaml."
        )
    if profile not in profiles and results_subdir(profile, {}) in profiles:
        raise InputError(
            f"{profile} has the same name as a profile under params and would replace its results."
        )
    notebooks = list(places.notebook_files())
    matches = {name: [stem for stem in notebooks if f"{stem}_".startswith(f"{name}_")] for name in names}
    unknown = [*(files.keys() - notebooks), *(name for name, stems in matches.items() if not stems)]
    if unknown:
        raise InputError(
            f"profile {profile!r} has no notebook {unknown[0]!r}. It has {', '.join(notebooks)}."
        )
    chosen = {stem for stems in matches.values() for stem in stems}
    return {name: files.get(name) for name in notebooks if not names or name in chosen}


def _make_job(name: str, file: Path | None, profile: str, extra: dict) -> NotebookJob:
    """Make the job of a notebook from its YAML file, and check its values."""
    parameters_file = f"params/{profile}/{name}.yaml"
    notebook = places.notebook_files()[name]
    declared = parameters.declared_parameters(notebook)
    profile_values = {} if file is None else parameters.read_parameters(file)
    parameters.check_parameters(notebook, profile_values, parameters_file)
    if profile_values.get("results_folder"):
        raise InputError(
            f"{parameters_file}: results_folder is the same for all notebooks of a run. Give it with "
            "-p results_folder=…, or in the environment variable CMLIB_RESULTS."
        )
    extra_values = {name: value for name, value in extra.items() if name in declared}
    parameters.check_parameters(notebook, extra_values, "-p")
    values: dict[str, object] = {"interactive": False}  # nobody can use widgets in a run
    values |= profile_values | extra_values
    values |= {
        "profile": results_subdir(profile, extra),
        "results_folder": "",
    }  # one folder for the whole run
    declared_values = {name: value for name, value in values.items() if name in declared}
    return NotebookJob(notebook, declared_values, tuple(declared))
