"""The panel of families redraws what its controls say."""

import re
from dataclasses import replace

import pytest

from cmlib import events, explore, study
from tests.test_families import planted

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    X, cpi = planted(0)
    one = study.explain(study.Matrix(X, 1 / cpi, None), events.table(), n_models=4)
    return {"one": one, "two": replace(one, table=one.table.assign(name=one.table["name"] + "!"))}


@pytest.fixture
def panel(found):
    return explore.families(found, top=4)


def test_bars_are_the_importances_of_the_way_that_was_chosen(panel, found):
    bars = [bar.get_width() for bar in panel.figure().axes[0].patches]
    assert bars == pytest.approx(list(found["one"].table["importance"].head(4)))
    for way in ("boosted", "permutation", "conditional"):
        panel.controls["way"].value = way
        expected = found["one"].ways[way].dropna().sort_values(ascending=False).head(4)
        bars = [bar.get_width() for bar in panel.figure().axes[0].patches]
        assert bars == pytest.approx(list(expected))


def test_the_line_is_what_the_chosen_family_adds_and_its_members_are_listed(panel, found):
    for family in ("1", "2"):
        panel.controls["family"].value = family
        line = panel.figure().axes[1].lines[1]
        assert list(line.get_ydata()) == pytest.approx(list(1000 * found["one"].contributions[family]))
        members = found["one"].members.set_index("family").loc[[int(family)], "event"]
        assert all(f"{event}</td>" in panel.text for event in members)
        assert f"{len(members)} events" in re.sub("<[^>]+>", "", panel.text)


def test_families_of_the_other_program_are_offered_with_it(panel):
    panel.controls["program"].value = "two"
    assert all(name.endswith("!") for name, _ in panel.controls["family"].options)
    assert "alert" not in panel.text and panel.png


def test_without_families_the_panel_says_what_to_run():
    assert "cmlib record" in explore.families({}).text
