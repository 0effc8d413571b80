"""The first page as its reader has it, at a desk and on a phone: four programs, one, and names that attack."""

import numpy as np
import pandas as pd
import pytest

from cmlib import plot, report
from cmlib.plot.slots import series_card

pytestmark = pytest.mark.needs("chromium")

NASTY = "app<img src=x onerror='went=1'>" + 60 * "x"
SIZES = {"phone": (390, 844), "desk": (1280, 900)}
WIDTHS = "() => [document.documentElement.scrollWidth, innerWidth]"


def make(folder, programs):
    results = report.Results("02_b", title="B", question="?", profile="live", folder=folder)
    steps = pd.Index(np.linspace(0, 1, 50))
    ipc = pd.Series(2 + np.sin(9 * steps), index=steps)
    names = ["mispredicted branches and ops of wrong paths", f"`{90 * 'e'}`", NASTY]
    bars = pd.DataFrame(
        {"name": names, "value": 30.0, "low": 10.0, "high": 55.0, "note": "12 cycles; back end"}
    )
    for program in programs:
        figure, _ = series_card({"IPC": {"run 1": ipc}})
        results.overview_picture(program, figure, f"{program}: IPC over time")
        results.overview_bars(program, bars, "Families of events, importance [%]")
        command = f"`cmlib record {program} --events {','.join(20 * ['some_event.of_a_cpu'])} -- COMMAND`"
        results.overview(
            program, limits="**much** is lost", sure="it adds up", advice="less", lacking=command
        )
        results.finding(f"IPC follows `{90 * 'e'}`.", program=program)
    results.table(pd.DataFrame([dict.fromkeys(map(str, range(30)), 1.5)]), "t", "**Table.** Wide.")
    results.figure(plot.series({"a": ipc}, ylabel="y")[0], "f", "**Figure.** Wide.")
    results.save()
    (folder / "live/02_b/02_b.ipynb").touch()
    return report.build_index(folder / "live")


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    return make(tmp_path_factory.mktemp("four"), ["bzip2", "gcc", "kmeans", NASTY])


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return make(tmp_path_factory.mktemp("one"), ["gcc"])


@pytest.mark.parametrize("size", SIZES)
def test_four_programs_fit_with_their_pictures_and_unfold(four, new_page, pictures, size):
    page = new_page(width=SIZES[size][0], height=SIZES[size][1])
    page.goto(four.as_uri())
    assert page.locator("article").count() == 4 and page.evaluate("() => typeof went") == "undefined"
    for card in page.locator("article").all():
        image = card.locator("img")
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
        assert image.get_attribute("alt").endswith(": IPC over time")
        details = card.locator("> details")
        assert not details.locator("li").is_visible()
        details.locator("summary").click()
        assert details.locator("li").is_visible() and details.get_by_role("link", name="B").is_visible()
    width, window = page.evaluate(WIDTHS)
    assert width <= window, "the page scrolls sideways"
    page.screenshot(path=pictures / f"four-{size}.png", full_page=True)


def test_on_a_phone_wide_tables_scroll_in_their_own_boxes_and_figures_stay_legible(four, new_page):
    page = new_page(width=390, height=844)
    page.goto(four.as_uri())
    page.evaluate("() => document.querySelectorAll('section details').forEach(folded => folded.open = true)")
    boxes = page.locator("section .scroll").all()
    scrolls = [
        box.evaluate("e => e.scrollWidth > e.clientWidth && e.clientWidth < innerWidth") for box in boxes
    ]
    assert scrolls == [True]
    # Letters of 8.5 points in a picture 3.9 inches wide.
    width = page.locator("article img").first.evaluate("image => image.getBoundingClientRect().width")
    assert width / (3.9 * 96) * 8.5 * 96 / 72 > 8.5


def test_one_program_has_the_whole_width_with_picture_and_bars_side_by_side(one, new_page, pictures):
    page = new_page(width=1280, height=900)
    page.goto(one.as_uri())
    picture, bars = (page.locator(f"article {part}").bounding_box() for part in ("img", ".bars"))
    answer, others = (texts.bounding_box() for texts in page.locator("article .said").all())
    assert bars["x"] > picture["x"] + picture["width"] and abs(bars["y"] - picture["y"]) < 60
    assert answer["y"] + answer["height"] <= picture["y"]
    assert others["y"] > bars["y"] + bars["height"] and others["width"] > 800
    page.screenshot(path=pictures / "one-desk.png", full_page=True)


def test_the_details_are_printed(one, new_page):
    page = new_page()
    page.goto(one.as_uri())
    page.emulate_media(media="print")
    assert page.locator("article details li").bounding_box()["height"] > 10
