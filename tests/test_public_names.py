"""Public names: each is in the `__all__` of its package, in the reference, and documented as numpydoc asks."""

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
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
# Of what notebooks share, which may change with any release, a sentence is asked for.
SENTENCE = re.compile("GL08|SS0[34]")
# Sections known and in order; a summary in the imperative; all parameters, typed and described; and what comes out.
NUMPYDOC = re.compile("GL0[35678]|GL10|SS0[1-5]|PR0[1-7]|PR10|RT0[13]|YD01")


@functools.cache
def exported(module):
    return {name: getattr(importlib.import_module(module), name) for name in _all(module)}


def _all(module):
    return importlib.import_module(module).__all__


def is_documented(thing):
    return inspect.isroutine(thing) or inspect.isclass(thing)


def lacking(thing, wanted):
    """Why a docstring is not as it should be; the fields of a result may be its Attributes."""
    name = f"{thing.__module__}.{thing.__qualname__}"
    errors = [f"{name}: {code} {text}" for code, text in validate(name)["errors"] if wanted.match(code)]
    if dataclasses.is_dataclass(thing) or hasattr(thing, "_fields"):
        fields = getattr(thing, "_fields", None) or [field.name for field in dataclasses.fields(thing)]
        doc = NumpyDocString(inspect.getdoc(thing))
        described = [name for part in doc["Attributes"] for name in part.name.split(", ")]
        if described == list(fields):
            errors = [error for error in errors if ": PR01" not in error]
    return errors


@pytest.mark.parametrize("module", PUBLIC)
def test_docstrings_are_numpydoc(module):
    wanted = SENTENCE if module.startswith(SITE["FOR_NOTEBOOKS"]) else NUMPYDOC
    documented = [thing for thing in exported(module).values() if is_documented(thing)]
    errors = [error for thing in documented for error in lacking(thing, wanted)]
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize("module", PUBLIC)
def test_no_name_hides_a_module(module):
    """Or `import cmlib.topdown.bounds` would give a function to who asks for a module."""
    path = ROOT / module.replace(".", "/")
    hidden = [name for name in _all(module) if (path / name).is_dir() or (path / f"{name}.py").is_file()]
    assert not hidden
