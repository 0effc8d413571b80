"""What is said and explained of a simulated program: the committed run of bzip2, and planted phases."""

import numpy as np
import pytest

from cmlib import experiments as study
from cmlib import places
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.targets import charged_shares
from cmlib.io import store
from cmlib.io.events import simulated_events
from cmlib.io.recording import INSTRUCTIONS
from cmlib.parallel import Workers
from cmlib.rank.leaks import is_simulated_leak

NAME = "simulated-bzip2"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    (folder / "recordings").mkdir()
    (folder / "recordings" / NAME).symlink_to(places.recordings_dir() / NAME)
    return store.refresh(folder / "recordings", f"sqlite:///{folder}/store.sqlite")


@pytest.fixture(scope="module")
def counts(url):
    return study.cleaned_runs(url, NAME, ["sim"], workers=Workers(1))["counts"].iloc[0]


def test_the_event_that_most_cycles_are_charged_to_is_explained_per_1000_instructions(url, counts):
    names, target = study.choose_target(url, NAME)
    weights = simulated_events()["weight"].drop(INSTRUCTIONS)
    charged = counts.sum()[weights.index[weights > 0]] * weights[weights > 0]
    assert (names, target.event) == ([NAME], charged.idxmax())
    assert target.name == f"{target.event} per 1,000 instructions"
    data = study.recorded_matrix(url, NAME, target)
    np.testing.assert_allclose(data.ipc, 1000 * counts[target.event] / counts[INSTRUCTIONS])
    np.testing.assert_allclose(data.X["sim.loads"], 1000 * counts["sim.loads"] / counts[INSTRUCTIONS])
    np.testing.assert_allclose(data.ipc.index, counts.index)
    assert data.holdout is None and INSTRUCTIONS not in data.X
    share = 100 * charged.max() / (charged.sum() + counts[INSTRUCTIONS].sum())
    assert 100 * charged_shares(url, [f"{NAME}/sim-p0-00"])[target.event] == pytest.approx(share, rel=1e-3)


@pytest.mark.parametrize(
    "text", ["sim.loads", "sim.loads per 1,000 instructions", "sim.loads per sim.stores"]
)
def test_an_event_by_choice_is_per_1000_instructions_or_per_another(url, counts, text):
    _, target = study.choose_target(url, NAME, text)
    base = counts["sim.stores"] if "stores" in text else counts[INSTRUCTIONS] / 1000
    expected = (counts["sim.loads"] / base)[base > 0]
    np.testing.assert_allclose(study.recorded_matrix(url, NAME, target).ipc, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sim.loads per second", "no run that counts second, sim.loads .* by `-p target=…`: 'sim."),
        (INSTRUCTIONS, "per 1,000 instructions is the same all the time"),
        ("IPC", "no run that counts cycles, instructions"),
    ],
)
def test_what_a_simulation_can_not_explain_is_said_with_what_it_can(url, text, message):
    with pytest.raises(UnfitRecordingError, match=message):
        study.choose_target(url, NAME, text)


def test_no_target_is_explained_by_what_counts_some_of_the_same():
    misses = [f"sim.{level}_load_misses" for level in ("l1d", "l2", "ll")]
    for one in misses:
        assert all(is_simulated_leak(other, one) for other in misses)
        assert is_simulated_leak(one, "sim.loads") and not is_simulated_leak("sim.loads", one)
        assert not is_simulated_leak(one.replace("load", "store"), one)
    assert is_simulated_leak("sim.ll_instruction_misses", "sim.l1i_misses")
    assert is_simulated_leak("sim.indirect_mispredictions", "sim.indirect_branches")
    assert not is_simulated_leak("sim.conditional_mispredictions", "sim.indirect_mispredictions")


def test_a_run_that_executes_the_same_is_neither_trained_nor_tested_on(url, counts):
    _, target = study.choose_target(url, NAME)
    once = study.cleaned_runs(url, NAME, ["sim"], workers=Workers(1))
    thrice = once.loc[[0, 0, 0]].assign(**{"pass": [0, 1, 2]})
    data = study.matrix(thrice, target=target)
    assert len(data.X) == len(counts) and data.holdout is None


def test_simulated_counts_are_never_cleaned(url, counts):
    for method in ("counterminer", "shrinkage"):
        cleaned = study.cleaned_runs(url, NAME, ["sim"], method=method, workers=Workers(1))
        assert cleaned["counts"].iloc[0].equals(counts)


def test_a_run_of_few_intervals_is_to_be_made_longer_and_not_by_perf(url, monkeypatch):
    monkeypatch.setattr("cmlib.experiments.targets.FEWEST_INTERVALS", 1000)
    with pytest.raises(UnfitRecordingError, match="a model needs 1000. Give the program more work"):
        study.choose_target(url, NAME)
