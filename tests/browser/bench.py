"""Notebooks at work in JupyterLab, each in a page: one may run while another is looked at."""

import contextlib

from tests.browser.opened import begin, close, finish


class Bench:
    """Pages of one browser context, and what runs in them.

    Parameters
    ----------
    lab : Lab
    context : BrowserContext
    pictures : Path
        Folder for screenshots.
    """

    def __init__(self, lab, context, pictures):
        self.lab, self.context, self.pictures = lab, context, pictures
        self._pages, self._idle = {}, []

    def begin(self, name):
        """Open a notebook of the lab's folder and let it run, unless it already does."""
        if name not in self._pages:
            page = self._pages[name] = self._idle.pop() if self._idle else self.context.new_page()
            begin(page, self.lab, name)

    @contextlib.contextmanager
    def finished(self, name):
        """The page and the code cells of a notebook, at its end; a last look at it is kept, whatever happens."""
        page = self._pages[name]
        try:
            cells = finish(page)
            page.bring_to_front()  # browsers let pages that nobody looks at wait
            yield page, cells
        finally:
            page.screenshot(path=(self.pictures / name).with_suffix(".png"))
            close(page)
            self.lab.end_kernel(name)
            self._idle.append(page)
