"""Copies of the notebooks, set to run fast and to leave their results elsewhere."""

import json

import yaml

from cmlib import places
from cmlib.report import declared_parameters

# Below the smoke profile's values: what a browser shows does not depend on how well a model was fitted.
QUICK = {
    "02_cleaning": {"method": "interpolate"},
    "03_ranking": {"method": "interpolate", "step": 100, "n_seeds": 2},
    "03a_merging_runs": {"program": "wordcount", "method": "interpolate", "step": 100, "n_seeds": 2},
    "04_interactions": {"method": "interpolate", "n_events": 3, "top": 3},
}


def copy_notebook(notebook, target, given):
    """Write a notebook's copy with the smoke profile's parameters in its parameters cell.

    Parameters
    ----------
    notebook : Path
        One of `notebooks/`.
    target : Path
        The copy.
    given : dict
        Values over the profile's; those the notebook does not declare are left out.
    """
    declared = declared_parameters(notebook)
    file = places.params_dir() / "smoke" / f"{notebook.stem}.yaml"
    values = yaml.safe_load(file.read_text(encoding="utf-8")) | QUICK.get(notebook.stem, {}) | given
    for name, value in values.items():
        if name in declared:
            declared[name].check(value, target.name)
    lines = [
        f"{name} = {values.get(name, parameter.default)!r}  # {parameter.comment}"
        for name, parameter in declared.items()
    ]
    content = json.loads(notebook.read_text(encoding="utf-8"))
    for cell in content["cells"]:
        if "parameters" in cell["metadata"].get("tags", []):
            cell["source"] = "\n".join(lines)
    target.write_text(json.dumps(content), encoding="utf-8")


def data_folder(folder):
    """A data folder whose results go to `folder`, with everything else the checkout's own."""
    folder.mkdir()
    for kept in places.data_dir().iterdir():
        if kept.name != "results":
            (folder / kept.name).symlink_to(kept)
    return folder
