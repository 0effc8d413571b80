"""Debian's Chromium, headless, and the pages it opens."""

import contextlib
import re
import shutil

from playwright.sync_api import sync_playwright

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


@contextlib.contextmanager
def launched(home):
    """The browser, for as long as the block runs, with a new profile and `home` as its home folder."""
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
