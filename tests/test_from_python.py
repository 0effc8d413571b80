"""`cmlib.read`, `record` and `compare_programs` do what the commands do, and notebooks display their results."""

import json
import sys

import pytest

import cmlib
from cmlib import places
from cmlib.errors import CmlibError
from cmlib.io.store.raw import read_run
from tests.test_compare_command import kept

SHIPPED = places.shipped("recordings") / "gcc/mlpx12-p0-00.csv.gz"


def test_a_shipped_recording_is_read_as_the_store_reads_it():
    recordings = cmlib.read(SHIPPED)
    file = SHIPPED.parent / "mlpx12-p0-00.json"
    counts, running, _ = read_run(file, json.loads(file.read_text(encoding="utf-8")))
    (recording,) = recordings
    assert recording.counts.equals(counts[recording.counts.columns])
    assert recording.running.equals(running[recording.running.columns])
    assert len(recordings) == 1 and recordings.table()["intervals"].tolist() == [len(counts)]
    assert SHIPPED.name in recordings._repr_html_()


def test_what_is_no_recording_is_refused(tmp_path):
    file = tmp_path / "poem.txt"
    file.write_text("no counts\n", encoding="utf-8")
    with pytest.raises(CmlibError, match=r"poem\.txt"):
        cmlib.read(file)
    with pytest.raises(CmlibError, match="list of words"):
        cmlib.record("app", "sleep 1")


def test_a_program_is_recorded_and_read(best_perf, tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    command = [sys.executable, "-c", "sum(range(2 * 10**7))"]
    settings = {
        "mode": "ocoe",
        "events": "page-faults,context-switches",
        "pinned": ["task-clock"],
        "passes": 2,
    }
    recordings = cmlib.record("app", command, **settings)
    assert len(recordings) == 2
    assert all(recording.counts["page-faults"].sum() > 0 for recording in recordings)
    again = cmlib.record("app", command, **settings)
    assert again.names == recordings.names  # none was repeated


def test_a_comparison_is_shown_as_the_command_prints_it(tmp_path):
    old, new = kept(tmp_path, "old"), kept(tmp_path, "new", factor=1.4, severity=0.003, seed=1)
    comparison = cmlib.compare_programs(old, new)
    assert comparison.verdict == "slower" == comparison.result["verdict"]
    assert len(comparison.times()) == len(comparison.result["times"])
    assert "slower" in comparison._repr_markdown_() and "slower" in repr(comparison)
