"""Programs alone and beside neighbors: which intervals are compared, and the shipped tables."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cmlib.errors import CmlibError
from cmlib.experiments import colocated
from cmlib.io import public

ROOT = Path(__file__).resolve().parents[1]
TABLES = ["totals", "impossible", "shared", "importances", "models", "quiet"]


def make_run(seconds, *, rate=1e9, cpi=1.0):
    """A run with one interval per second, which retires `rate` instructions in each."""
    counts = dict.fromkeys(colocated.COUNTS, 1.0)
    counts |= {
        "instructions": rate,
        "cycles": cpi * rate,
        "wall_cycles": colocated.REFERENCE_HZ,
        "llc_size": 1.0,
    }
    return pd.DataFrame([counts] * seconds)


def name_runs(monkeypatch, rows):
    columns = ["file", "setting", "recording", "program", "neighbor"]
    monkeypatch.setattr(colocated, "list_recordings", lambda: pd.DataFrame(rows, columns=columns))


def test_every_recording_names_its_neighbor():
    listed = colocated.list_recordings()
    assert listed["setting"].value_counts().to_dict() == {"mix": 64, "alone": 27, "pair": 10}
    large = listed[listed["file"].str.endswith("sc+MG.D-nn+canneal.MG.csv")].iloc[0]
    assert (large["program"], large["neighbor"], large["other_socket"]) == (
        "MG.D",
        "streamcluster",
        "nn+canneal",
    )
    for _, together in listed[listed["setting"] != "alone"].groupby("recording"):
        by_program = together.set_index("program")["neighbor"]
        assert all(by_program[by_program[program]] == program for program in by_program.index)


def test_counts_near_the_end_of_64_bits_are_impossible():
    counts = pd.DataFrame({"cycles": [1.7e9, 2.0**64 - 4096, 0.0], "l3miss": [5.0, 6.0, -1.0]})
    assert colocated.find_impossible(counts).to_numpy().tolist() == [
        [False, False],
        [True, False],
        [False, True],
    ]


def test_a_pair_is_compared_while_both_programs_ran(monkeypatch):
    pair = [("A+B.A", "pair", "A+B", "A", "B"), ("A+B.B", "pair", "A+B", "B", "A")]
    name_runs(monkeypatch, [*pair, ("A", "alone", "A", "A", ""), ("B", "alone", "B", "B", "")])
    runs = {"A+B.A": make_run(30), "A+B.B": make_run(10), "A": make_run(15, rate=2e9), "B": make_run(10)}
    together, quiet = colocated.match_pairs(runs)
    assert {file: len(run) for file, run in together.items()} == {"A+B.A": 10, "A+B.B": 10}
    assert quiet["A+B.A"]["instructions"].sum() == together["A+B.A"]["instructions"].sum() == 10e9


def test_a_mix_is_compared_with_work_after_the_neighbor_ended_in_another_mix(monkeypatch):
    mixes = [
        (f"A+{other}.{name}", "mix", f"A+{other}", name, beside)
        for other in "BC"
        for name, beside in (("A", other), (other, "A"))
    ]
    name_runs(monkeypatch, mixes)
    runs = {
        "A+B.A": make_run(20),
        "A+B.B": make_run(4),
        "A+C.A": make_run(20, cpi=2.0),
        "A+C.C": make_run(16),
    }
    together, quiet = colocated.match_mixes(runs)
    assert list(together) == ["A+C.A"]
    pd.testing.assert_frame_equal(together["A+C.A"], runs["A+C.A"].iloc[4:16])
    pd.testing.assert_frame_equal(quiet["A+C.A"], runs["A+B.A"].iloc[4:16])


def test_a_set_that_is_partly_here_is_refused(monkeypatch):
    content = make_run(2).to_csv(index=False).encode()
    monkeypatch.setattr(public, "read", lambda name: content if "alone" in name else None)
    with pytest.raises(CmlibError, match="cmlib fetch colocated"):
        colocated.read_runs()


def test_a_set_that_is_not_here_gives_no_runs(monkeypatch):
    monkeypatch.setattr(public, "read", lambda name: None)
    assert colocated.read_runs() == {}


def test_predictions_do_not_depend_on_the_recording_alone_of_the_same_program(monkeypatch):
    rng = np.random.default_rng(0)
    runs, rows = {}, []
    for program in "ABCDEF":
        run = make_run(60, cpi=rng.uniform(1, 3))
        for count in ("l2miss", "l3miss", "intra_coh", "stall_cycles"):
            run[count] = rng.uniform(0.01, 0.1, len(run)) * run["instructions"]
        runs[program] = run
        rows.append((program, "alone", program, program, ""))
    name_runs(monkeypatch, [*rows, ("A+B.A", "pair", "A+B", "A", "B")])
    beside = {"A+B.A": runs["A"].assign(cycles=2 * runs["A"]["cycles"])}
    first = colocated.predict_quiet(runs, beside)
    without = {program: run for program, run in runs.items() if program != "A"}
    second = colocated.predict_quiet(without, beside)
    pd.testing.assert_series_equal(first["predicted"], second["predicted"])
    assert (first["predicted"] <= first["recorded"]).all() and (first["low"] <= first["high"]).all()


@pytest.mark.parametrize("name", TABLES)
def test_shipped_tables_are_complete(name):
    table = colocated.read_table(name)
    rows = {
        "totals": 101,
        "impossible": 2,
        "shared": 2 * 23,
        "importances": 20 * len(colocated.FEATURES),
        "models": 20,
        "quiet": 3 * 23,
    }
    assert (
        len(table) == rows[name] and not table.drop(columns=["measured"], errors="ignore").isna().all().any()
    )


@pytest.mark.slow
def test_shipped_tables_are_those_of_the_recordings():
    if public.read(public.files(colocated.SET)["file"].iloc[0]) is None:
        pytest.skip("takes the public set colocated: cmlib fetch colocated, or CMLIB_PUBLIC")
    spec = importlib.util.spec_from_file_location(
        "make_colocated_tables", ROOT / "tools/make_colocated_tables.py"
    )
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for name, made in tool.make_tables().items():
        columns = {"neighbor": "", "other_socket": ""}
        made = made.fillna({column: text for column, text in columns.items() if column in made})
        pd.testing.assert_frame_equal(
            made, colocated.read_table(name), rtol=1e-4, atol=1e-9, check_dtype=False, check_column_type=False
        )
