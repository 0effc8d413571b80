"""Tables, figures and findings that a notebook keeps for its page are displayed, not only kept."""

import ast

import nbformat
import pytest

from cmlib import places

RETURNED = {"figure", "finding", "numbers", "table"}  # methods of Results that return what is to be displayed


def is_returned_result(node):
    """Whether a statement calls such a method and drops what it returns."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    called = node.value.func
    return (
        isinstance(called, ast.Attribute)
        and called.attr in RETURNED
        and ast.unparse(called.value) == "results"
    )


def is_off_page(call):
    return any(
        keyword.arg == "on_page" and ast.unparse(keyword.value) == "False" for keyword in call.keywords
    )


def find_undisplayed(source):
    """Lines of a cell in which a result for the page is neither displayed nor the cell's last expression."""
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body and not source.rstrip().endswith(";") else None
    dropped = [node for node in ast.walk(tree) if is_returned_result(node) and node is not last]
    return sorted(node.lineno for node in dropped if not is_off_page(node.value))


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("results.table(a)", []),
        ("results.table(a)\nb = 1", [1]),
        ("if a:\n    results.finding(b)", [2]),
        ("if a:\n    display(results.finding(b))", []),
        ("results.table(a, on_page=False)\nb = 1", []),
        ("results.numbers();", [1]),
    ],
)
def test_results_that_are_dropped_are_found(source, lines):
    assert find_undisplayed(source) == lines


@pytest.mark.parametrize("name", places.notebook_files())
def test_every_result_for_the_page_is_displayed(name):
    notebook = nbformat.read(places.notebook_files()[name], as_version=4)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            assert find_undisplayed(cell.source) == [], f"cell {number} of {name}"
