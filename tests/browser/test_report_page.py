"""The report as its reader has it: opened as a file, on a phone and a desk, light and dark, and printed."""

import json
import re
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from tests.browser.chromium import open_context

pytestmark = pytest.mark.needs("chromium")

NOTEBOOK = "02_cleaning"  # ends in a panel, and is done soon
SIZES = {"phone": (390, 844), "desk": (1280, 900)}

A4 = {"width": 718, "height": 1047}  # what margins of 1 cm leave of it, at 96 dots an inch

_LINKS = "() => [...document.querySelectorAll('a[href]')].map(a => a.href)"
_TOO_WIDE = """() => [...document.querySelectorAll('html, p, li, td, summary, h1, h2, h3')]
    .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth)
    .map(e => e.tagName + ': ' + e.innerText.slice(0, 100))"""
# Contrast of text with what is behind it, as WCAG 2.2 defines it, for every element that holds text itself.
_FAINT = """() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const seen = new Map();
    const painted = colour => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        return canvas.getImageData(0, 0, 1, 1).data; };
    const rgba = colour => { if (!seen.has(colour)) seen.set(colour, painted(colour)); return seen.get(colour); };
    const light = colour => { const [r, g, b] = [...rgba(colour)].slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
    const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
        if (rgba(c)[3] > 0) return c; } return 'white'; };
    const faint = new Set();
    for (const e of document.querySelectorAll('body *')) {
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
        const [low, high] = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => a - b);
        if ((high + .05) / (low + .05) < 4.5) faint.add(e.tagName + '.' + e.className);
    }
    return [...faint];
}"""


@pytest.fixture(scope="module", params=[("phone", "light"), ("desk", "dark")], ids="-".join)
def page(request, chromium, smoke):
    size, scheme = request.param
    width, height = SIZES[size]
    context = open_context(chromium, width=width, height=height, dark=scheme == "dark")
    page = context.new_page()
    page.goto((smoke / "index.html").as_uri())
    yield page
    context.close()
    assert not context.strangers, "the page asked for something outside this machine"


def test_the_page_fits_and_is_legible(page, pictures, request):
    assert page.evaluate(_TOO_WIDE) == [], "sticks out of its place"
    assert page.evaluate(_FAINT) == [], "too little contrast"
    page.screenshot(path=pictures / f"{request.node.callspec.id}.jpeg", full_page=True)
    dark = page.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches")
    red = int(re.search(r"\d+", page.evaluate("() => getComputedStyle(document.body).backgroundColor"))[0])
    assert red < 60 if dark else red > 200


def test_the_overview_is_short(new_page, smoke):
    """It was 88,900 pixels high when it showed every figure and table."""
    page = new_page(width=1280, height=900)
    page.goto((smoke / "index.html").as_uri())
    assert page.evaluate("() => document.documentElement.scrollHeight") < 2500
    programs = page.locator(".programs").bounding_box()
    assert programs["y"] + programs["height"] < 900
    assert page.locator(".questions li").count() == 11


def test_every_link_leads_to_a_file(new_page, smoke):
    page = new_page()
    page.goto((smoke / "index.html").as_uri())
    links = page.evaluate(_LINKS)
    assert len(links) > 30
    for link in links:
        parts = urlparse(link)
        file = Path(unquote(parts.path))
        assert parts.scheme == "file" and file.is_file() and file.stat().st_size, link


def test_the_page_prints(new_page, smoke, pictures):
    page = new_page(dark=True)
    page.goto((smoke / "index.html").as_uri())
    pdf = page.pdf(path=pictures / "print.pdf", format="A4", print_background=True)
    assert pdf.startswith(b"%PDF-") and len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 5
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(_FAINT) == []
    page.set_viewport_size(A4)
    assert page.evaluate(_TOO_WIDE) == []


def test_the_notebook_page_shows_a_picture_where_the_widgets_are(new_page, smoke, pictures):
    manifest = json.loads((smoke / NOTEBOOK / "manifest.json").read_text(encoding="utf-8"))
    caption = next(f["caption"] for f in manifest["figures"] if f["name"] == "explore")
    page = new_page()
    page.goto((smoke / NOTEBOOK / f"{NOTEBOOK}.html").as_uri(), wait_until="domcontentloaded")
    picture = page.get_by_role("img", name=re.sub(r"[*`]", "", caption))
    picture.scroll_into_view_if_needed()
    assert picture.evaluate("image => image.complete && image.naturalWidth") > 300
    page.screenshot(path=pictures / "notebook.png")
    assert page.locator(".jupyter-widgets, [data-mime-type*='widget']").count() == 0
