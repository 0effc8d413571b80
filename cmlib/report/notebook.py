"""How every notebook begins: its results, its workers and its store, as its settings have them."""

from dataclasses import dataclass
from functools import cached_property

from cmlib import places, processors, topdown
from cmlib.parallel import Workers
from cmlib.report import Results, check_parameters, declared_parameters
from cmlib.report.manifests import BY_PROGRAM
from cmlib.report.parameters import SETTINGS, SHARED, read_heading


@dataclass(frozen=True)
class Notebook:
    """What a notebook works with."""

    results: Results
    workers: Workers
    settings: dict

    @property
    def of_program(self):
        """Whether it runs for the report of one's own programs, which is about nothing else."""
        return self.settings["profile"].split("/")[0] == BY_PROGRAM

    @property
    def interactive(self):
        """Whether its widgets are to be shown, and not a figure in their place."""
        return self.settings["interactive"]

    @property
    def processor(self):
        """Name of the processor of which somebody said that the recordings are; empty where nobody did."""
        told = self.settings["processor"]
        return told and processors.find(told, topdown.known_costs())

    @cached_property
    def database(self):
        """URL of the store (:func:`cmlib.experiments.open_database`), made anew where recordings have changed."""
        from cmlib.io import store

        return store.refresh(None, self.settings["database"])


def begin(name, names):
    """Begin a notebook: ``notebook = begin("03_ranking", globals())``.

    Its title and its question are read from its first cell.

    Parameters
    ----------
    name : str
        Of its file under `notebooks`, without suffix.
    names : mapping of str to object
        Its ``globals()``. The settings are taken from ``settings``, which `cmlib run -p jobs=8` fills, and those
        given a value by themselves, as by ``papermill -p jobs 8``, from there.

    Returns
    -------
    Notebook

    Raises
    ------
    ValueError
        If there is no such notebook, a parameter has a wrong value, or a setting an unknown name or a wrong value.
    """
    file = places.notebooks_dir() / f"{name}.ipynb"
    title, question = read_heading(file)
    declared = declared_parameters(file).keys() & names.keys()
    check_parameters(
        file, {name: names[name] for name in declared - SHARED.keys() - {SETTINGS}}, "parameters"
    )
    given = dict(names.get(SETTINGS) or {}) | {name: names[name] for name in declared & SHARED.keys()}
    check_parameters(file, given, SETTINGS)
    settings = {name: default for name, (default, _) in SHARED.items()} | given
    workers = Workers(settings["jobs"], settings["executor"], settings["scheduler"])
    where = {"profile": settings["profile"], "folder": settings["results_folder"] or None}
    return Notebook(Results(name, title=title, question=question, **where), workers, settings)
