"""A notebook and its script: the one that was changed last replaces the cells of the other."""

import os

import nbformat
import pytest

from tests.test_layout import load_pairing

pairing = load_pairing()


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """A notebook with an output, and its script."""
    monkeypatch.setattr(pairing, "ROOT", tmp_path)
    monkeypatch.setattr(pairing, "NOTEBOOKS", tmp_path / "notebooks")
    monkeypatch.setattr(pairing, "SCRIPTS", tmp_path / "notebooks/scripts")
    notebook = tmp_path / "notebooks/studies/causes.ipynb"
    notebook.parent.mkdir(parents=True)
    output = nbformat.v4.new_output("stream", text="1")
    code = [nbformat.v4.new_code_cell(f"print({number})", outputs=[output]) for number in (1, 2)]
    title = nbformat.v4.new_markdown_cell("# Title", metadata={"tags": ["answer"]})
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    nbformat.write(nbformat.v4.new_notebook(cells=[title, *code], metadata={"kernelspec": kernel}), notebook)
    assert pairing.main([]) == 1
    assert pairing.main([]) == 0
    return notebook, pairing.script_of(notebook)


def set_age(file, seconds):
    changed = file.stat().st_mtime - seconds
    os.utime(file, (changed, changed))


def test_an_edited_script_replaces_cells_and_keeps_the_outputs_of_the_others(pair):
    notebook, script = pair
    script.write_text(script.read_text().replace("print(2)", "print(3)"))
    set_age(notebook, 60)
    assert pairing.main([]) == 1
    cells = nbformat.read(notebook, as_version=4).cells
    assert [cell.source for cell in cells] == ["# Title", "print(1)", "print(3)"]
    assert cells[0].metadata.tags == ["answer"] and cells[1].outputs and not cells[2].outputs
    assert pairing.main([]) == 0


def test_an_edited_notebook_replaces_the_script(pair):
    notebook, script = pair
    node = nbformat.read(notebook, as_version=4)
    node.cells[1].source = "print(4)"
    nbformat.write(node, notebook)
    set_age(script, 60)
    assert pairing.main([]) == 1
    assert "print(4)" in script.read_text() and "print(1)" not in script.read_text()
    assert pairing.main([]) == 0


def test_a_script_alone_makes_a_notebook(pair):
    notebook, script = pair
    before = script.read_text()
    notebook.unlink()
    assert pairing.main([]) == 1
    node = nbformat.read(notebook, as_version=4)
    assert node.metadata.kernelspec.name == "python3" and "jupytext" not in node.metadata
    assert script.read_text() == before and pairing.main([]) == 0
