"""The pages of programs as their readers have them, at a desk and on a phone, also with names that attack."""

import numpy as np
import pandas as pd
import pytest

from cmlib import topdown
from cmlib.report.overview import build_index
from cmlib.report.program import write_summaries

pytestmark = pytest.mark.needs("chromium")

NASTY = "app<img src=x onerror='went=1'>" + 60 * "x"
SIZES = {"phone": (390, 844), "desk": (1280, 900)}
WIDTHS = "() => [document.documentElement.scrollWidth, innerWidth]"


def write_program(folder, name, **events):
    """Write the page of a program (name) below a folder; `events` are counts per cycle."""
    counts = pd.DataFrame({"cycles": 3e9, "instructions": 4e9}, np.arange(1.0, 101))
    for event, rate in events.items():
        counts[event] = 3e9 * rate
    summary = topdown.summarize(name, [(counts, counts * 0 + 1.0)], processor="amd_zen5", notes=["A remark."])
    place = folder / "live" / name.partition("<")[0]
    place.mkdir(parents=True)
    write_summaries(place, {name: summary})
    return build_index(place)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of two programs, one of which has a name that attacks, and the list of both."""
    folder = tmp_path_factory.mktemp("pages")
    plain = write_program(folder, "gcc", **{"branch-misses": 0.02})
    return {"program": plain, "nasty": write_program(folder, NASTY), "list": folder / "live/index.html"}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["program", "nasty", "list"])
def test_a_page_fits_and_a_program_s_name_is_text(pages, new_page, pictures, name, size):
    page = new_page(width=SIZES[size][0], height=SIZES[size][1])
    page.goto(pages[name].as_uri())
    width, window = page.evaluate(WIDTHS)
    assert width <= window, "the page scrolls sideways"
    assert page.evaluate("() => typeof went") == "undefined"
    page.screenshot(path=pictures / f"{name}-{size}.png", full_page=True)


def test_the_page_of_a_program_fits_one_screen_and_its_command_is_copied(pages, new_page):
    page = new_page(width=1280, height=1000)
    page.goto(pages["program"].as_uri())
    verdict, command, table = (page.locator(part).bounding_box() for part in (".verdict", ".copy", ".advice"))
    assert verdict["y"] < command["y"] < table["y"] and table["y"] + table["height"] < 1000
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".copy button").click()
    assert page.locator(".copy button").inner_text() == "copied"
    assert page.evaluate("() => navigator.clipboard.readText()") == page.locator(".copy code").inner_text()


def test_remarks_are_printed(pages, new_page):
    page = new_page()
    page.goto(pages["program"].as_uri())
    page.emulate_media(media="print")
    assert page.locator("article details li").last.bounding_box()["height"] > 10
