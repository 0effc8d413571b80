"""What one run cannot tell, and which targets events give away."""

import gzip

import pytest

from cmlib import experiments as study
from cmlib import places
from cmlib.collect.record import import_files
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.targets import Target
from cmlib.io import store
from tests.small_runs import add_run


def test_what_one_run_can_not_tell_is_said_with_what_can(tmp_path):
    raw = gzip.decompress((places.recordings_dir() / "gcc/mlpx12-p0-00.csv.gz").read_bytes())
    (tmp_path / "one.csv").write_bytes(raw)
    import_files("app", [tmp_path / "one.csv"], folder=tmp_path / "recordings")
    url = store.refresh(tmp_path / "recordings", f"sqlite:///{tmp_path}/store.sqlite")
    with pytest.raises(UnfitRecordingError, match="'app' has no run without multiplexing"):
        study.programs(url, "app", modes=["ocoe", "mlpx"])


def test_energy_is_not_explained_by_a_part_of_it():
    power = Target("power/energy-pkg/")
    assert power.leaks_target("power/energy-cores/") and not power.leaks_target("cycles")
    assert study.IPC.leaks_target("ref-cycles") and not study.IPC.leaks_target("power/energy-pkg/")


def test_all_programs_are_those_recorded_here_unless_there_are_none(tmp_path):
    """What was brought in from elsewhere does not enter the means of the paper profile."""
    folder = tmp_path / "recordings"
    events = [("instructions", 2e8), ("cycles", 1e8)]
    add_run(folder, "theirs", "a", 0, 0, events, imported=True)
    url = store.refresh(folder, f"sqlite:///{tmp_path}/store.sqlite")
    assert study.programs(url) == ["theirs"]
    add_run(folder, "ours", "a", 0, 0, events)
    url = store.refresh(folder, f"sqlite:///{tmp_path}/store.sqlite")
    assert study.programs(url) == ["ours"] and study.programs(url, "theirs") == ["theirs"]
