"""Train the tree by which `cmlib diagnose --simulate` classifies phases, and store it.

    python tools/simulated_tree.py

reads data/recordings/fingerprint-simulated (`cmlib record-micro --simulate` makes these recordings) and writes
data/fingerprint/simulated_tree.json.
"""

import json
from pathlib import Path

from cmlib.experiments.micro.fingerprint import train_for_one_run
from cmlib.experiments.simulated_classes import TREE_FILE
from cmlib.fingerprint.stored_tree import tree_to_json

FOLDER = Path(__file__).resolve().parents[1] / "data/fingerprint"


def make_tree():
    """Return the text of the file: the trained tree as JSON."""
    return json.dumps(tree_to_json(train_for_one_run()), indent=1) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / TREE_FILE).write_text(make_tree(), encoding="utf-8")
