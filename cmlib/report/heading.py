"""What a notebook is called and what it asks, read from its first cell."""

import json
import re
from pathlib import Path

_QUESTION = re.compile(r"\*\*Question\.\*\*\s+(.+?)\s*(?:\n\s*\n|\Z)", re.S)


def read_heading(notebook):
    """Title and question of a notebook.

    Parameters
    ----------
    notebook : path of an .ipynb file

    Returns
    -------
    title : str
        Its first heading; the file's name without suffix if there is none.
    question : str
        The paragraph that begins with ``**Question.**``, in one line; empty if there is none.

    Raises
    ------
    ValueError
        If there is no such notebook.
    """
    notebook = Path(notebook)
    if not notebook.is_file():
        raise ValueError(f"there is no notebook {notebook.name} under {notebook.parent}.")
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    headings = (line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
    question = _QUESTION.search(text)
    return next(headings, notebook.stem), " ".join(question[1].split()) if question else ""
