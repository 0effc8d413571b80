"""Correlations with IPC, counted all the time and multiplexed, on made-up recordings."""

import pytest
from scipy.stats import spearmanr

from cmlib import experiments as study
from cmlib import merge
from cmlib.io import store
from cmlib.parallel import Workers
from tests import made_up

EVENTS = [f"event_{number}" for number in range(3)]
ONE = Workers(1)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    made_up.record(folder, "both", EVENTS, EVENTS[0], multiplexed="mlpx3", passes=1)
    made_up.record(folder, "sweep only", EVENTS, EVENTS[0], passes=1)
    return study.open_database(f"sqlite:///{folder / 'store.sqlite'}", folder)


def correlations(url, kind, method):
    runs = study.cleaned_runs(url, "both", [kind], method=method, workers=ONE)
    X, ipc = merge.align_runs(list(runs["counts"]))
    return [spearmanr(X[event], ipc).statistic for event in EVENTS]


def test_they_are_those_of_the_aligned_runs(url):
    found = study.correlations_with_ipc(url, "both", workers=ONE).set_index("method")
    counted = correlations(url, "ocoe", "interpolate")
    assert counted[0] < -0.99, "the driver is planted"
    assert (found["events"] == 3).all() and list(found.index) == ["interpolate", "counterminer", "kalman"]
    for method, row in found.iterrows():
        multiplexed = correlations(url, "mlpx3", method)
        assert row["counted"] == pytest.approx(sum(map(abs, counted)) / 3)
        assert row["multiplexed"] == pytest.approx(sum(map(abs, multiplexed)) / 3)
        distances = [abs(one - other) for one, other in zip(counted, multiplexed, strict=True)]
        assert row["distance"] == pytest.approx(sum(distances) / 3)


def test_without_runs_to_compare_there_is_nothing_to_say(url):
    assert study.correlations_with_ipc(url, "sweep only", workers=ONE).empty
    assert set(store.runs(url, program="sweep only")["set"]) == {"ocoe", "sweep"}
