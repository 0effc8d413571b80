"""What the first page says of one run: its phases, the events that a target follows, and what more would take."""

import gzip

import numpy as np
import pandas as pd
import pytest

from cmlib import experiments as study
from cmlib import places, rank
from cmlib.collect.record import import_files
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.phases import say_phases, say_value
from cmlib.experiments.targets import Target
from cmlib.io.recording import by_instructions


@pytest.fixture(scope="module")
def data():
    """A target that follows one of three events, in two phases."""
    rng = np.random.default_rng(0)
    time = pd.Index(np.arange(1, 121) / 2, name="time_s")
    X = pd.DataFrame(rng.random((120, 3)), time, ["a", "b", "c"])
    X["a"] += np.where(time < 20, 0, 3)
    return study.Matrix(X, (1e6 * (1 + X["a"])).rename("requests per second"), None, Target("requests"))


@pytest.fixture(scope="module")
def refined(data):
    return study.refine(data)


def test_a_target_is_told_with_its_phases_its_event_and_both_errors(data, refined):
    spread = rank.importance_spread(rank.draw_importances(data.X, data.ipc, seeds=range(3)))
    told = study.say_followed(data, refined, spread)
    assert "`requests per second` is 3,5" in told["limits"] and "in 2 phases" in told["limits"]
    assert told["limits"].endswith("it follows **a** most")
    error, mean = refined.nested_error, refined.errors["blocks_mean_baseline"]
    assert error < mean / 3
    assert told["sure"].endswith(
        f"errs by {error:.1f} % of its mean on stretches that it never saw, the mean by {mean:.1f} %"
    )
    bars = study.event_bars(spread, n=2)
    assert bars["name"][0] == "a" and bars["value"][0] == spread["mean"].iloc[0]
    assert bars["note"][0] == "rank 1 to 1" and bars["low"].le(bars["high"]).all() and len(bars) == 2


def test_what_no_event_tells_is_said_to_be_so(data):
    rng = np.random.default_rng(1)
    noise = study.Matrix(data.X, pd.Series(1 + 0.1 * rng.random(120), data.X.index), None, Target("requests"))
    spread = rank.importance_spread(rank.draw_importances(noise.X, noise.ipc, seeds=range(3)))
    told = study.say_followed(noise, study.refine(noise), spread)
    assert told["limits"].endswith("none of the events tells it better than its mean does")


def test_phases_are_drawn_for_one_run_and_not_for_several(data):
    several = {"IPC": {"one": data.ipc, "other": data.ipc}}
    assert study.with_phases(several) == several
    lines = study.with_phases({"x": {"one": data.ipc}})["x"]
    before = data.ipc.index < 20
    assert lines["phases"].nunique() == 2
    assert lines["phases"][before].iloc[0] == pytest.approx(data.ipc[before].mean())
    assert say_phases(data.ipc).startswith("in 2 phases: 1,5") and " up to 20 s, " in say_phases(data.ipc)
    assert (say_value(943_912_345.0), say_value(0.98765)) == ("944,000,000", "0.988")


def test_what_one_run_can_not_tell_is_said_with_what_can(tmp_path):
    raw = gzip.decompress((places.recordings_dir() / "gcc/mlpx12-p0-00.csv.gz").read_bytes())
    (tmp_path / "one.csv").write_bytes(raw)
    import_files("app", [tmp_path / "one.csv"], folder=tmp_path / "recordings")
    url = study.open_database(f"sqlite:///{tmp_path}/store.sqlite", tmp_path / "recordings")
    with pytest.raises(
        UnfitRecordingError, match="'app' has 1 such run. One run needs no merging: notebook 03"
    ):
        study.mergeable(url, "app")
    with pytest.raises(UnfitRecordingError, match="to a multiplexed run alone is in notebook 02b"):
        study.recorded_both_ways(url, "app")


def test_energy_is_not_explained_by_a_part_of_it():
    power = Target("power/energy-pkg/")
    assert power.gives_away("power/energy-cores/") and not power.gives_away("cycles")
    assert study.IPC.gives_away("ref-cycles") and not study.IPC.gives_away("power/energy-pkg/")


def test_phases_of_a_simulated_run_are_told_in_instructions():
    index = pd.Index(np.arange(1, 101) / 300, name="time_s")
    series = pd.Series(np.where(index < 0.2, 1.0, 5.0), index)
    assert say_phases(by_instructions(series)) == (
        "in 2 phases: 1 up to 197 million instructions, 5 up to 333 million instructions"
    )
    assert say_phases(series).endswith("5 up to 0 s")
