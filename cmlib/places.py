"""Find the folders of data, results and the package's files: in a checkout, or of an installed wheel.

Functions named ``…_dir``, and :func:`shipped`, return an absolute Path (:func:`external_data_dir` may return None).
They do not check whether the folder exists. In the environment, CMLIB_DATA and CMLIB_RESULTS name other folders of
recordings and results, and CMLIB_PUBLIC one that is searched for public recordings. The other folders can't be
moved. :func:`export_environment` and :func:`compiling` set variables during a ``with`` block.
"""

import contextlib
import functools
import os
from pathlib import Path

import yaml

from cmlib.scratch import scratch_folder

__all__ = ["data_dir", "external_data_dir", "recordings_dir", "results_dir", "shipped"]

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent
_WHEEL = _PACKAGE / "_shipped"
_IN_CHECKOUT = not _WHEEL.is_dir() and (_CHECKOUT / "pyproject.toml").is_file()
_HOME = _CHECKOUT if _IN_CHECKOUT else _WHEEL


def data_dir() -> Path:
    """Return the folder that holds `recordings/` and `results/`.

    Returns
    -------
    pathlib.Path
        CMLIB_DATA if that is set; else ``data`` in the checkout, or, for an installed wheel, in the working folder.
    """
    return _read_folder("CMLIB_DATA") or (_CHECKOUT if _IN_CHECKOUT else Path.cwd()) / "data"


def recordings_dir() -> Path:
    """Return the folder of the raw recordings.

    Returns
    -------
    pathlib.Path
        It has a folder for each program. A wheel's recordings are in ``shipped("recordings")``.
    """
    return data_dir() / "recordings"


def results_dir() -> Path:
    """Return the folder of everything that is made from recordings: store, figures, tables and pages.

    Returns
    -------
    pathlib.Path
        CMLIB_RESULTS if that is set, else ``results`` in :func:`data_dir`.
    """
    return _read_folder("CMLIB_RESULTS") or data_dir() / "results"


def shipped(name: str) -> Path:
    """Return a folder of data that come with cmlib.

    Parameters
    ----------
    name : str
        Name under ``data``: events (tables of events, one CSV per microarchitecture), topdown (tables of categories),
        processors (what vendors publish), fingerprint (a trained tree), cost (measured effects of fewer misses),
        papers (numbers in them), programs (tables of the recorded programs), colocated (tables of programs beside
        neighbors), public (list of public recordings, and those that are shipped) or recordings (examples).

    Returns
    -------
    pathlib.Path
        The folder, in the checkout or in the installed package.
    """
    return (_HOME / "data" if _IN_CHECKOUT else _HOME) / name


def external_data_dir() -> Path | None:
    """Return the folder that is searched for public recordings.

    Returns
    -------
    pathlib.Path or None
        CMLIB_PUBLIC, None if that is not set.
    """
    return _read_folder("CMLIB_PUBLIC")


def notebooks_dir():
    """Return the folder (Path) of the notebooks."""
    return _HOME / "notebooks"


def docs_dir():
    """Return the folder (Path) of the documents; an installed wheel has none."""
    return _HOME / "docs"


def notebook_files():
    """List the notebooks' files (dict of name to Path): the numbered ones, then the studies, each in order."""
    folder = notebooks_dir()
    files = [*sorted(folder.glob("[0-9]*_*.ipynb")), *sorted(folder.glob("studies/*.ipynb"))]
    return {file.stem: file for file in files}


def params_dir():
    """Return the folder (Path) of the notebooks' parameter files, with a subfolder per profile (such as ``smoke``)."""
    return _HOME / "params"


@contextlib.contextmanager
def export_environment(results, **more):
    """Set variables during a ``with`` block, so that child processes find the same data and write to `results`.

    `results` is a folder (path); `more` are further variables, by name (str). They are restored at the end.
    """
    folders = {"CMLIB_DATA": data_dir(), "CMLIB_RESULTS": Path(results)}
    variables = {name: str(folder.absolute()) for name, folder in folders.items()}
    variables |= {"PYTHONSAFEPATH": "1"} | more
    if elsewhere := external_data_dir():
        variables["CMLIB_PUBLIC"] = str(elsewhere)
    with compiling(results), _environment(variables):
        yield


@contextlib.contextmanager
def compiling(results=None):
    """Let Numba keep compiled code during a ``with`` block.

    It does so beside cmlib or in the user's home; where it can't, in the folder `results` (path, by default that of
    all results), or in a temporary one.
    """
    home = os.path.expanduser("~")  # unchanged, and so not writable, if the user has no home
    if "NUMBA_CACHE_DIR" in os.environ or any(map(_is_writable, (_PACKAGE, home))):
        yield
        return
    with contextlib.ExitStack() as stack:
        folder = Path(results or results_dir()).absolute() / ".numba"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            folder = stack.enter_context(scratch_folder())
        stack.enter_context(_environment({"NUMBA_CACHE_DIR": str(folder)}))
        yield


@contextlib.contextmanager
def _environment(variables):
    """Set environment variables during a ``with`` block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _is_writable(folder):
    """Return True if this user may write to a folder."""
    return os.access(folder, os.W_OK)


def read_yaml(path):
    """Return the content of a YAML file of cmlib.

    It is read by PyYAML's loader in C if there is one, which takes a tenth of the time.

    Parameters
    ----------
    path : Path
        A file that cmlib comes with, or that a user wrote.

    Returns
    -------
    object
        What the file holds, mostly a dict.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 (both loaders are safe)


@functools.cache
def yaml_beside(module):
    """Return the content of the YAML file that lies beside a module and has its name.

    Parameters
    ----------
    module : str
        The module's ``__file__``.

    Returns
    -------
    object
        What the file holds, mostly a dict; all callers share it.
    """
    return read_yaml(Path(module).with_suffix(".yaml"))


def _read_folder(variable):
    """Return the folder that an environment variable names, as an absolute Path; None if it is not set."""
    chosen = os.environ.get(variable)
    return Path(chosen).absolute() if chosen else None
