"""Runs cleaned into files and merged from them are what they are in memory."""

import pandas as pd
import pandas.testing as pdt
import pytest

from cmlib import fuse, study
from cmlib.errors import NothingRecordedError
from cmlib.fanout import Workers
from tests import made_up

EVENTS = [f"event_{number}" for number in range(6)]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    made_up.record(folder, "app", EVENTS, EVENTS[0])
    return study.open_database(f"sqlite:///{folder / 'store.sqlite'}", folder)


def test_files_hold_what_memory_would(url, tmp_path):
    runs = study.cleaned_runs(url, "app", ["ocoe", "sweep"], method="counterminer", workers=Workers(1))
    ids = ["app/ocoe-p0-00", "app/ocoe-p0-01", "app/ocoe-p1-00", "app/ocoe-p1-01", "app/sweep-p0-00"]
    files = list(study.clean_into(tmp_path, url, ids, method="counterminer", workers=Workers(1)))
    assert files == [tmp_path / f"{run_id}.parquet" for run_id in ids]
    assert sorted(tmp_path.rglob("*.*")) == files
    for file, counts in zip(files, runs["counts"], strict=True):
        pdt.assert_frame_equal(pd.read_parquet(file), counts)
    X, ipc = study.merge_files(files, 50, workers=Workers(1))
    expected_X, expected_ipc = fuse.align_runs(list(runs["counts"]), 50)
    pdt.assert_frame_equal(X[expected_X.columns], expected_X)
    pdt.assert_series_equal(ipc, expected_ipc)


def test_no_files_is_said():
    with pytest.raises(ValueError, match="no files"):
        study.merge_files([])


@pytest.mark.parametrize(
    ("program", "command"),
    [("sort", "`cmlib record --program sort`$"), ("mine", "`cmlib import mine FILE…`$")],
)
def test_a_program_that_is_not_recorded_is_told_with_its_own_command(url, program, command):
    with pytest.raises(NothingRecordedError, match=command):
        study.programs(url, program, modes=["ocoe"])
