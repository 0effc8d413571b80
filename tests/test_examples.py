"""The examples of docstrings and README give what they say, typed as they stand there."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
API = (ROOT / "docs/site/api.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^   (cmlib\.[\w.]+)$", API, re.M)
CODE = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def resolved(dotted):
    module, name = dotted.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def examples():
    """Every public name that the site lists and that has examples: its dotted name and them."""
    finder = doctest.DocTestFinder(recurse=False)
    for dotted in LISTED:
        thing = resolved(dotted)
        globs = dict(vars(importlib.import_module(thing.__module__)))
        yield from ((dotted, test) for test in finder.find(thing, dotted, globs=globs) if test.examples)


EXAMPLES = dict(examples())


@pytest.mark.parametrize("dotted", EXAMPLES)
def test_docstring(dotted, monkeypatch):
    monkeypatch.chdir(ROOT)
    told = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(
        EXAMPLES[dotted], out=told.append
    )
    assert result.attempted and not result.failed, "".join(told)


def test_a_dozen_functions_have_examples():
    assert len(EXAMPLES) >= 12


def test_readme_s_example_ranks_events_and_draws_them(tmp_path, monkeypatch):
    (code,) = CODE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["ranking"].importances.sum() == pytest.approx(100)
    assert names["ranking"].history["blocks_error"].min() < names["ranking"].baselines["blocks_mean"]
    assert (tmp_path / "ranking.png").stat().st_size > 1000
