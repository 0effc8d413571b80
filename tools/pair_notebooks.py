"""Keep each notebook and its script equal: python tools/pair_notebooks.py [NOTEBOOK...]

``notebooks/03_ranking.ipynb`` is what people open and what is executed; ``notebooks/scripts/03_ranking.py`` has the
same cells as text, for reviews and for editors. The two are no pair for Jupytext's own extension, so that JupyterLab
and VS Code never compare their times.

Of a notebook and a script whose cells differ, the one that was changed last replaces the cells of the other; outputs
stay with the cells that did not change. A script without a notebook makes one. Exit code 1 if a file was changed, as
pre-commit expects it.
"""

import argparse
import sys
from pathlib import Path

import jupytext
import nbformat
from jupytext.combine import combine_inputs_with_outputs

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
SCRIPTS = NOTEBOOKS / "scripts"
HEADER = """# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

"""
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def script_of(notebook):
    """Path of a notebook's script; `notebook` is the path of its .ipynb file."""
    return SCRIPTS / notebook.relative_to(NOTEBOOKS).with_suffix(".py")


def notebook_of(script):
    """Path of a script's notebook; `script` is the path of its .py file."""
    return NOTEBOOKS / script.relative_to(SCRIPTS).with_suffix(".ipynb")


def contents(node):
    """What must be equal: type, source and tags of each cell (a list of tuples)."""
    return [(cell.cell_type, cell.source, list(cell.metadata.get("tags", []))) for cell in node.cells]


def to_script(node):
    """The text (str) of a notebook's script."""
    bare = nbformat.from_dict(node)
    bare.metadata = nbformat.NotebookNode(jupytext={"notebook_metadata_filter": "-all"})
    return HEADER + jupytext.writes(bare, fmt="py:percent").lstrip("\n")


def read_script(script):
    """The cells of a script (path) as a notebook without outputs."""
    node = jupytext.read(script, fmt="py:percent")
    node.metadata = nbformat.NotebookNode(kernelspec=_KERNEL)
    return node


def pair(notebook):
    """Make a notebook and its script equal; returns the file (Path) that was changed, or None."""
    script = script_of(notebook)
    if not script.exists():
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(to_script(nbformat.read(notebook, as_version=4)), encoding="utf-8")
        return script
    of_script = read_script(script)
    if not notebook.exists():
        nbformat.write(of_script, notebook)
        return notebook
    of_notebook = nbformat.read(notebook, as_version=4)
    if contents(of_notebook) == contents(of_script):
        return None
    if notebook.stat().st_mtime > script.stat().st_mtime:
        script.write_text(to_script(of_notebook), encoding="utf-8")
        return script
    merged = combine_inputs_with_outputs(of_script, of_notebook)
    merged.metadata = of_notebook.metadata
    unchanged = {cell.source for cell in of_notebook.cells}
    for cell in merged.cells:
        if cell.cell_type == "code" and cell.source not in unchanged:
            cell.outputs = []
    nbformat.write(merged, notebook)
    return notebook


def main(arguments=None):
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="files .ipynb; all if none is given")
    chosen = [path.resolve() for path in parser.parse_args(arguments).notebooks]
    if not chosen:
        scripts = {notebook_of(script) for script in SCRIPTS.rglob("*.py")}
        chosen = sorted({*NOTEBOOKS.glob("*.ipynb"), *NOTEBOOKS.glob("studies/*.ipynb"), *scripts})
    changed = [file for file in map(pair, chosen) if file]
    for file in changed:
        print(f"changed {file.relative_to(ROOT)}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
