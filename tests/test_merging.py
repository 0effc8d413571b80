"""Runs and programs put together: sizes, pictures, models of all programs, and events in common."""

import statistics

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest

from cmlib import plot, rank, study
from cmlib.study import Matrix


def run_of(rng, events, n=40):
    """Counts of one run whose IPC falls with its first event."""
    counts = pd.DataFrame({event: rng.integers(1, 1000, n).astype(float) for event in events})
    counts["instructions"] = 1e6
    counts["cycles"] = 1e6 * (1 + counts[events[0]] / 500)
    return counts


def runs_of(groups, passes, seed=0):
    rng = np.random.default_rng(seed)
    counts = [run_of(rng, list(events)) for events in groups]
    return pd.DataFrame({"set": "ocoe", "pass": passes, "counts": counts})


RUNS = runs_of(["abc", "de", "abc"], [0, 0, 1])


def matrix_of(rng, events, low, high, n=100, slope=1.0):
    """A program whose IPC follows the first of its events, which lies between `low` and `high`."""
    progress = pd.Index((np.arange(n) + 0.5) / n, name="progress")
    X = pd.DataFrame({event: rng.uniform(0, 1, n) for event in events}, progress)
    X[events[0]] = rng.uniform(low, high, n)
    return Matrix(X, (1 + slope * X[events[0]]).rename("ipc"), None)


def test_run_times_have_the_mean_and_variance_of_their_definition():
    times = pd.DataFrame({"program": list("aaab"), "seconds": [1.0, 2.0, 6.0, 4.0]})
    found = study.run_time_spread(times).set_index("program").loc["a"]
    seconds = [1.0, 2.0, 6.0]
    assert found["runs"] == 3 and (found["least [s]"], found["most [s]"]) == (1, 6)
    assert found["mean [s]"] == pytest.approx(statistics.mean(seconds))
    assert found["variance [s²]"] == pytest.approx(statistics.variance(seconds))
    assert found["sd [% of mean]"] == pytest.approx(100 * statistics.stdev(seconds) / 3)


def test_the_merged_matrix_has_a_block_a_run_and_zeros_elsewhere():
    stacked = study.merged(RUNS)["stacked"]
    assert list(stacked) == list("abcde") and len(stacked) == 120
    counted = {0: "abc", 1: "de", 2: "abc"}
    for (run, _), row in stacked.iterrows():
        assert all(row[event] == 0 for event in stacked if event not in counted[run])
    assert (stacked.max() == 1).all() and (stacked.min() == 0).all()


def test_the_sizes_are_those_of_the_equations():
    shape = study.merged_shape(RUNS)
    sets = [set("abc"), set("de"), set("abc")]
    assert shape["runs"] == 3 and shape["events a run"] == "2–3"
    assert shape["events"] == len(set.union(*sets)) and shape["in several runs"] == 3
    assert shape["rows, stacked"] == sum(len(counts) for counts in RUNS["counts"])
    assert shape["filled, stacked [%]"] == pytest.approx(100 * (40 * 3 + 40 * 2 + 40 * 3) / (120 * 5))
    assert shape["filled, aligned [%]"] == 100


def test_the_stacked_refinement_takes_the_first_pass_only():
    history = study.refine_stacked(RUNS, step=2)
    assert list(history["n_events"]) == [5, 3, 1]
    assert history[["error", "mean_baseline"]].notna().all(axis=None)
    other = runs_of(["abc", "de", "abc"], [0, 0, 1])
    other["counts"].iloc[2]["a"] *= 3
    pd.testing.assert_frame_equal(history, study.refine_stacked(other, step=2))


def test_mixing_keeps_the_events_that_all_have_and_every_row():
    rng = np.random.default_rng(0)
    one, other = matrix_of(rng, list("abc"), 0, 1), matrix_of(rng, list("bca"), 0, 1, n=30)
    del other.X["b"]
    both = study.mixed({"one": one, "other": other})
    assert list(both.X) == ["a", "c"] and both.holdout is None
    pd.testing.assert_frame_equal(both.X.loc["other"], other.X[["a", "c"]])
    pd.testing.assert_series_equal(both.ipc.loc["one"], one.ipc)
    assert len(both.X) == len(both.ipc) == 130


def test_a_model_of_all_programs_serves_those_that_follow_one_law():
    rng = np.random.default_rng(1)
    programs = {name: matrix_of(rng, list("ab"), 0, 4) for name in ("one", "two")}
    programs["against"] = matrix_of(rng, list("ab"), 0, 0.9, slope=-1)
    errors = study.mixed_errors(study.mixed(programs)).set_index("program")
    for name in ("one", "two"):
        data = programs[name]
        expected = rank.relative_error(data.ipc, np.full(len(data.ipc), data.ipc.mean()))
        assert errors.at[name, "its own mean"] == pytest.approx(expected, rel=0.1)
        assert errors.at[name, "of its own"] < 0.2 * expected
        assert errors.at[name, "of all programs"] < 0.4 * expected
    said = study.say_mixed(errors.reset_index())
    assert f"{errors['of all programs'].mean():.1f} %" in said and "at worst (against)" in said
    assert errors.at["against", "of the others"] > 2 * errors.at["against", "of its own"]


def test_one_program_alone_is_no_error():
    only = {"only": matrix_of(np.random.default_rng(2), list("ab"), 0, 1)}
    (row,) = study.mixed_errors(study.mixed(only)).to_dict("records")
    assert row["of all programs"] == row["of its own"] and np.isnan(row["of the others"])
    assert study.say_mixed(pd.DataFrame([row])) == ""
    draws = {"only": pd.DataFrame({"a": [60.0, 70.0], "b": [40.0, 30.0]})}
    assert study.likeness(draws, {"only": "own"}).empty
    assert list(study.common_events(draws, {"only": "own"})["own"]) == [1, 1]


def draws_of(**importances):
    return pd.DataFrame([importances] * 4)


def test_events_in_common_are_counted_by_suite():
    draws = {
        "x": draws_of(a=60.0, b=30.0, c=10.0),
        "y": draws_of(b=80.0, a=15.0, c=5.0),
        "z": draws_of(b=70.0, d=30.0),
    }
    common = study.common_events(draws, {"x": "S", "y": "S", "z": "T"}, top=2)
    assert common.index[0] == "b" and set(common.index) == {"a", "b", "d"}
    assert common.loc["b", ["S", "T", "programs"]].tolist() == [2, 1, 3]
    assert common.loc["a", ["S", "T", "programs"]].tolist() == [2, 0, 2]
    assert common.loc["d", "importance"] == pytest.approx(30 / 3)


def test_likeness_is_of_every_pair_and_a_dropped_event_is_unimportant():
    alike = dict(zip("abcdefghijklm", range(26, 0, -2), strict=True))
    strange = {f"{event}2": value for event, value in alike.items()}
    draws = {"x": draws_of(**alike), "y": draws_of(**alike), "z": draws_of(**strange)}
    found = study.likeness(draws, {"x": "S", "y": "S", "z": "T"}).set_index("pair")
    assert list(found["suites"]) == ["S", "across", "across"]
    assert list(found["shared"]) == [1.0, 0.0, 0.0]
    assert (found["low"] <= found["shared"]).all() and (found["shared"] <= found["high"]).all()


def test_suites_are_those_of_the_recipes():
    assert study.suites(["kmeans", "gcc", "myapp"]) == {
        "kmeans": "HiBench",
        "gcc": "SPEC CPU2006",
        "myapp": "own",
    }


def test_means_beside_a_papers_are_of_its_own_programs():
    programs = ["bzip2", "kmeans", "myapp", "datacaching", "wordcount"]
    assert study.of_suites(programs, ["HiBench"]) == ["kmeans", "wordcount"]
    assert study.of_suites(programs, ["HiBench", "CloudSuite 3.0"]) == ["kmeans", "datacaching", "wordcount"]


def test_figures_are_called_after_the_suites_that_are_there():
    numbers = {"HiBench": "9", "CloudSuite 3.0": "10"}
    assert study.paper_figures(["gcc", "kmeans"], numbers) == "Figure 9"
    assert study.paper_figures(["datacaching", "sort"], numbers) == "Figures 9 and 10"
    assert study.paper_figures(["myapp"], numbers) == "Figure"


def test_the_picture_of_run_times_holds_every_run():
    times = pd.DataFrame({"program": list("aab"), "seconds": [3.0, 4.0, 9.0]})
    _, ax = plot.run_times(times, ylabel="run time [s]")
    assert [list(line.get_ydata()) for line in ax.lines] == [[3.0, 4.0], [9.0]]
    assert ax.get_ylabel() == "run time [s]" and ax.get_ylim()[0] == 0


def test_the_picture_of_matrices_is_the_matrices():
    frames = study.merged(RUNS)
    figure, axes = plot.matrices(frames, label="scaled count")
    for ax, (title, frame) in zip(axes, frames.items(), strict=True):
        npt.assert_array_equal(np.asarray(ax.images[0].get_array()), frame.to_numpy())
        assert (ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel()) == (title, "event", "row")
    assert figure.axes[-1].get_ylabel() == "scaled count"
