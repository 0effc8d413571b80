"""Notebooks at work in JupyterLab, one after another in a page, as loading JupyterLab takes seconds."""

import contextlib

from tests.browser.opened import begin, close, finish


class Bench:
    """A page of a browser context, and what runs in it.

    Parameters
    ----------
    lab : Lab
    context : BrowserContext
    pictures : Path
        Folder for screenshots.
    """

    def __init__(self, lab, context, pictures):
        self.lab, self.pictures, self._page = lab, pictures, context.new_page()

    @contextlib.contextmanager
    def run(self, name):
        """The page and the code cells of a notebook of the lab's folder, run to its end; a last look at it is kept,
        whatever happens.
        """
        try:
            begin(self._page, self.lab, name)
            yield self._page, finish(self._page)
        finally:
            self._page.screenshot(path=(self.pictures / name).with_suffix(".png"))
            close(self._page)
            self.lab.end_kernel(name)
