"""Public names: each is in the `__all__` of its package, in the reference, and documented as numpydoc asks."""

import ast
import dataclasses
import functools
import importlib
import inspect
import re
import runpy
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

ROOT = Path(__file__).resolve().parents[1]
SITE = runpy.run_path(ROOT / "docs/site/assemble.py")
PUBLIC = SITE["public_modules"]()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
# Sections known and in order; a summary in the imperative; all parameters, typed and described; and what comes out.
NUMPYDOC = re.compile("GL0[35678]|GL10|SS0[1-5]|PR0[1-7]|PR10|RT0[13]|YD01")


@functools.cache
def exported(module):
    return {name: getattr(_module(module), name) for name in _all(module)}


def _all(module):
    return _module(module).__all__


def is_documented(thing):
    return inspect.isroutine(thing) or inspect.isclass(thing)


def lacking(thing):
    """Why a docstring is not as it should be; the fields of a result may be its Attributes."""
    name = f"{thing.__module__}.{thing.__qualname__}"
    errors = [f"{name}: {code} {text}" for code, text in validate(name)["errors"] if NUMPYDOC.match(code)]
    if dataclasses.is_dataclass(thing) or hasattr(thing, "_fields"):
        fields = getattr(thing, "_fields", None) or [field.name for field in dataclasses.fields(thing)]
        doc = NumpyDocString(inspect.getdoc(thing))
        described = [name for part in doc["Attributes"] for name in part.name.split(", ")]
        if described == list(fields):
            errors = [error for error in errors if ": PR01" not in error]
    return errors


@pytest.mark.parametrize("module", PUBLIC)
def test_docstrings_are_numpydoc(module):
    documented = [thing for thing in exported(module).values() if is_documented(thing)]
    errors = [error for thing in documented for error in lacking(thing)]
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize("module", PUBLIC)
def test_no_name_hides_a_module(module):
    """Or `import cmlib.topdown.bounds` would give a function to who asks for a module."""
    path = ROOT / module.replace(".", "/")
    hidden = [name for name in _all(module) if (path / name).is_dir() or (path / f"{name}.py").is_file()]
    assert not hidden


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_call_public_names_only(page):
    """In their examples, but for what belongs to the notebooks."""
    for code in CODE.findall(page.read_text(encoding="utf-8")):
        private = [name for name in names_of_cmlib(ast.parse(code)) if not is_public(name)]
        assert not private


def names_of_cmlib(tree):
    """Dotted names of what an example takes from cmlib, by import or as an attribute."""
    imported = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {name.name: name.name for name in node.names if name.name == "cmlib"}
        elif isinstance(node, ast.ImportFrom) and node.module.startswith("cmlib"):
            imported |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
            yield f"{imported[node.value.id]}.{node.attr}"
    yield from imported.values()


def is_public(name):
    module, _, last = name.rpartition(".")
    is_module = name == "cmlib" or name in PUBLIC
    return (
        is_module or name.startswith(SITE["FOR_NOTEBOOKS"]) or last in getattr(_module(module), "__all__", ())
    )


def _module(name):
    return importlib.import_module(name)
