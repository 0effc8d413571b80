"""SECURITY.md promises what tests hold."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_each_promise_names_its_tests_and_they_are_there():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promises = text.split("## What follows")[1].split("\n## ")[0].split("\n- ")[1:]
    assert len(promises) > 10
    for promise in promises:
        named = re.findall(r"`(test_\w+)::(test_\w+)`", promise)
        assert named, promise
        for module, name in named:
            tree = ast.parse((ROOT / "tests" / f"{module}.py").read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
