"""One browser and one JupyterLab a test process, both gone when the last browser test of it has ended."""

import re
import shutil

import pytest
from playwright.sync_api import sync_playwright

from cmlib import places
from tests.browser.copies import data_folder
from tests.browser.lab import jupyterlab

FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # what needs the network must show here
]
ACTION = 60_000  # milliseconds; generous, for a machine that does other things


@pytest.fixture(scope="package")
def chromium(tmp_path_factory):
    """Debian's browser, headless, with a new profile and a home folder of its own."""
    home = tmp_path_factory.mktemp("home")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            headless=True,
            chromium_sandbox=False,
            args=FLAGS,
            env={"HOME": str(home), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def data(tmp_path_factory):
    """A data folder: the checkout's recordings, and results of its own; with a space in its path."""
    return data_folder(tmp_path_factory.mktemp("browser") / "data of tests")


@pytest.fixture(scope="package")
def lab(tmp_path_factory, data):
    with jupyterlab(tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("server"), data) as server:
        yield server


@pytest.fixture
def new_page(chromium):
    """Opens pages, each in a context of its own, so that none knows what another has loaded."""
    contexts = []

    def open_page(**looks):
        contexts.append(open_context(chromium, **looks))
        return contexts[-1].new_page()

    yield open_page
    strangers = [url for context in contexts for url in context.strangers]
    for context in contexts:
        context.close()
    assert not strangers, "a page asked for something outside this machine"


@pytest.fixture(scope="module")
def pictures(request):
    """Folder for screenshots: `data/results/browser/<module>`, emptied first."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_")
    folder = places.results_dir() / "browser" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(autouse=True)
def told(request, record_property):
    """The summary says where the pictures are."""
    if "pictures" in request.fixturenames:
        record_property("pictures", str(request.getfixturevalue("pictures")))


def open_context(browser, *, width=1280, height=900, dark=False):
    """A browser's context; its `strangers` are the requests of its pages that left this machine."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(ACTION)
    context.strangers = []
    context.on("request", lambda request: context.strangers.extend(_outside(request.url)))
    return context


def _outside(url):
    return [url] if re.match(r"(https?|wss?)://(?!127\.0\.0\.1[:/])", url) else []
