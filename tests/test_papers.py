"""What the papers print stands under the names that programs have here, and adds up where it can be told."""

import pytest

from cmlib.report import paper
from cmlib_workloads.catalog import recipes


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("counterminer", ["coverage_percent"]),
        ("counterminer", ["importance"]),
        ("counterminer", ["interactions", "dominant_percent"]),
        ("gbrt", ["run_time_s"]),
    ],
)
def test_programs_are_called_as_their_recipes(name, keys):
    found = paper(name)
    for key in keys:
        found = found[key]
    assert found and set(found) <= set(recipes())


def test_table_1_has_a_row_for_each_of_the_papers_programs():
    suites = {"HiBench", "CloudSuite 3.0"}
    own = {name for name, recipe in recipes().items() if recipe.suite in suites}
    assert set(paper("counterminer")["coverage_percent"]) == own and len(own) == 16


def test_both_papers_test_on_a_fifth():
    m = 4.0
    assert paper("counterminer")["test_share"] == pytest.approx(m / 4 / (m + m / 4))
    assert paper("gbrt")["test_share"] == paper("counterminer")["test_share"]
