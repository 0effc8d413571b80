"""Store the results of long computations in files, and read them back.

:func:`cached` reads the result of a computation from the cache, or computes and stores it. Notebooks can therefore
share results. A result is a dict of DataFrames. It is stored as Parquet files in the folder of results.

A stored result is used only if the inputs, the code and the versions of the numerical libraries are the same. The
code is the module of the function and all modules of cmlib that it imports. Docstrings, comments and type hints can
change.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import functools
import hashlib
import importlib.metadata
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from cmlib import places
from cmlib.io.archive import atomic_output

FOLDER = "cache"  # in the folder of results
_PACKAGE = Path(places.__file__).parent
_TYPING_MODULES = {"__future__", "typing", "collections.abc", "numpy.typing"}  # imported only for type hints
# Libraries whose new versions can change results.
_LIBRARIES = (
    "numpy",
    "pandas",
    "scipy",
    "scikit-learn",
    "lightgbm",
    "numba",
)


def cached(inputs: Iterable[Any], compute: Callable[[], dict[str, pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Return the result of a computation from the cache, or compute it.

    A computed result is stored. If the folder of results is read-only or full, it is not stored.

    Parameters
    ----------
    inputs : iterable
        Everything on which the result depends. DataFrames and Series are compared by value, other objects by their
        ``repr``. Pass an array as a Series, because the ``repr`` of a long array is shortened.
    compute : callable
        Function without parameters that computes the result.

    Returns
    -------
    dict of str to DataFrame
        Result of `compute`. The keys of a stored result are sorted.
    """
    try:
        module_folder = _make_folder(compute.__module__)
    except OSError:
        return compute()
    result_folder = module_folder / _hash_inputs(inputs)
    with _lock(module_folder, result_folder.name):
        # If a file is missing or damaged, the result is computed again.
        with contextlib.suppress(OSError, ValueError):
            return {file.stem: pd.read_parquet(file) for file in sorted(result_folder.iterdir())}
        frames = compute()
        with contextlib.suppress(OSError), atomic_output(result_folder) as draft:
            draft.mkdir()
            for name, frame in frames.items():
                frame.to_parquet(draft / f"{name}.parquet")
            shutil.rmtree(result_folder, ignore_errors=True)
        return frames


def _make_folder(module):
    """Make the folder for the results of a module.

    Results of older code of the module are removed.
    """
    parent = places.results_dir() / FOLDER
    folder = parent / f"{module}-{_hash_code(module)}"
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        for older in parent.glob(f"{module}-*"):
            if older != folder:
                shutil.rmtree(older, ignore_errors=True)
    return folder


@functools.cache
def _hash_code(module):
    """Return a hash of a module, of its imports from cmlib, and of library versions."""
    digest = hashlib.sha256()
    for file in sorted(find_sources(Path(sys.modules[module].__file__))):
        digest.update(dump_code(file).encode())
    for name in _LIBRARIES:
        digest.update(importlib.metadata.version(name).encode())
    return digest.hexdigest()[:16]


def dump_code(file: Path) -> str:
    """Return the code of a file without docstrings, comments and type hints.

    Parameters
    ----------
    file : Path
        Source file.

    Returns
    -------
    str
        Syntax tree as text.
    """
    tree = _parse_without_hints(file)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = _drop_docstring(node)
    return ast.dump(tree)


def _drop_docstring(node):
    """Return the statements of a module, class or function without its docstring."""
    if ast.get_docstring(node) is None:
        return node.body
    return node.body[1:]


def _parse_without_hints(file):
    """Parse a file, and drop imports that only type hints need."""
    tree = ast.parse(file.read_bytes())
    tree.body = [statement for statement in tree.body if not _is_for_hints(statement)]
    return tree


def _is_for_hints(statement):
    """Return True for an import that only type hints need."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module in _TYPING_MODULES
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"


def find_sources(file: Path) -> set[Path]:
    """Find the source files of cmlib that a module imports.

    Imports of these files are followed, too. Imports within functions and lazy imports of packages (``__init__.pyi``)
    are included.

    Parameters
    ----------
    file : Path
        Source file of the module.

    Returns
    -------
    set of Path
        The file itself and all imported files.
    """
    sources = set()
    waiting = {file}
    while waiting:
        source = waiting.pop()
        sources.add(source)
        for name in _list_imported_names(source):
            waiting |= _find_module_files(name) - sources
    return sources


def _list_imported_names(file):
    """Return the names of imported modules and objects (set of str)."""
    names = set()
    for node in ast.walk(_parse_without_hints(file)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                # Only the __init__ file of a package has relative imports.
                package = ".".join([_PACKAGE.name, *file.parent.relative_to(_PACKAGE).parts])
                module = f"{package}.{module}".rstrip(".")
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


def _find_module_files(name):
    """Return the source files of a module (set of Path).

    The set is empty if the module does not belong to cmlib.
    """
    package, *parts = name.split(".")
    if package != _PACKAGE.name:
        return set()
    path = _PACKAGE.joinpath(*parts)
    files = path.with_suffix(".py"), path / "__init__.py", path / "__init__.pyi"
    return {file for file in files if file.is_file()}


def _hash_inputs(inputs):
    """Return a hash of all inputs, in input order."""
    digest = hashlib.sha256()
    for item in inputs:
        if isinstance(item, pd.DataFrame | pd.Series):
            header = type(item).__name__, item.shape, list(getattr(item, "columns", ()))
            digest.update(repr(header).encode())
            digest.update(pd.util.hash_pandas_object(item).to_numpy().tobytes())
        else:
            digest.update(repr(item).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:32]


@contextlib.contextmanager
def _lock(folder, name):
    """Lock one result, so that two processes do not compute it at the same time.

    All results of a folder share a lock file. Each result locks one byte of it.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            stack.callback(os.close, descriptor)
            fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, int(name[:12], 16))
        yield
