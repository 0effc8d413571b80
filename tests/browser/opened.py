"""A notebook opened in JupyterLab, run by its menu, and what its cells then hold."""

from dataclasses import dataclass

RUN = 600_000  # milliseconds: a notebook on a busy machine

_OPEN = "name => { jupyterapp.commands.execute('docmanager:open', {path: name}); }"
_CLOSE = "() => { const shown = jupyterapp.shell.currentWidget; shown.context.model.dirty = false; shown.close(); }"
_READY = """name => {
    const shown = window.jupyterapp?.shell.currentWidget;
    return shown?.context?.path === name && shown.content?.model?.cells?.length > 0
        && shown.sessionContext?.session?.kernel?.status === 'idle';
}"""

_OVER = """() => {
    const cells = [...jupyterapp.shell.currentWidget.content.model.cells];
    const code = cells.filter(cell => cell.type === 'code' && cell.sharedModel.getSource().trim());
    if (code.some(cell => cell.executionState === 'running')) return false;
    const kinds = ({outputs}) => Array.from({length: outputs.length}, (_, i) => outputs.get(i).type);
    const failed = code.some(cell => kinds(cell).includes('error'));
    return failed || code.every(cell => cell.executionCount !== null);
}"""

_CELLS = """() => [...jupyterapp.shell.currentWidget.content.model.cells].map((cell, index) => ({cell, index}))
    .filter(({cell}) => cell.type === 'code')
    .map(({cell, index}) => {
        const outputs = cell.outputs.toJSON();
        const text = value => [].concat(value).join('');
        const error = outputs.find(o => o.output_type === 'error');
        return {
            index, source: cell.sharedModel.getSource(), count: cell.executionCount,
            error: error ? [error.ename, error.evalue] : null,
            stderr: outputs.filter(o => o.name === 'stderr').map(o => text(o.text)).join(''),
        };
    })"""


@dataclass(frozen=True)
class Cell:
    """A code cell after the run: its place, its text, and what came out of it."""

    index: int
    source: str
    count: int | None
    error: tuple | None
    stderr: str


def begin(page, lab, name):
    """Open a notebook of the lab's folder, in a page that may show the lab, and choose *Run All Cells*."""
    if page.url.startswith(lab.url):
        page.evaluate(_OPEN, name)
    else:
        page.goto(lab.address(name))
    page.wait_for_function(_READY, arg=name)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def finish(page):
    """Wait for the end of the run; return the code cells, as a list of :class:`Cell`."""
    page.wait_for_function(_OVER, timeout=RUN, polling=200)
    return [Cell(**found) for found in page.evaluate(_CELLS)]


def close(page):
    """Close the notebook that the page shows, and throw away what the run has changed in it."""
    page.evaluate(_CLOSE)


def scroll_to(page, index):
    """Bring a cell into view: JupyterLab keeps those far away out of the page."""
    page.evaluate("index => jupyterapp.shell.currentWidget.content.scrollToItem(index, 'start')", index)
