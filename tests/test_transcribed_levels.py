"""Levels and kinds of core of files in the forms that people have, written by hand."""

import pytest

from tests.test_transcribed import summaries


def test_fractions_are_shares_and_a_kind_of_core_that_did_not_run_is_left_out():
    answers = {answer["name"]: answer for answer in summaries("kinds-and-fractions.md")}
    ran = [name for name in answers if "cpu_atom" in name]
    assert len(answers) == 4 and len(ran) == 1 and answers[ran[0]]["levels"]["instructions"] == 8e9
    (filtered,) = (answers[name] for name in answers if "cpu_" not in name)
    shares = {row["name"]: (row["low"], row["high"]) for row in filtered["account"]["categories"]}
    assert filtered["limited_by"] == "back end" and shares["back end"] == pytest.approx((54.49, 55.51))


def test_counts_of_a_process_that_only_started_others_are_not_those_of_the_program():
    (answer,) = summaries("time-l-children.md")
    assert answer["levels"] == pytest.approx({"seconds": 100, "CPUs": 0.98}) and not answer["account"]


def test_the_time_of_cpus_goes_by_the_unit_in_its_row():
    assert [answer["levels"]["CPU seconds"] for answer in summaries("unit-cells.md")] == [0.0125, 0.015]


def test_a_page_of_a_whole_run_and_of_intervals_tells_both():
    each, whole = sorted(summaries("whole-then-intervals.md"), key=lambda answer: -answer["intervals"])
    ipcs = [answer["levels"]["instructions a cycle"] for answer in (each, whole)]
    assert ipcs == pytest.approx([1.5, 1.75], rel=1e-4) and each["intervals"] == 4
