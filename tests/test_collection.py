"""What notebook 01 says of recordings: machines, sets, counts that cannot be true, sums, and both ways of counting."""

import numpy as np
import pandas as pd
import pytest

from cmlib.experiments import collection
from cmlib.io.recording import make_recording

MACHINE = {
    "vendor": "AuthenticAMD",
    "model_name": "AMD EPYC",
    "processors": 2,
    "virtual": "kvm",
    "perf": "6.1",
}


def run_of(counts, *, mode="ocoe", number=0, share=1.0, **changes):
    """A run of four intervals of 0.1 s; `counts` has a number or four by event, beside instructions and cycles."""
    index = pd.Index([0.1, 0.2, 0.3, 0.4], name="time_s")
    frame = pd.DataFrame({"instructions": 1000.0, "cycles": 500.0} | counts, index)
    running = pd.DataFrame(share, index, frame.columns)
    meta = {
        "program": "p",
        "set": mode,
        "mode": mode,
        "pass": number,
        "run": f"{mode}-p{number}-00",
        "pinned": ["instructions", "cycles"],
        "groups": [list(counts)],
        "machine": MACHINE,
        "counters": {"offered": 6, "good": 5},
    }
    return make_recording(meta | changes, frame, running)


def test_machines_are_counted_and_what_is_not_known_stays_empty():
    unknown = run_of({"a": 1.0}, machine={}, counters=None, imported={"sha256": ""})
    machines = collection.describe_machines([run_of({"a": 1.0}), run_of({"a": 1.0}, number=1), unknown])
    assert list(machines["runs"]) == [2, 1]
    assert machines.loc[0, ["counted by", "processor", "good"]].tolist() == ["perf 6.1", "AMD EPYC", 5]
    assert machines.loc[1, ["counted by", "processor"]].tolist() == ["imported", ""]
    assert np.isnan(machines.at[1, "good"])


def test_a_set_is_summarized_over_its_passes():
    runs = [run_of({"a": 1.0, "b": 2.0}, mode="mlpx", number=number, share=0.25) for number in (0, 1)]
    (row,) = collection.describe_sets(runs).to_dict("records")
    assert (row["kind"], row["passes"], row["runs"], row["events"]) == ("MLPX", 2, 2, 2)
    assert row["intervals"] == 8 and row["running share"] == pytest.approx(0.25)


def test_a_count_of_thousands_per_cycle_is_listed_and_left_out_of_totals():
    run = run_of({"a": [10.0, 1e9, 10.0, np.nan], "b": np.nan})
    listed = collection.list_impossible([run])
    assert listed[["event", "count", "cycles"]].to_numpy().tolist() == [["a", 1e9, 500.0]]
    totals = collection.total_counts([run]).set_index("event")
    assert totals.at["a", "total"] == 20 and totals.at["a", "per 1,000 instructions"] == pytest.approx(5)
    assert np.isnan(totals.at["b", "total"]) and "cycles" not in totals.index


def test_without_cycles_no_count_is_impossible():
    run = run_of({"a": 1e12})
    counts = run.counts.drop(columns="cycles")
    lacking = make_recording(run.meta, counts, run.running[list(counts)])
    assert collection.list_impossible([lacking]).empty


def test_multiplexed_totals_are_compared_with_passes_that_differ_themselves():
    ocoe = [run_of({"a": 10.0, "b": 10.0}, number=0), run_of({"a": 11.0, "b": 10.0}, number=1)]
    mlpx = run_of({"a": 20.0, "b": 5.0, "c": 1.0}, mode="mlpx")
    modes = collection.compare_modes(collection.total_counts([*ocoe, mlpx])).set_index("event")
    assert list(modes.index) == ["a", "b"]  # c was counted one way only
    assert modes.at["a", "between passes [%]"] == pytest.approx(50 * (0.1 + 1 - 10 / 11))
    assert list(modes["multiplexed [%]"]) == pytest.approx([50 * (1 + 20 / 11 - 1), 50])
    assert modes.at["b", "between passes [%]"] == 0


def test_one_pass_has_no_baseline_and_is_not_compared():
    totals = collection.total_counts([run_of({"a": 10.0}), run_of({"a": 12.0}, mode="mlpx")])
    assert collection.compare_modes(totals).empty


def test_sums_are_told_apart_by_whether_they_share_a_group(monkeypatch):
    monkeypatch.setattr(collection, "known_sums", lambda run: [("all", ("x", "y")), ("all", ("x", "z"))])
    together = run_of({"all": 10.0, "x": 4.0, "y": 6.0})
    turns = run_of({"all": 10.0, "x": 4.0, "y": 5.0}, mode="mlpx", groups=[["all", "x"], ["y"]])
    sums = collection.check_sums([together, turns])
    assert sums["same group"].tolist() == [False, True]
    assert sums["difference [%]"].tolist() == pytest.approx([-10, 0])
    assert sums["counts per interval"].tolist() == pytest.approx([-1, 0])


def test_counts_by_hand_need_the_published_recordings(monkeypatch, tmp_path):
    monkeypatch.setenv("CMLIB_PUBLIC", str(tmp_path))
    assert collection.compare_with_counts_by_hand() is None
    folder = tmp_path / "totals/deterministic"
    folder.mkdir(parents=True)
    rows = ["section,expected,raw_average,all_values", "Loads,100,100,100;100", "Loads,100,150,149;151"]
    (folder / "expected.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    row = collection.compare_with_counts_by_hand().loc["Loads"]
    assert row.tolist() == pytest.approx([2, 1, 1, 25, 50])
