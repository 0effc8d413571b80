"""Ways of cleaning judged on a simulated run, where every count is known."""

import numpy as np
import pandas as pd
import pytest

from cmlib import store, study
from cmlib.places import recordings_dir
from tests.small_runs import add_run


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A store of the committed simulated run."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "recordings").mkdir()
    (folder / "recordings/simulated-bzip2").symlink_to(recordings_dir() / "simulated-bzip2")
    url = f"sqlite:///{folder / 'store.sqlite'}"
    store.rebuild(folder / "recordings", url)
    return url


def test_errors_are_distances_from_the_counts_of_the_same_run(url):
    """Spelled out for what perf prints: the seen slots scaled up, or nothing where none was seen."""
    name = study.simulated_run(url)
    errors = study.replayed_errors(url, name, ["scaling"], group_counts=[3], slots=5)
    counts = store.load(url, name).counts
    for place, event in enumerate(errors["event"]):
        wrong = total = 0.0
        for first in range(0, len(counts) // 5 * 5, 5):
            slots = counts[event].to_numpy()[first : first + 5]
            turns = [k for k in range(5) if (first + k) % 3 == place % 3]
            wrong += abs(slots[turns].sum() * 5 / len(turns) - slots.sum())
            total += slots.sum()
        row = errors[errors["event"] == event].iloc[0]
        assert row["error"] == pytest.approx(100 * wrong / total)


def test_nothing_hidden_leaves_no_error_and_more_groups_more(url):
    name = study.simulated_run(url)
    errors = study.replayed_errors(url, name, ["scaling", "interpolate"], group_counts=[1, 2, 6])
    by_groups = errors.groupby(["method", "groups"])["error"].mean().unstack()
    np.testing.assert_allclose(by_groups[1], 0, atol=1e-9)
    assert (by_groups[6] > by_groups[2]).all() and (by_groups[2] > 0).all()


def test_without_a_simulated_run_there_is_none(tmp_path):
    add_run(tmp_path / "recordings", "measured", "ocoe", 0, 0, [("x", 3.0)])
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    store.rebuild(tmp_path / "recordings", url)
    assert study.simulated_run(url) is None


def test_a_matrix_of_exact_counts_is_judged_event_by_event():
    counted = np.exp(np.random.default_rng(0).normal(size=(240, 4)) / 5)
    counted = pd.DataFrame(counted, columns=["cycles", "a", "b", "never"]).assign(never=0.0)
    errors = study.replay_counts(counted, ["scaling", "joint"], rotations=[(2, 1), (2, 6)], phases=2)
    assert set(errors["event"]) == {"a", "b"} and len(errors) == 2 * 2 * 2 * 2
    row = errors.set_index(["event", "slots", "phase", "method"]).loc[("a", 6, 1, "scaling")]
    a = counted["a"].to_numpy().reshape(40, 6)
    off = np.abs(2 * a[:, 1::2].sum(axis=1) - a.sum(axis=1))
    assert row["error"] == pytest.approx(100 * off.mean() / a.sum(axis=1).mean())
    assert row["p95"] == pytest.approx(100 * np.quantile(off, 0.95) / a.sum(axis=1).mean())
    assert row["share"] == 50 and np.isnan(row["covered"])
    assert (
        errors.query("method == 'joint'")["covered"].between(50, 100).all()
        and errors["covered"].dtype == float
    )
    with pytest.raises(ValueError, match="12 intervals of 20"):
        study.replay_counts(counted, rotations=[(2, 20)])
