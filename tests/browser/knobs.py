"""Controls of a panel, moved as a user moves them, and the time until the new picture is there."""

from dataclasses import dataclass

PANEL = ".cmlib-explore"
REDRAW = 30_000  # milliseconds: far above what a redraw may take, so that only a dead one fails

# What a user can take hold of.
_SLIDER, _SELECT = ".noUi-handle", "select"
_MARK = "input[type=checkbox], input[type=radio]:not(:checked)"

_ARM = """panel => {
    const look = () => ({
        src: panel.querySelector('img')?.src ?? '',
        text: panel.querySelector('[role=status], [role=alert]')?.innerText ?? '',
    });
    const watch = {before: look(), started: null, picture: null, text: null};
    window.cmlibWatch = watch;
    const start = () => { watch.started ??= performance.now(); };
    for (const kind of ['keydown', 'pointerdown', 'input']) panel.addEventListener(kind, start, {capture: true, once: true});
    const frame = () => {
        if (window.cmlibWatch !== watch) return;
        const image = panel.querySelector('img'), now = look();
        const shown = image ? image.complete && image.naturalWidth > 0 : true;
        if (watch.started !== null && shown) {
            if (now.src !== watch.before.src) watch.picture ??= performance.now() - watch.started;
            if (now.text !== watch.before.text) watch.text ??= performance.now() - watch.started;
        }
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""


@dataclass(frozen=True)
class Move:
    """What followed a move of one control.

    Attributes
    ----------
    control : str
        Its label.
    picture, text : float or None
        Time until the new picture was there, and a new text [ms]; None: as before.
    """

    control: str
    picture: float | None
    text: float | None


def movable(panel):
    """Locators of a panel's controls that have more than one place to stand."""
    found = []
    for widget in panel.locator(".jupyter-widgets.widget-inline-hbox, .widget-toggle-buttons").all():
        if not widget.is_visible() or widget.locator("[disabled], .mod-disabled").count():
            continue
        options = widget.locator("select option").count()
        buttons = widget.locator("button").count()
        if options > 1 or buttons > 1 or widget.locator(_SLIDER).count() or widget.locator("input").count():
            found.append(widget)
    return found


def move(page, panel, widget):
    """Move one control by keyboard or mouse; return the :class:`Move` that followed."""
    label = _label(widget)
    panel.evaluate(_ARM)
    if widget.locator(_SLIDER).count():
        handle = widget.locator(_SLIDER).last
        at_end = handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax")
        handle.focus()
        page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
    elif widget.locator(_SELECT).count():
        select = widget.locator(_SELECT)
        index = select.evaluate("box => box.selectedIndex")
        select.select_option(index=index - 1 if index else 1)  # its list is the desktop's, not the page's
    elif widget.locator("button").count():
        widget.locator("button:not(.mod-active)").first.click()
    elif widget.locator(_MARK).count():
        widget.locator(_MARK).first.click()
    else:
        raise AssertionError(f"no way is known to move the control {label!r}: {widget.inner_html()}")
    page.wait_for_function("() => cmlibWatch.picture !== null || cmlibWatch.text !== null", timeout=REDRAW)
    settle(page)
    watch = page.evaluate("() => cmlibWatch")
    return Move(label, watch["picture"], watch["text"])


def _label(widget):
    texts = (text.strip(" \n\u200b") for text in widget.locator("label, .widget-label").all_inner_texts())
    return next(filter(None, texts), "without a label")


def settle(page):
    """Wait until the kernel has nothing more to do and the page has had two frames to show it."""
    page.wait_for_function(
        "() => jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'",
        timeout=REDRAW,
    )
    page.evaluate("() => new Promise(done => setTimeout(() => requestAnimationFrame(done), 150))")
