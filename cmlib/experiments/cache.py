"""Cache the results of long computations in files, so that other notebooks need not compute them again.

`cached` takes inputs and a function, and returns the function's result, a dict of DataFrames. A result is stored as
Parquet files in the folder of results, under a hash of its inputs and a hash of the code: the function's module, all
modules of cmlib that it imports, directly or not, and the versions of the numerical libraries. Docstrings, comments and
type hints do not change the hash of the code. If no file can be written, the result is computed and not stored.
"""

import ast
import contextlib
import fcntl
import functools
import hashlib
import importlib.metadata
import os
import shutil
import sys
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.io.archive import atomic_output

FOLDER = "cache"  # among the results
_PACKAGE = Path(places.__file__).parent
_MODULES_OF_TYPES = {"__future__", "typing", "collections.abc", "numpy.typing"}
_LIBRARIES = ("numpy", "pandas", "scipy", "scikit-learn", "lightgbm", "numba")


def cached(inputs, compute):
    """Return the result of a computation from the cache, or compute and store it.

    If nothing can be written, or the disk is full, the result is computed and not stored.

    Parameters
    ----------
    inputs : iterable
        Everything on which the result depends. Frames and series are hashed by their values, all others by their repr,
        which must be complete and the same in every process. Pass an array as a Series, because NumPy shortens the repr
        of long arrays.
    compute : callable
        Takes no argument and returns a dict of DataFrames.

    Returns
    -------
    dict of str to DataFrame
        The result of `compute`. From the cache, its keys are sorted, because they are names of files.
    """
    try:
        folder = _folder(compute.__module__)
    except OSError:
        return compute()
    place = folder / _digest(inputs)
    with _locked(folder, place.name):
        # If a file is missing, or was cut short by a power failure, the result is computed again.
        with contextlib.suppress(OSError, ValueError):
            return {file.stem: pd.read_parquet(file) for file in sorted(place.iterdir())}
        frames = compute()
        # If the disk is full, the result is returned without being stored.
        with contextlib.suppress(OSError), atomic_output(place) as draft:
            draft.mkdir()
            for name, frame in frames.items():
                frame.to_parquet(draft / f"{name}.parquet")
            shutil.rmtree(place, ignore_errors=True)
        return frames


def _folder(module):
    """Return the folder for the results of a module's (name) present source; remove those of its older sources."""
    parent = places.results_dir() / FOLDER
    folder = parent / f"{module}-{_hash_source(module)}"
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        for older in parent.glob(f"{module}-*"):
            if older != folder:
                shutil.rmtree(older, ignore_errors=True)
    return folder


@functools.cache
def _hash_source(module):
    """Hash (str) a module's (name) source, the sources it imports from cmlib, and the versions of libraries."""
    digest = hashlib.sha256()
    for file in sorted(find_sources(Path(sys.modules[module].__file__))):
        digest.update(dump_code(file).encode())
    for name in _LIBRARIES:
        digest.update(importlib.metadata.version(name).encode())
    return digest.hexdigest()[:16]


def dump_code(file):
    """Write the syntax tree of a source file without docstrings, comments and type hints.

    Parameters
    ----------
    file : Path

    Returns
    -------
    str
        Equal for two files that differ in nothing else.
    """
    tree = _parse_without_hints(file)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


def _parse_without_hints(file):
    """Return the syntax tree of a source file (Path) without the imports that only type hints need."""
    tree = ast.parse(file.read_bytes())
    tree.body = [statement for statement in tree.body if not _is_for_hints(statement)]
    return tree


def _is_for_hints(statement):
    """Return True for an import from a module of types, and for ``if TYPE_CHECKING:`` with the imports below it."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module in _MODULES_OF_TYPES
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"


def find_sources(file):
    """Find the source files on which a module of cmlib depends.

    Imports are followed through other modules of cmlib, also imports within functions, and names that a package loads
    lazily (its ``__init__.pyi``).

    Parameters
    ----------
    file : Path
        Source file of the module.

    Returns
    -------
    set of Path
        The file itself, and the files of the modules that it imports.
    """
    found, waiting = set(), {file}
    while waiting:
        file = waiting.pop()
        found.add(file)
        for name in _imported_names(file):
            waiting |= _files_of_module(name) - found
    return found


def _imported_names(file):
    """List the modules that a source file imports, and the names that it imports from them (set of str)."""
    names = set()
    for node in ast.walk(_parse_without_hints(file)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                # Only a package's __init__ imports by relative names.
                package = ".".join([_PACKAGE.name, *file.parent.relative_to(_PACKAGE).parts])
                module = f"{package}.{module}".rstrip(".")
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


def _files_of_module(name):
    """Find the source files (set of Path) of a module of cmlib; empty for other names."""
    package, *parts = name.split(".")
    if package != _PACKAGE.name:
        return set()
    place = _PACKAGE.joinpath(*parts)
    files = place.with_suffix(".py"), place / "__init__.py", place / "__init__.pyi"
    return {file for file in files if file.is_file()}


def _digest(inputs):
    """Hash (str) all inputs in their order."""
    digest = hashlib.sha256()
    for item in inputs:
        if isinstance(item, pd.DataFrame | pd.Series):
            described = type(item).__name__, item.shape, list(getattr(item, "columns", ()))
            digest.update(repr(described).encode())
            digest.update(pd.util.hash_pandas_object(item).to_numpy().tobytes())
        else:
            digest.update(repr(item).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:32]


@contextlib.contextmanager
def _locked(folder, name):
    """Lock one result, by a byte of a lock file that all results share."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            held.callback(os.close, descriptor)
            fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, int(name[:12], 16))
        yield
