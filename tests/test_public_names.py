"""Public names: each is in the `__all__` of its package, in the reference, and documented as numpydoc asks."""

import ast
import dataclasses
import functools
import importlib
import inspect
import re
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = (ROOT / "docs/site/api.md").read_text(encoding="utf-8")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
# What notebooks share, which may change with any release: one sentence each.
FOR_NOTEBOOKS = ("cmlib.experiments", "cmlib.explore", "cmlib.plot", "cmlib.report")
SENTENCE = {"GL08", "SS03", "SS04"}  # there is one, that ends in a full stop and begins at the margin
NUMPYDOC = SENTENCE | {
    *("GL03", "GL05", "GL06", "GL07", "GL10"),  # sections known, in order, no tabs, no double blank lines
    *("SS01", "SS02", "SS05"),  # a summary, with a capital letter, in the imperative
    *(
        "PR01",
        "PR02",
        "PR03",
        "PR04",
        "PR05",
        "PR06",
        "PR07",
        "PR10",
    ),  # the signature's parameters, typed, described
    *("RT01", "RT03", "YD01"),  # what comes out, described
}


def names_exported(path):
    """What stands in a module's `__all__`, without importing it; None where it has none."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return True
    return False


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


DONE = ("cmlib.interact", "cmlib.merge", "cmlib.rank")
PUBLIC = [module_of(path) for path in sorted((ROOT / "cmlib").rglob("*.py")) if names_exported(path)]
PUBLIC = [module for module in PUBLIC if module in DONE]


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
    errors = [f"{name}: {code} {text}" for code, text in validate(name)["errors"] if code in wanted]
    if dataclasses.is_dataclass(thing) or hasattr(thing, "_fields"):
        fields = getattr(thing, "_fields", None) or [field.name for field in dataclasses.fields(thing)]
        doc = NumpyDocString(inspect.getdoc(thing))
        described = [name for part in doc["Attributes"] for name in part.name.split(", ")]
        if described == list(fields):
            errors = [error for error in errors if ": PR01" not in error]
    return errors


@pytest.mark.parametrize("module", PUBLIC)
def test_docstrings_are_numpydoc(module):
    wanted = SENTENCE if module.startswith(FOR_NOTEBOOKS) else NUMPYDOC
    documented = [thing for thing in exported(module).values() if is_documented(thing)]
    errors = [error for thing in documented for error in lacking(thing, wanted)]
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize("module", PUBLIC)
def test_no_name_hides_a_module(module):
    """Or `import cmlib.topdown.bounds` would give a function to who asks for a module."""
    path = ROOT / module.replace(".", "/")
    hidden = [name for name in _all(module) if (path / name).is_dir() or (path / f"{name}.py").is_file()]
    assert not hidden


@pytest.mark.parametrize("module", [name for name in PUBLIC if not name.startswith(FOR_NOTEBOOKS)])
def test_the_reference_has_every_public_name(module):
    listed = re.findall(rf"^   {re.escape(module)}\.(\w+)$", REFERENCE, re.M)
    assert sorted(listed) == sorted(name for name, thing in exported(module).items() if is_documented(thing))
