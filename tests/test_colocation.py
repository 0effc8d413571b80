"""Pairs on one machine, on made-up recordings in the real format: what is found is what was planted."""

import json

import numpy as np
import pandas as pd
import pytest

from cmlib import events, report, store, study
from cmlib.errors import NothingRecordedError
from cmlib.fanout import Workers
from tests import made_up

PAIRS = {
    "datacaching-datacaching": ("datacaching",),
    "datacaching-graphanalytics": ("datacaching", "graphanalytics"),
}
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


@pytest.fixture(scope="module")
def url(data):
    url = f"sqlite:///{data / 'store.sqlite'}"
    store.rebuild(data / "recordings", url)
    return url


@pytest.fixture(scope="module")
def matrices(url):
    return {
        name: study.matrix(
            study.cleaned_runs(url, name, ["ocoe", "sweep"], method="scaling", workers=Workers(1))
        )
        for name in DRIVERS
    }


def test_the_pairs_are_those_that_were_recorded_alone_and_together(url):
    assert study.colocated(url) == PAIRS
    assert list(study.colocated(url, "datacaching-datacaching")) == ["datacaching-datacaching"]
    with pytest.raises(ValueError, match="no pair 'a-b'; there are datacaching-datacaching"):
        study.colocated(url, "a-b")


def test_what_is_not_recorded_is_told_with_its_commands(tmp_path):
    made_up.record(tmp_path / "recordings", "datacaching", EVENTS, OTHERS[0], passes=1)
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    store.rebuild(tmp_path / "recordings", url)
    told = (
        "run `cmlib record --program datacaching-datacaching`, `cmlib record --program graphanalytics`, "
        "`cmlib record --program datacaching-graphanalytics`"
    )
    with pytest.raises(NothingRecordedError, match=told):
        study.colocated(url)
    made_up.record(tmp_path / "recordings", "datacaching-datacaching", EVENTS, OTHERS[0], passes=1)
    store.rebuild(tmp_path / "recordings", url)
    assert list(study.colocated(url)) == ["datacaching-datacaching"]
    with pytest.raises(NothingRecordedError, match="--program graphanalytics"):
        study.colocated(url, "datacaching-datacaching,datacaching-graphanalytics")


@pytest.mark.slow
def test_a_ranking_that_was_made_to_move_moved_and_the_other_did_not(matrices):
    pairs = dict.fromkeys(PAIRS, ("datacaching",))
    moved = study.movement(matrices, pairs, seeds=range(4)).set_index(["pair", "alone"])
    still = moved.loc["datacaching-datacaching", "datacaching"]
    other = moved.loc["datacaching-graphanalytics", "datacaching"]
    assert len(moved) == 2 and (moved["events"] == len(EVENTS)).all()
    assert still["importance_shared"] > 0.8 > 0.3 > other["importance_shared"]
    assert other["importance_shared high"] < other["itself: importance_shared"]
    for row in moved.to_dict("records"):
        for name in ("importance_shared", "kendall", "spearman", "top10_shared"):
            assert -1 <= row[f"{name} low"] <= row[f"{name} high"] <= 1
            assert -1 <= row[f"itself: {name}"] <= 1


@pytest.mark.parametrize(
    "high, told", [(0.5, "moved further than two halves"), (0.8, "was not seen to move")]
)
def test_moved_is_said_where_the_interval_lies_below_what_the_lone_program_scores(high, told):
    row = {"pair": "p", "alone": "a", "spearman": 0.4, "spearman low": 0.3, "spearman high": 0.5}
    shared = {"importance_shared": 0.41, "importance_shared low": 0.2, "importance_shared high": high}
    said = study.say_movement(pd.DataFrame([row | shared | {"itself: importance_shared": 0.7}]))
    assert told in said and "0.40 (0.30 to 0.50)" in said and "41 % of the importance" in said


def test_halves_share_no_row_and_leave_none_out(matrices):
    whole = matrices["datacaching"]
    even, odd = study.colocation.halves(whole)
    assert len(even.X) + len(odd.X) == len(whole.X) and not set(even.X.index) & set(odd.X.index)
    assert abs(len(even.X) - len(odd.X)) <= 0.1 * len(whole.X)
    pd.testing.assert_series_equal(pd.concat([even.ipc, odd.ipc]).sort_index(), whole.ipc)


def test_units_of_the_leading_events_are_counted():
    draws = {"p": pd.DataFrame([dict(zip([*L2[:3], OTHERS[0], "unknown"], [5, 4, 3, 2, 1.0], strict=True))])}
    counted = study.leading_units(draws, TABLE, top=5).loc["p"]
    assert counted.to_dict() == {"l2-cache": 3, "branch-prediction": 1, "other": 1}
    assert study.leading_units(draws, TABLE, top=2).loc["p"].to_dict() == {"l2-cache": 2}


@pytest.mark.slow
def test_the_notebook_finds_what_was_planted(data, url, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(data))
    given = {"pairs": "datacaching-datacaching", "method": "scaling", "jobs": 1, "database": url}
    page = report.run_profile("smoke", ["09"], given, results=data / "results")
    folder = page.parent / "09_colocation"
    ranked = pd.read_csv(folder / "importances.csv").groupby("program")["event"].first()
    assert ranked.to_dict() == dict.fromkeys(["datacaching", "datacaching-datacaching"], OTHERS[0])
    numbers = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["numbers"]
    assert all(np.isfinite(number["value"]) for number in numbers) and len(numbers) == 4
