"""The examples of docstrings and README give what they say, typed as they stand there."""

import doctest
import importlib
import inspect
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = runpy.run_path(ROOT / "docs/site/assemble.py")["public_modules"]()
CODE = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def examples():
    """Every public name that has examples: its dotted name and them."""
    finder = doctest.DocTestFinder(recurse=False)
    for module in map(importlib.import_module, PUBLIC):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isroutine(thing) or inspect.isclass(thing):
                globs = dict(vars(importlib.import_module(thing.__module__)))
                found = finder.find(thing, f"{module.__name__}.{name}", globs=globs)
                yield from ((test.name, test) for test in found if test.examples)


EXAMPLES = dict(examples())


@pytest.mark.parametrize("dotted", EXAMPLES)
def test_docstring(dotted, monkeypatch):
    monkeypatch.chdir(ROOT)
    told = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(
        EXAMPLES[dotted], out=told.append
    )
    assert result.attempted and not result.failed, "".join(told)


def test_ten_functions_have_examples():
    assert len(EXAMPLES) >= 10


def test_readme_s_example_ranks_events_and_draws_them(tmp_path, monkeypatch):
    (code,) = CODE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["ranking"].importances.sum() == pytest.approx(100)
    assert names["ranking"].history["blocks_error"].min() < names["ranking"].baselines["blocks_mean"]
    assert (tmp_path / "ranking.png").stat().st_size > 1000
