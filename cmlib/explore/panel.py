"""A Panel: ipywidgets controls above a figure and a text, which are drawn anew when a control moves.

:class:`Panel` takes a function of the controls' values that returns a matplotlib figure and HTML. The other functions
make its controls (:func:`dropdown`, :func:`slider`).
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import ipywidgets as widgets
from matplotlib.backends.backend_agg import FigureCanvasAgg

from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.report.inline import to_html
from cmlib.templates import template

if TYPE_CHECKING:
    from ipywidgets import Dropdown, FloatSlider, IntSlider, Widget
    from matplotlib.figure import Figure

_LETTER, _TRACK_AND_VALUE = 0.55, 14.0  # widths [em]
_DPI = 96
_HTML = template("cmlib.explore", "panel.html.j2", autoescape=True).module
_STYLE = str(_HTML.style())


def dropdown(label: str, options: Iterable, value: object = None) -> Dropdown:
    """Make an ipywidgets Dropdown; it begins with `value` if that is one of the options, else with the first.

    Parameters
    ----------
    label : str
        Text before the control.
    options : iterable
        Values, or pairs of a label and a value.
    value : object, optional
        Value at the beginning.

    Returns
    -------
    Dropdown
    """
    layout = widgets.Layout(width="auto", max_width="100%")
    control = widgets.Dropdown(description=label, options=options, layout=layout)
    _choose(control, value)
    return control


def slider(label: str, low: float, high: float, *, step: float = 1, value: float) -> IntSlider | FloatSlider:
    """Make an ipywidgets slider for a number: an IntSlider if `step` is an int, else a FloatSlider.

    Its value changes only when the handle is released.

    Parameters
    ----------
    label : str
        Text before the control.
    low, high : float
        Ends of the range.
    step : float, default 1
        Step between values.
    value : float
        Value at the beginning.

    Returns
    -------
    IntSlider or FloatSlider
    """
    kind = widgets.IntSlider if isinstance(step, int) else widgets.FloatSlider
    width = f"{_TRACK_AND_VALUE + _LETTER * len(label):.0f}em"
    layout = widgets.Layout(width=width, max_width="100%")
    numbers = {"min": low, "max": high, "step": step, "value": value}
    return kind(description=label, continuous_update=False, layout=layout, **numbers)


def offer(control: Dropdown, options: Iterable) -> None:
    """Give a dropdown other options; its value stays if it is one of them, else it becomes the first.

    Parameters
    ----------
    control : Dropdown
        The dropdown, modified in place.
    options : iterable
        Values, or pairs of a label and a value.
    """
    before = control.value
    control.options = options
    _choose(control, before)


def _choose(control, value):
    """Set a dropdown's value if it is one of its options; else change nothing."""
    values = [option[1] if isinstance(option, tuple) else option for option in control.options]
    if value in values:
        control.value = value


class Panel(widgets.VBox):
    """Controls above a figure and a text, drawn anew whenever a control's value changes: an ipywidgets VBox.

    Parameters
    ----------
    draw : callable
        Called with the controls' values by name; returns a matplotlib Figure and HTML (str). If it raises ValueError
        or CmlibError, the message is shown in place of the figure; other errors are raised.
    controls : dict of str to widget
        Name to a widget with a value, from left to right.
    adjust : dict of str to callable, optional
        Name of a control to a function of its new value, which may change other controls before anything is drawn. Its
        errors are raised, and nothing is drawn.

    Attributes
    ----------
    controls : dict of str to widget
    png : bytes
        The figure that is shown; empty while there is a message instead.
    text : str
        The HTML below the figure, or that of the message.
    """

    def __init__(
        self, draw: Callable, controls: dict[str, Widget], adjust: dict[str, Callable] | None = None
    ) -> None:
        self._draw, self._adjust, self._held = draw, adjust or {}, False
        self.controls = dict(controls)
        self.png = b""  # the figure that is shown; empty while there is a message instead
        self._picture, self._text = widgets.HTML(), widgets.HTML()
        layout = widgets.Layout(flex_flow="row wrap", align_items="center", grid_gap="2px 20px")
        bar = widgets.Box(list(self.controls.values()), layout=layout)
        super().__init__([bar, self._picture, self._text])
        self.add_class("cmlib-explore")
        for name, control in self.controls.items():
            control.style.description_width = "initial"
            control.observe(lambda change, name=name: self._moved(name, change["new"]), names="value")
        self._redraw()

    @classmethod
    def empty(cls, command: str = "cmlib record NAME -- COMMAND") -> Panel:
        """Make a Panel without controls that says that nothing is recorded yet, with the `command` that records."""

        def draw():
            """Raise NothingRecordedError, whose message the Panel shows."""
            raise NothingRecordedError(f"nothing recorded yet: run `{command}`")

        return cls(draw, {})

    @property
    def text(self) -> str:
        """The HTML that is shown below the figure, or that of the message in its place."""
        return self._text.value.removeprefix(_STYLE)

    def figure(self) -> Figure:
        """Draw the matplotlib Figure for the present values of the controls; errors of `draw` are raised."""
        return self._draw(**self._values())[0]

    def _values(self):
        """Return the controls' values by name."""
        return {name: control.value for name, control in self.controls.items()}

    def _moved(self, name, value):
        """Adjust other controls to a new value of one, and draw; moves that come from adjusting draw nothing."""
        if self._held:
            return
        self._held = True
        try:
            if name in self._adjust:
                self._adjust[name](value)
        finally:
            self._held = False
        self._redraw()

    def _redraw(self):
        """Draw the figure and the text; if `draw` raises ValueError or CmlibError, show its message instead."""
        try:
            figure, text = self._draw(**self._values())
        except (ValueError, CmlibError) as error:
            self.png, self._picture.value = b"", ""
            message = to_html(str(error)).replace("\n", "<br>")
            self._text.value = f"<p role='alert'>{message}</p>"
            return
        self.png = _render_png(figure)
        self._picture.value = _write_image(self.png, figure, self._alt(figure))
        self._text.value = f"{_STYLE}<div role='status'>{text}</div>"

    def _alt(self, figure):
        """Write the alternative text of the figure: its titles, and the controls' labels and values."""
        titles = [ax.get_title(loc) for ax in figure.axes for loc in ("left", "center")]
        shown = ", ".join(dict.fromkeys(title for title in titles if title))
        chosen = (f"{at.description}: {getattr(at, 'label', at.value)}" for at in self.controls.values())
        return "; ".join([f"Figure: {shown}" if shown else "Figure", *chosen])

    def _repr_mimebundle_(self, **kwargs):
        """Add to the widget what the notebook stores beside it: the figure (image/png), or the message (text/html)."""
        shown = super()._repr_mimebundle_(**kwargs)
        if self.png:
            return {**shown, "image/png": base64.b64encode(self.png).decode()}
        return {**shown, "text/html": self._text.value}


def _render_png(figure):
    """Render a figure as PNG (bytes).

    This takes half the time of `savefig`, which draws the figure once more to lay it out.
    """
    figure.set_dpi(_DPI)
    file = io.BytesIO()
    FigureCanvasAgg(figure).print_png(file, pil_kwargs={"compress_level": 3})
    return file.getvalue()


def _write_image(png, figure, alt):
    """Write the HTML of an image with its final size, so that the page does not move when the image is exchanged."""
    width, height = (round(_DPI * inches) for inches in figure.get_size_inches())
    return str(_HTML.image(base64.b64encode(png).decode(), alt, width, height))
