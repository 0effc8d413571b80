"""Put the outputs of executed notebooks into `notebooks/`: python docs/site/store_outputs.py data/results/paper."""

import base64
import io
import json
import re
import sys
from pathlib import Path

import nbformat
from PIL import Image

from cmlib import places

ROOT = Path(__file__).resolve().parents[2]
COLOURS, WIDTH = 96, 1000  # of a picture, so that all notebooks together stay below 8 MB
KEPT = ("text/html", "text/markdown", "text/plain", "image/png")


def store(notebook, executed):
    """Copy the outputs of the executed notebook's code cells; their sources must be the same."""
    kept = nbformat.read(notebook, as_version=4)
    cells = _code_cells(kept)
    ran = _code_cells(nbformat.read(executed, as_version=4))
    if [cell.source for cell in cells] != [cell.source for cell in ran]:
        raise ValueError(f"{notebook.name} is not what {executed} ran: run make notebooks again.")
    for count, (cell, other) in enumerate(zip(cells, ran, strict=True), 1):
        cell.outputs = [_small(output) for output in other.outputs if output.output_type != "stream"]
        cell.outputs += [o for o in other.outputs if o.output_type == "stream" and o.name == "stdout"]
        cell.execution_count = count
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count
    nbformat.write(kept, notebook)


def _code_cells(notebook):
    """Return the code cells of a notebook, without the parameters that Papermill put in."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and "injected-parameters" not in cell.metadata.get("tags", [])
    ]


def _small(output):
    output.metadata = {k: v for k, v in output.get("metadata", {}).items() if k in KEPT}
    data = output.get("data", {})
    for kind in set(data) - set(KEPT):
        del data[kind]
    if "image/png" in data:
        data["image/png"] = _palette(data["image/png"])
    if {"text/html", "text/markdown"} & set(data):
        data.pop("text/plain", None)
    if "text/html" in data:
        data["text/html"] = re.sub(
            r"(data:image/png;base64,)([A-Za-z0-9+/=]+)", lambda m: m[1] + _palette(m[2]), data["text/html"]
        )
    return output


def _palette(encoded):
    picture = Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGB")
    if picture.width > WIDTH:
        picture = picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.LANCZOS)
    small = io.BytesIO()
    # The default, median cut, gives thin lines of two colors the same one.
    picture = picture.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    picture.save(small, format="png", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def _read_absent_sets(executed):
    """Return the names of public sets that an executed notebook did not find (list of str)."""
    manifest = executed.with_name("manifest.json")
    return json.loads(manifest.read_text(encoding="utf-8"))["absent_sets"]


def main(results):
    left = 0
    for notebook in places.notebook_files().values():
        executed = Path(results) / notebook.stem / notebook.name
        if not executed.is_file():
            left += 1
        elif absent := _read_absent_sets(executed):
            print(f"{notebook.stem} ran without {', '.join(absent)}; its stored outputs are unchanged")
        else:
            store(notebook, executed)
    print(f"{left} notebooks are not in {results}; their stored outputs are unchanged")


if __name__ == "__main__":
    main(sys.argv[1])
