"""Public names: in the `__all__` of a module, in the reference, with type hints, documented as numpydoc asks.

What README, docs and notebooks take from cmlib is public.
"""

import ast
import dataclasses
import functools
import importlib
import importlib.util
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
OF_NOTEBOOKS = SITE["modules_of_notebooks"]()
ANALYSES = [name for name in OF_NOTEBOOKS if name.startswith(("cmlib.experiments", "cmlib.report"))]
SCRIPTS = sorted((ROOT / "notebooks/scripts").rglob("*.py"))
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


@pytest.mark.parametrize("module", [*PUBLIC, *ANALYSES])
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


def callables_without_hints(module):
    """Names of the public functions and methods of a module that lack the type of a parameter or of the result."""
    public = {name: thing for name, thing in exported(module).items() if is_documented(thing)}
    functions = []
    for thing in public.values():
        if not inspect.isclass(thing):
            functions.append(inspect.unwrap(thing))
        else:
            functions += [part for part in map(plain_function, vars(thing).items()) if part]
    return [function.__qualname__ for function in functions if lacks_hints(function)]


def plain_function(item):
    """The function behind a public attribute of a class, if it is one."""
    name, thing = item
    thing = getattr(thing, "fget", None) or getattr(thing, "func", None) or getattr(thing, "__func__", thing)
    is_public = name == "__init__" or not name.startswith("_")
    is_own = getattr(thing, "__module__", "").startswith("cmlib")
    return inspect.unwrap(thing) if is_public and is_own and inspect.isfunction(thing) else None


def lacks_hints(function):
    signature = inspect.signature(function)
    parameters = [p for name, p in signature.parameters.items() if name not in ("self", "cls")]
    hints = [p.annotation for p in parameters]
    if function.__name__ != "__init__":
        hints.append(signature.return_annotation)
    return inspect.Signature.empty in hints


@pytest.mark.parametrize("module", [*PUBLIC, *OF_NOTEBOOKS])
def test_public_functions_have_type_hints(module):
    assert not callables_without_hints(module)


def test_type_checkers_find_the_hints():
    assert (ROOT / "cmlib/py.typed").is_file()


def used_names(code):
    """Pairs (module, name) of what some code takes from cmlib's modules."""
    tree = ast.parse(code)
    things = {}
    used = set()

    def note(module, name):
        full = f"{module}.{name}"
        if is_module(full):
            return full
        used.add((module, name))
        return None

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "cmlib":
                    things[alias.asname or "cmlib"] = alias.name if alias.asname else "cmlib"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "cmlib":
            for alias in node.names:
                things[alias.asname or alias.name] = note(node.module, alias.name)
    dotted = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    for node in dotted:
        resolve(node, things, note)
    return used


def resolve(node, things, note):
    """The module that a dotted name is, or None; what it takes from a module is noted."""
    if isinstance(node, ast.Name):
        return things.get(node.id)
    if isinstance(node, ast.Attribute):
        module = resolve(node.value, things, note)
        return note(module, node.attr) if module else None
    return None


@functools.cache
def is_module(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def is_offered(module, name):
    """True if a name is in the `__all__` of its module, or as the same thing in that of a package above it."""
    thing = getattr(_module(module), name)
    above = module
    while above:
        if name in getattr(_module(above), "__all__", ()) and getattr(_module(above), name) is thing:
            return True
        above = above.rpartition(".")[0]
    return False


@pytest.mark.parametrize("file", [*PAGES, *SCRIPTS], ids=lambda file: file.stem)
def test_what_pages_and_notebooks_take_from_cmlib_is_public(file):
    text = file.read_text(encoding="utf-8")
    codes = CODE.findall(text) if file.suffix == ".md" else [text]
    used = set().union(*map(used_names, codes))
    private = {f"{module}.{name}" for module, name in used if not is_offered(module, name)}
    assert not private, "add them to __all__, with docstrings and type hints"


def _module(name):
    return importlib.import_module(name)
