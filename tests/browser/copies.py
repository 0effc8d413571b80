"""Copies of the notebooks, set to run fast and to leave their results elsewhere."""

import json

import yaml

from cmlib import places
from cmlib.report import declared_parameters
from cmlib.report.parameters import group_settings

# Below the smoke profile's values: what a browser shows does not depend on how well a model was fitted.
QUICK = {"04_interactions": {"n_events": 3, "top": 3, "n_planted": 1}}


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
    smoke = yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}
    values = {"profile": "smoke"} | smoke | QUICK.get(notebook.stem, {}) | given
    values = {name: value for name, value in values.items() if name in declared}
    for name, value in values.items():
        declared[name].check(value, target.name)
    lines = [f"{name} = {value!r}" for name, value in group_settings(notebook, values).items()]
    content = json.loads(notebook.read_text(encoding="utf-8"))
    for cell in content["cells"]:
        if "parameters" in cell["metadata"].get("tags", []):
            cell["source"] = "\n".join(["".join(cell["source"]), *lines])
    target.write_text(json.dumps(content), encoding="utf-8")


def data_folder(folder, *programs):
    """A data folder whose results go to `folder`: these programs' recordings, and all else, are the checkout's own."""
    (folder / "recordings").mkdir(parents=True)
    kept = [path for path in places.data_dir().iterdir() if path.name not in {"results", "recordings"}]
    for path in [*kept, *(places.recordings_dir() / program for program in programs)]:
        (folder / path.relative_to(places.data_dir())).symlink_to(path)
    return folder
