"""Notebooks of other people's recordings: what they find on those that come with the package, and what they refuse."""

import numpy as np
import pandas as pd
import pytest

from cmlib import places, report
from cmlib.errors import NothingRecordedError
from cmlib.experiments.published import cloudsuite, how_to_get, shorten_event
from cmlib.io import public

HERE = "graph_analytics"
PUBLIC = places.external_data_dir()


@pytest.fixture(scope="module")
def data_by_processor():
    return cloudsuite(HERE)


@pytest.mark.slow
def test_rows_are_rates_of_all_runs_and_tell_neither_instructions_nor_cycles(data_by_processor):
    for data in data_by_processor.values():
        assert data.runs > 1 and len(data.X) == len(data.ipc) <= 500
        ratio = data.counts["instructions"] / data.counts["cycles"]
        np.testing.assert_allclose(data.ipc, ratio)
        again = data.X["branches"] * data.counts["instructions"]
        np.testing.assert_allclose(again, data.counts["branches"])
        assert not {"instructions", "cycles", "UOPS_RETIRED_ALL", "RETIRED_UOPS", "seconds"} & set(data.X)


def test_short_names_of_events_differ(data_by_processor):
    for data in data_by_processor.values():
        short_names = {shorten_event(event) for event in data.X}
        assert len(short_names) == data.X.shape[1]


@pytest.mark.parametrize(
    ("event", "short_name"),
    [
        ("L1-dcache-load-misses", "L1D load misses"),
        ("FP_COMP_OPS_EXE_SSE_SCALAR_DOUBLE", "FP scalar double"),
        ("L2_RQSTS_CODE_RD_MISS", "L2 code read miss"),
    ],
)
def test_names_of_events_are_shortened_for_figures(event, short_name):
    assert shorten_event(event) == short_name


def test_another_program_than_cloudsuites_is_left_to_other_notebooks():
    with pytest.raises(NothingRecordedError, match="is not among CloudSuite's programs"):
        cloudsuite("gcc")


def test_a_model_of_cloudsuite_errs_less_than_what_looks_at_no_event(smoke):
    errors = pd.read_csv(smoke / "cloudsuite/errors.csv")
    assert (errors["events"] < errors["best constant"]).all()
    assert (errors["best constant"] <= errors["mean"] * 1.05).all()


def test_what_is_not_here_is_left_out_with_the_command_that_has_it(tmp_path, monkeypatch):
    monkeypatch.delenv("CMLIB_PUBLIC", raising=False)
    monkeypatch.setattr(public, "cache_dir", lambda: tmp_path)
    assert "`cmlib fetch nfv-haswell`" in how_to_get("nfv-haswell")


@pytest.mark.slow
@pytest.mark.skipif(not PUBLIC or not (PUBLIC / "intervals").is_dir(), reason="takes CMLIB_PUBLIC")
def test_on_fetched_recordings_attacks_are_found(tmp_path):
    folder = report.run_profile("paper", ["spectre"], {}, results=tmp_path).parent
    judged = pd.read_csv(folder / "spectre/intruder.csv").groupby("attack")[["runs", "anomalous"]].sum()
    assert judged.loc["yes", "anomalous"] == judged.loc["yes", "runs"] and judged.loc["no", "anomalous"] <= 1


@pytest.mark.slow
@pytest.mark.skipif(not PUBLIC or not (PUBLIC / "cache-attack").is_dir(), reason="takes CMLIB_PUBLIC")
def test_cache_attacks_are_found_under_the_load_of_training_alone(tmp_path):
    folder = report.run_profile("paper", ["cache_attacks"], {}, results=tmp_path).parent / "cache_attacks"
    both = pd.concat([pd.read_csv(folder / name) for name in ("detectors.csv", "trees.csv")])
    f1 = both.set_index(["method", "trained on", "judged"])["F1, attacks that ran"]
    for load in ("no-load", "avg-load"):
        same = f1.xs((load, load), level=["trained on", "judged"])
        assert same["AutoPerf"] > 0.95 > same["isolation forest"] > same["always"] > 0.6
        assert same["C4.5"] > 0.9 > 0.7 > same["C4.5, shuffled labels"]
    assert f1["AutoPerf", "no-load", "avg-load"] == f1["always", "no-load", "avg-load"]
    targets = pd.read_csv(folder / "targets.csv").set_index("target")
    assert list(targets.index[(targets < 1).all(axis=1)]) == ["libssl.so.1.1", "libcrypto.so.1.1"]
