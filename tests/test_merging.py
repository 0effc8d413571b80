"""Suites of programs, and the pictures of runs that are put together."""

import pandas as pd

from cmlib import experiments as study
from cmlib import plot


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
    assert study.paper_figures(["gcc", "kmeans"], numbers) == "CounterMiner, Fig. 9"
    assert study.paper_figures(["datacaching", "sort"], numbers) == "CounterMiner, Fig. 9 and 10"
    assert study.paper_figures(["myapp"], numbers) == "Figure"


def test_the_picture_of_run_times_holds_every_run():
    times = pd.DataFrame({"program": list("aab"), "seconds": [3.0, 4.0, 9.0]})
    _, ax = plot.run_times(times, ylabel="run time [s]")
    assert [list(line.get_ydata()) for line in ax.lines] == [[3.0, 4.0], [9.0]]
    assert ax.get_ylabel() == "run time [s]" and ax.get_ylim()[0] == 0


def test_grouped_bars_have_the_papers_values_in_a_group_of_their_own():
    errors = pd.DataFrame({"before": [3.0, 4.0], "after": [1.0, 2.0]}, ["gcc", "bzip2"])
    frames = {"one": errors, "two": errors * 2}
    _, axes = plot.grouped_bars(frames, ylabel="error [%]", paper={"one": {"before": 28.3}})
    heights = [[bar.get_height() for bar in ax.patches] for ax in axes]
    assert heights == [[3, 4, 1, 2, 28.3], [6, 8, 2, 4]]
    labels = [[label.get_text() for label in ax.get_xticklabels()] for ax in axes]
    assert labels == [["gcc", "bzip2", "paper"], ["gcc", "bzip2"]]
