"""Controls of a panel, moved as a user moves them, and the time until the new picture is there."""

from dataclasses import dataclass

PANEL = ".cmlib-explore"

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
    for (const kind of ['keydown', 'pointerdown', 'input'])
      panel.addEventListener(kind, start, {capture: true, once: true});
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
    const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    watch.sent = 0;
    watch.open = new Set();  // moves that the kernel has been told of and is not yet done with
    kernel.anyMessage.connect((_, {direction, msg}) => {
        if (direction === 'send' && msg.header.msg_type === 'comm_msg') {
            watch.sent += 1;
            watch.open.add(msg.header.msg_id);
        } else if (msg.header.msg_type === 'status' && msg.content.execution_state === 'idle') {
            watch.open.delete(msg.parent_header.msg_id);
        }
    });
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
    """Yield the controls of a panel that can be moved when their turn comes: a move may disable others."""
    for widget in panel.locator(".jupyter-widgets.widget-inline-hbox, .widget-toggle-buttons").all():
        choices = widget.locator("select option").count() + widget.locator("button").count()
        handles = widget.locator(f"{_SLIDER}, input").count()
        if widget.is_visible() and not widget.locator("[disabled]").count() and (choices > 1 or handles):
            yield widget


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
    page.wait_for_function("() => cmlibWatch.sent > 0 && cmlibWatch.open.size === 0")
    page.evaluate("() => new Promise(done => setTimeout(() => requestAnimationFrame(done), 100))")
    times = page.evaluate("() => [cmlibWatch.picture, cmlibWatch.text]")
    return Move(label, *times)


def _label(widget):
    texts = (text.strip(" \n\u200b") for text in widget.locator("label, .widget-label").all_inner_texts())
    return next(filter(None, texts), "without a label")
