"""One's own program, as README has it: from files and from a recording to the page, as a reader opens it."""

import gzip
import json
import os
import re
import sys
from itertools import groupby

import pytest

from cmlib import places
from tests.browser.lab import guarded

CMLIB = [sys.executable, "-c", "from cmlib.cli import main; main()"]
SOFTWARE = [
    "--mode",
    "ocoe",
    "--pinned",
    "task-clock",
    "--events",
    "page-faults,context-switches",
    "--runs",
    "2",
]
# Notebooks about programs of their own, and those that take events which the recording has not.
OF_OTHERS = {"recording_lines"}
OF_STALLS = {"sums"}
OF_SEVERAL_RUNS = {"02_cleaning", "outliers", "merging_runs", "across_programs", "another_pass"}

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A multiplexed file that decides nothing, named like a program that some notebooks are about."""
    data = tmp_path_factory.mktemp("imported")
    run(data, "import", "pagerank", places.recordings_dir() / "gcc/mlpx12-p0-00.csv.gz")
    run(data, "run", "live", "-p", "program=pagerank")
    return data / "results/live/pagerank/index.html"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    data = tmp_path_factory.mktemp("recorded")
    work = "for i in 1 2 3 4 5; do ls / >/dev/null; sleep 0.1; done"
    run(data, "record", "myapp", *SOFTWARE, "--", "sh", "-c", work)
    run(data, "run", "live", "01", "00", "-p", "program=myapp")
    return data / "results/live/myapp/index.html"


def test_one_multiplexed_file_becomes_a_report_that_says_how_sure_it_is(imported, new_page, pictures):
    page = opened(imported, new_page, pictures / "imported.png")
    assert left_out(imported) == OF_OTHERS | OF_STALLS | OF_SEVERAL_RUNS
    card = unfolded(page)
    assert "14 events, 12 of which took turns on the counters" in card
    assert "Not decided" in card and "Of all slots: front end" in card
    assert re.search(r"place hot functions next to each other\s+38\b", card)
    assert "To narrow it down, record" in card
    command = page.locator("article .copy code").inner_text()
    assert re.fullmatch(r"perf stat -I 100 -x, -e instructions:u,.* -o FILE -- COMMAND", command)
    bars = page.locator("article svg[role=img]")
    assert [bar.get_attribute("aria-label") for bar in bars.all()][:2] == ["16 to 42 %", "0 to 47 %"]


def test_its_page_is_short_fits_a_phone_and_leads_to_the_notebooks(imported, new_page, pictures):
    """With the sections of the notebooks it was 4,800 pixels high at a desk, and 9,200 on a phone."""
    for width, most in ((1280, 1700), (390, 3200)):
        page = new_page(width=width)
        page.goto(imported.as_uri())
        assert page.evaluate("() => document.documentElement.scrollHeight") < most
        page.screenshot(path=pictures / f"imported-{width}.png", full_page=True)
        page.evaluate("() => document.querySelectorAll('details').forEach(each => each.open = true)")
        assert page.evaluate("() => document.documentElement.scrollWidth") == width
    links = [link.get_attribute("href") for link in page.locator("main .notebooks a").all()]
    assert "03_ranking/03_ranking.html" in links
    assert all((imported.parent / link).is_file() for link in links)
    text = page.locator("body").inner_text()
    assert " None " not in text and "does not describe" not in text


@pytest.mark.needs("perf")
def test_a_recording_of_software_events_becomes_a_report(recorded, new_page, pictures):
    page = opened(recorded, new_page, pictures / "recorded.png")
    card = unfolded(page)
    assert "Mostly off the CPU: the program used" in card and "with a context switch every" in card
    # How much depends on the machine and on what else it does.
    assert re.search(r"Page faults take [\w ]*\d+ % of the CPU time", card)
    assert "2 runs (medians)" in card
    assert page.get_by_role("link", name="Collection: what was counted").is_visible()


def run(data, *words):
    """Give a command as a user does."""
    log = data / "log.txt"
    env = os.environ | {"CMLIB_DATA": str(data)}
    with guarded([*CMLIB, *map(str, words)], env=env, log=log) as process:
        code = process.wait(timeout=900)
    told = log.read_text(encoding="utf-8", errors="replace")
    assert code == 0 and "Traceback" not in told, told


def opened(page, new_page, picture):
    browser = new_page()
    browser.goto(page.as_uri())
    browser.screenshot(path=picture, full_page=True)
    return browser


def unfolded(page):
    """Text of the one card of the first page, its details opened as a reader does."""
    card = page.locator("article")
    remarks = card.locator("> details li").last
    assert not remarks.is_visible()
    for folded in card.locator("> details summary").all():
        folded.click()
    assert remarks.is_visible() and card.count() == 1
    return card.inner_text().replace("\xa0", " ")


def left_out(page):
    notes = page.parent.glob("*.not_run.json")
    return {json.loads(note.read_text(encoding="utf-8"))["notebook"] for note in notes}


def _beginning(file, *, n_intervals):
    """The head and the first intervals of what perf wrote."""
    lines = gzip.decompress(file.read_bytes()).decode().splitlines(keepends=True)
    head = [line for line in lines if line.startswith("#") or not line.strip()]
    intervals = [list(rows) for _, rows in groupby(lines[len(head) :], key=lambda line: line.split(",")[0])]
    return "".join([*head, *(line for rows in intervals[:n_intervals] for line in rows)])
