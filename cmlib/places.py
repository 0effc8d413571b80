"""Folders of data, results and the package's files: in a checkout, or of an installed wheel.

Functions named ``…_dir`` return an absolute Path (:func:`external_data_dir` may give None), and don't check whether
the folder is there. CMLIB_DATA and CMLIB_RESULTS in the environment name other folders of recordings and results,
CMLIB_PUBLIC one to search for public recordings; the other folders can't be moved. :func:`export_environment` and
:func:`compiling` set variables during a ``with`` block.
"""

import contextlib
import os
import tempfile
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent
_WHEEL = _PACKAGE / "_shipped"
_IN_CHECKOUT = not _WHEEL.is_dir() and (_CHECKOUT / "pyproject.toml").is_file()


def data_dir():
    """Folder (Path) that holds `recordings/` and `results/`.

    It is CMLIB_DATA if that is set, else ``data`` in the checkout, or of an installed wheel in the working folder.
    """
    return _chosen("CMLIB_DATA") or (_CHECKOUT if _IN_CHECKOUT else Path.cwd()) / "data"


def recordings_dir():
    """Folder (Path) of the raw recordings, one sub-folder a program; those of a wheel are in :func:`examples_dir`."""
    return data_dir() / "recordings"


def results_dir():
    """Folder (Path) of all made from recordings (store, figures, tables, report): CMLIB_RESULTS, or in data_dir()."""
    return _chosen("CMLIB_RESULTS") or data_dir() / "results"


def events_dir():
    """Folder (Path) of the event tables, one CSV a microarchitecture."""
    return _shipped("data/events", "events")


def papers_dir():
    """Folder (Path) of what the papers print, one YAML a paper."""
    return _shipped("data/papers", "papers")


def cost_dir():
    """Folder (Path) of tables on how much fewer misses changed run times, by which the costs of misses are learned."""
    return _shipped("data/cost", "cost")


def programs_dir():
    """Folder (Path) of the tables (CSV and YAML) that describe the recorded programs."""
    return _shipped("data/programs", "programs")


def topdown_dir():
    """Folder (Path) of the tables of top-down categories, one YAML a microarchitecture."""
    return _shipped("data/topdown", "topdown")


def processors_dir():
    """Folder (Path) of what vendors publish about their processors, one file a microarchitecture."""
    return _shipped("data/processors", "processors")


def public_dir():
    """Folder (Path) of the list of public recordings, and of those that are shipped."""
    return _shipped("data/public", "public")


def examples_dir():
    """Folder (Path) of the recordings that are shipped as examples."""
    return _shipped("data/recordings", "recordings")


def external_data_dir():
    """Folder (Path) that is searched for public recordings: ``$CMLIB_PUBLIC``, or None if it is not set."""
    return _chosen("CMLIB_PUBLIC")


def notebooks_dir():
    """Folder (Path) of the notebooks."""
    return _shipped("notebooks", "notebooks")


def params_dir():
    """Folder (Path) of the notebooks' parameter files, one sub-folder a profile (such as ``smoke``)."""
    return _shipped("params", "params")


@contextlib.contextmanager
def export_environment(results, **more):
    """During a ``with`` block, set variables so that child processes find the same data and write to `results`.

    `results` is a folder (path); `more` are further variables, by name (str). They are restored at the end.
    """
    variables = {
        "PYTHONSAFEPATH": "1",
        "CMLIB_DATA": str(data_dir().absolute()),
        "CMLIB_RESULTS": str(Path(results).absolute()),
    } | more
    if elsewhere := external_data_dir():
        variables["CMLIB_PUBLIC"] = str(elsewhere)
    with compiling(results), _environment(variables):
        yield


@contextlib.contextmanager
def compiling(results=None):
    """During a ``with`` block, let Numba keep compiled code.

    It does so beside cmlib or in the user's home; where it can't, in the folder `results` (path, by default that of
    all results), or in a temporary one.
    """
    home = os.path.expanduser("~")  # unchanged, and so not writable, if the user has no home
    if "NUMBA_CACHE_DIR" in os.environ or any(map(_writable, (_PACKAGE, home))):
        yield
        return
    with contextlib.ExitStack() as stack:
        folder = Path(results or results_dir()).absolute() / ".numba"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cmlib-"))
        stack.enter_context(_environment({"NUMBA_CACHE_DIR": str(folder)}))
        yield


@contextlib.contextmanager
def _environment(variables):
    """During a ``with`` block, set environment variables."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _writable(folder):
    """True if this user may write to a folder."""
    return os.access(folder, os.W_OK)


def _chosen(variable):
    """The folder that an environment variable names, as an absolute Path; None if it is not set."""
    chosen = os.environ.get(variable)
    return Path(chosen).absolute() if chosen else None


def _shipped(in_checkout, in_wheel):
    """A folder of the checkout or, from a wheel, of the package."""
    return _CHECKOUT / in_checkout if _IN_CHECKOUT else _WHEEL / in_wheel
