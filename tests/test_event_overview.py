"""What the first page says of one run: its phases, the events that a target follows, and what more would take."""

import gzip

import numpy as np
import pandas as pd
import pytest

from cmlib import experiments as study
from cmlib import places
from cmlib.collect.record import import_files
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.phases import describe_phases, round_to_three
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


def test_phases_are_drawn_for_one_run_and_not_for_several(data):
    several = {"IPC": {"one": data.ipc, "other": data.ipc}}
    assert study.with_phases(several) == several
    lines = study.with_phases({"x": {"one": data.ipc}})["x"]
    before = data.ipc.index < 20
    assert lines["phases"].nunique() == 2
    assert lines["phases"][before].iloc[0] == pytest.approx(data.ipc[before].mean())
    assert describe_phases(data.ipc).startswith("in 2 phases: 1,5") and " up to 20 s, " in describe_phases(
        data.ipc
    )
    assert (round_to_three(943_912_345.0), round_to_three(0.98765)) == ("944,000,000", "0.988")


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
    assert describe_phases(by_instructions(series)) == (
        "in 2 phases: 1 up to 197 million instructions, 5 up to 333 million instructions"
    )
    assert describe_phases(series).endswith("5 up to 0 s")
