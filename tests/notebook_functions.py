"""Functions that notebooks define, to be tested alone."""

import ast
from pathlib import Path

SCRIPTS = Path(__file__).parents[1] / "notebooks/scripts"


def functions_of(notebook, /, **given):
    """All functions of a notebook by name; they see its imports and colours, one another, and what is given."""
    (script,) = SCRIPTS.rglob(f"{notebook}.py")
    source = script.read_text(encoding="utf-8")
    kept = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COLOURS")
    ]
    names = dict(given)
    exec(compile(ast.Module(kept, []), notebook, "exec"), names)
    return names
