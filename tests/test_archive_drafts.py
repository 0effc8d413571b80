"""A store that is being made never shows, and what a killed maker has left is cleared away by the next."""

import os
import signal
import subprocess
import sys

import pytest

from cmlib.io import store
from cmlib.io.archive import atomic_output
from cmlib.io.store.database import VERSION, replacing
from tests import made_up

# Fills its draft beyond SQLite's cache, so that a journal lies beside it, says so, and waits to be killed.
BUILDER = """
import sys
import pandas as pd
from cmlib.io.store.database import VERSION, replacing
with replacing(sys.argv[1]) as connection:
    connection.exec_driver_sql("PRAGMA cache_size = 1")
    pd.DataFrame({"version": range(100_000)}).to_sql(VERSION, connection, if_exists="append", index=False)
    print("half way", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def builder(tmp_path):
    """A process in the middle of making a store."""
    command = [sys.executable, "-c", BUILDER, f"sqlite:///{tmp_path}/of [all].sqlite"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "half way\n"
        yield process
        process.kill()


def drafts(folder):
    return sorted(path.name for path in folder.glob("*.partial/*"))


@pytest.mark.slow
def test_what_a_killed_builder_left_is_removed_by_the_next_and_a_living_ones_is_not(builder, tmp_path):
    url = f"sqlite:///{tmp_path}/of [all].sqlite"
    made_up.record(tmp_path / "recordings", "app", ["a", "b", "c"], "a", passes=1, n_intervals=5)
    half_done = drafts(tmp_path)
    assert half_done == ["of [all].sqlite", "of [all].sqlite-journal"]
    store.rebuild(tmp_path / "recordings", url)
    assert drafts(tmp_path) == half_done
    builder.send_signal(signal.SIGKILL)
    assert builder.wait() == -signal.SIGKILL
    assert drafts(tmp_path) == half_done
    before = store.runs(url)
    store.rebuild(tmp_path / "recordings", url)
    assert sorted(os.listdir(tmp_path)) == ["of [all].sqlite", "recordings"]
    assert store.runs(url).equals(before) and len(before) == 2


def test_of_two_builders_the_last_to_end_stays(tmp_path):
    url = f"sqlite:///{tmp_path}/store.sqlite"
    with replacing(url) as first:
        with replacing(url) as second:
            second.exec_driver_sql(f"INSERT INTO {VERSION} (version) VALUES (-2)")
        first.exec_driver_sql(f"INSERT INTO {VERSION} (version) VALUES (-1)")
        assert len(drafts(tmp_path)) >= 1
    assert os.listdir(tmp_path) == ["store.sqlite"]
    with store.database.reading(url) as connection:
        assert connection.exec_driver_sql(f"SELECT version FROM {VERSION}").scalars().all() == [
            store.SCHEMA,
            -1,
        ]


def test_other_drafts_are_left_alone(tmp_path):
    target = tmp_path / "a.csv"
    (tmp_path / "a.csv.x.partial").write_text("a file of somebody else")
    (tmp_path / "b.a.csv.x.partial").mkdir()
    with atomic_output(target) as draft:
        draft.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    with pytest.raises(ZeroDivisionError), atomic_output(target) as draft:
        draft.write_text("half")
        1 / 0  # noqa: B018
    assert target.read_text() == "whole"
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "a.csv.x.partial", "b.a.csv.x.partial"]
