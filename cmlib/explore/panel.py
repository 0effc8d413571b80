"""Labelled controls, wide enough for what they say, above a figure and a text."""

import base64
import html
import io
import math

import ipywidgets as widgets
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg

from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.report.inline import to_html

_LETTER, _TRACK_AND_VALUE = 0.55, 14.0  # widths [em]
_DPI = 96
_STYLE = (
    "<style>.cmlib-explore p {max-width: 60em; margin: 4px 0}"
    " .cmlib-explore :is(td, th) {padding: 1px 14px 1px 0; text-align: right; border: 0}"
    " .cmlib-explore :is(td, th):first-child {text-align: left}</style>"
)


def dropdown(label, options, value=None):
    """One of several options, as a list that opens; type a letter to get to the next that begins with it."""
    layout = widgets.Layout(width="auto", max_width="100%")
    control = widgets.Dropdown(description=label, options=options, layout=layout)
    _choose(control, value)
    return control


def slider(label, low, high, *, step=1, value):
    """A number of a range, redrawn when the handle is let go; a whole number where `step` is one."""
    kind = widgets.IntSlider if isinstance(step, int) else widgets.FloatSlider
    return kind(
        description=label,
        min=low,
        max=high,
        step=step,
        value=value,
        continuous_update=False,
        layout=widgets.Layout(width=f"{_TRACK_AND_VALUE + _LETTER * len(label):.0f}em", max_width="100%"),
    )


def offer(control, options):
    """Give a dropdown other options; what is chosen stays where it still is one of them."""
    before = control.value
    control.options = options
    _choose(control, before)


def _choose(control, value):
    values = [option[1] if isinstance(option, tuple) else option for option in control.options]
    if value in values:
        control.value = value


def paragraph(*sentences):
    """Sentences, already in HTML, as one paragraph."""
    return f"<p>{' '.join(sentences)}</p>"


def name(text):
    """An event's or a program's name as it is typed."""
    return f"<code>{html.escape(text)}</code>"


def table(header, rows):
    """A small table: the first column says what a row is, the others hold numbers, already formatted."""
    with pd.option_context("display.max_colwidth", None):
        return pd.DataFrame(rows, columns=header).to_html(index=False, border=0)


def number(value, decimals=1, unit=""):
    """A number with its unit; what can't be told is no number."""
    if math.isnan(value):
        return "–"
    return ("∞" if math.isinf(value) else f"{value:,.{decimals}f}") + (f" {unit}" if unit else "")


class Panel(widgets.VBox):
    """Controls above a figure and a line of text, drawn anew at every move of a control.

    Of some controls, by name, `adjust` says what else to change when they move, before anything is drawn.
    """

    def __init__(self, draw, controls, adjust=None):
        self._draw, self._adjust, self._held = draw, adjust or {}, False
        self.controls = dict(controls)
        self.png = b""  # the picture that is shown; empty where a message stands in its place
        self._picture, self._text = widgets.HTML(), widgets.HTML()
        bar = widgets.Box(
            list(self.controls.values()),
            layout=widgets.Layout(flex_flow="row wrap", align_items="center", grid_gap="2px 20px"),
        )
        super().__init__([bar, self._picture, self._text])
        self.add_class("cmlib-explore")
        for name, control in self.controls.items():
            control.style.description_width = "initial"
            control.observe(lambda change, name=name: self._moved(name, change["new"]), names="value")
        self._redraw()

    @classmethod
    def empty(cls, command="cmlib record NAME -- COMMAND"):
        """A panel over no data: says which command records some."""

        def draw():
            raise NothingRecordedError(f"nothing recorded yet: run `{command}`")

        return cls(draw, {})

    @property
    def text(self):
        """The text that is shown below the picture, in HTML."""
        return self._text.value.removeprefix(_STYLE)

    def figure(self):
        """The figure as the controls stand now, to be kept among a notebook's results."""
        return self._draw(**self._values())[0]

    def _values(self):
        return {name: control.value for name, control in self.controls.items()}

    def _moved(self, name, value):
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
        try:
            figure, text = self._draw(**self._values())
        except (ValueError, CmlibError) as error:
            self.png, self._picture.value = b"", ""
            message = to_html(str(error)).replace("\n", "<br>")
            self._text.value = f"<p role='alert'>{message}</p>"
            return
        self.png = _png(figure)
        self._picture.value = _image(self.png, figure, self._alt(figure))
        self._text.value = f"{_STYLE}<div role='status'>{text}</div>"

    def _alt(self, figure):
        titles = [ax.get_title(loc) for ax in figure.axes for loc in ("left", "center")]
        shown = ", ".join(dict.fromkeys(title for title in titles if title))
        return "; ".join([f"Figure: {shown}" if shown else "Figure", *map(_setting, self.controls.values())])

    def _repr_mimebundle_(self, **kwargs):
        shown = super()._repr_mimebundle_(**kwargs)
        if self.png:
            return {**shown, "image/png": base64.b64encode(self.png).decode()}
        return {**shown, "text/html": self._text.value}


def _setting(control):
    return f"{control.description}: {getattr(control, 'label', control.value)}"


def _png(figure):
    """The figure as `savefig` makes it, in half the time: that lays everything out by drawing it once more."""
    figure.set_dpi(_DPI)
    file = io.BytesIO()
    FigureCanvasAgg(figure).print_png(file, pil_kwargs={"compress_level": 3})
    return file.getvalue()


def _image(png, figure, alt):
    """The picture with its size, so that the page doesn't jump while it is exchanged."""
    width, height = (round(_DPI * inches) for inches in figure.get_size_inches())
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    return (
        f'<img alt="{html.escape(alt)}" width="{width}" height="{height}" decoding="sync" '
        f'style="max-width: 100%; height: auto" src="{source}">'
    )
