"""Which notebooks a profile runs, with which parameters; every name and value is checked before anything starts."""

import json
from dataclasses import dataclass
from pathlib import Path

from cmlib import places
from cmlib.report.parameter_file import read_parameters
from cmlib.report.parameters import check_parameters, declared_parameters, unknown_parameter


@dataclass(frozen=True)
class Job:
    """One notebook to run.

    Attributes
    ----------
    notebook : pathlib.Path
    given : dict of str to value
        Parameters that replace the notebook's own.
    declared : tuple of str
        Names of all parameters that it takes.
    """

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
        lines = (line for text in self._cells("markdown") for line in text.splitlines())
        return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), self.name)

    @property
    def reads_results(self):
        """Whether it reads what the other notebooks found, and so comes after them."""
        return any("read_results(" in source for source in self._cells("code"))

    @property
    def for_overview(self):
        """Whether it tells something for the report's first page."""
        return any("results.overview(" in source for source in self._cells("code"))

    def _cells(self, kind):
        cells = json.loads(self.notebook.read_text(encoding="utf-8"))["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def plan(profile, wanted=(), extra=None):
    """The notebooks of a profile, in order of their names.

    Parameters
    ----------
    profile : str
        A folder of `params`.
    wanted : sequence of str, optional
        Names such as ``02_cleaning`` or ``02``; empty means all of the profile.
    extra : dict, optional
        Values that replace those of the profile, in every notebook that declares them.

    Returns
    -------
    list of Job

    Raises
    ------
    ValueError
        If the profile, a notebook, a parameter's name or its value is unknown.
    """
    extra = extra or {}
    if "profile" in extra:
        raise ValueError(f"-p: the profile is the command's first argument, {profile!r}; leave it out here.")
    jobs = [_job(file, profile, extra) for file in _chosen(profile, wanted)]
    known = sorted({name for job in jobs for name in job.declared})
    for name in extra:
        if name not in known:
            raise ValueError(unknown_parameter(name, known, f"-p: profile {profile!r}"))
    return jobs


def _chosen(profile, wanted):
    folder = places.params_dir() / profile
    if not folder.is_dir():
        known = ", ".join(sorted(f.name for f in places.params_dir().iterdir() if f.is_dir()))
        raise ValueError(f"no profile {profile!r} under params; there are: {known}.")
    files = sorted(folder.glob("*.yaml"))
    for name in wanted:
        if not any(_is_called(file, name) for file in files):
            known = ", ".join(f.stem for f in files)
            raise ValueError(f"profile {profile!r} has no notebook {name!r}; it has {known}.")
    return [file for file in files if not wanted or any(_is_called(file, name) for name in wanted)]


def _is_called(file, name):
    return file.stem == name or file.stem.startswith(f"{name}_")


def _job(file, profile, extra):
    where = f"params/{profile}/{file.name}"
    notebook = places.notebooks_dir() / f"{file.stem}.ipynb"
    declared = declared_parameters(notebook)
    given = read_parameters(file)
    check_parameters(notebook, given, where)
    if given.get("results_folder"):
        raise ValueError(
            f"{where}: results_folder is one for all notebooks of a run; "
            f"give it with -p results_folder=…, or in the environment variable CMLIB_RESULTS."
        )
    here = {name: value for name, value in extra.items() if name in declared}
    check_parameters(notebook, here, "-p")
    fixed = {
        name: value for name, value in {"profile": profile, "results_folder": ""}.items() if name in declared
    }
    return Job(notebook, given | here | fixed, tuple(declared))
