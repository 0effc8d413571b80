"""Pairs on one machine, on made-up recordings in the real format: what is found is what was planted."""

import json

import numpy as np
import pandas as pd
import pytest

from cmlib import report
from cmlib.errors import NothingRecordedError
from cmlib.io import events, store
from tests import made_up

TABLE = events.table()
L2 = list(TABLE.index[TABLE["unit"] == "l2-cache"][:6])
OTHERS = list(TABLE.index[TABLE["unit"] == "branch-prediction"][:6])
EVENTS = [event for both in zip(OTHERS, L2, strict=True) for event in both]
DRIVERS = {
    "datacaching": OTHERS[0],
    "graphanalytics": OTHERS[1],
    "datacaching-datacaching": OTHERS[0],
    "datacaching-graphanalytics": L2[2],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for seed, (program, driver) in enumerate(DRIVERS.items()):
        made_up.record(folder / "recordings", program, EVENTS, driver, seed=seed)
    return folder


def run(data, folder, pairs="all"):
    """Folder of the notebook's results."""
    url = f"sqlite:///{data / 'store.sqlite'}"
    store.rebuild(data / "recordings", url)
    given = {"pairs": pairs, "method": "scaling", "jobs": 1, "database": url, "n_seeds": 4}
    page = report.run_profile("smoke", ["09"], given, results=folder)
    return page.parent / "09_colocation"


@pytest.mark.full
@pytest.mark.slow
def test_the_notebook_finds_what_was_planted(data, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(data))
    folder = run(data, data / "results")
    ranked = pd.read_csv(folder / "importances.csv").groupby("program")["event"].first()
    assert ranked.to_dict() == DRIVERS
    moved = pd.read_csv(folder / "movement.csv").set_index(["pair", "alone"])
    still = moved.loc[("datacaching-datacaching", "datacaching")]
    other = moved.loc[("datacaching-graphanalytics", "datacaching")]
    assert len(moved) == 3 and (moved["events"] == len(EVENTS)).all()
    assert still["importance_shared"] > 0.8 > 0.3 > other["importance_shared"]
    assert other["importance_shared high"] < other["itself: importance_shared"]
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert all(np.isfinite(number["value"]) for number in manifest["numbers"])
    said = " ".join(finding["text"] for finding in manifest["findings"])
    assert "moved further than" in said and "was not seen to move further" in said


@pytest.mark.slow
def test_what_is_not_recorded_is_told_with_its_commands(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    made_up.record(tmp_path / "recordings", "datacaching", EVENTS, OTHERS[0], passes=1)
    told = (
        "run `cmlib record --program datacaching-datacaching`, `cmlib record --program graphanalytics`, "
        "`cmlib record --program datacaching-graphanalytics`"
    )
    with pytest.raises(NothingRecordedError, match=told):
        run(tmp_path, tmp_path / "results")
