"""Labelled controls, wide enough for what they say."""

import base64
import html
import io
import math
import re

import ipywidgets as widgets
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.image import imsave

from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.io.events import abbreviate

_LETTER, _TRACK_AND_VALUE = 0.55, 14.0  # widths [em]


def dropdown(label, options, value=None):
    """One of several options, as a list that opens; type a letter to get to the next that begins with it."""
    control = widgets.Dropdown(
        description=label, options=options, layout=widgets.Layout(width="auto", max_width="100%")
    )
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


def event_options(events, table):
    """Events as options, in order of their abbreviations, which stand first."""
    events = list(events)
    shorts = abbreviate(events, table)
    shown = [
        event if short == event else f"{short} · {event}" for event, short in zip(events, shorts, strict=True)
    ]
    return sorted(zip(shown, events, strict=True))


def offer(control, options):
    """Give a dropdown other options; what is chosen stays where it still is one of them."""
    before = control.value
    control.options = options
    _choose(control, before)


def _choose(control, value):
    values = [option[1] if isinstance(option, tuple) else option for option in control.options]
    if value in values:
        control.value = value


_CELL = "padding: 1px 14px 1px 0; text-align: {align}; font-weight: {weight}"


def paragraph(*sentences):
    """Sentences, already in HTML, as one paragraph."""
    return f"<p style='max-width: 60em; margin: 4px 0'>{' '.join(sentences)}</p>"


def name(text):
    """An event's or a program's name as it is typed."""
    return f"<code>{html.escape(text)}</code>"


def table(header, rows):
    """A small table: the first column says what a row is, the others hold numbers, already formatted.

    Parameters
    ----------
    header : sequence of str
        The first one may be empty.
    rows : sequence of sequences of str
    """
    head = "".join(_cell("th", text, place, "scope='col'") for place, text in enumerate(header))
    body = "".join(
        f"<tr>{''.join(_cell('td', text, place) for place, text in enumerate(row))}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def number(value, decimals=1, unit=""):
    """A number with its unit; what can't be told is no number."""
    if math.isnan(value):
        return "–"
    return ("∞" if math.isinf(value) else f"{value:,.{decimals}f}") + (f" {unit}" if unit else "")


def _cell(tag, text, place, attributes=""):
    style = _CELL.format(align="right" if place else "left", weight="600" if tag == "th" else "400")
    return f"<{tag} {attributes} style='{style}'>{html.escape(text)}</{tag}>"


_DPI = 96


class Panel(widgets.VBox):
    """Controls above a figure and a line of text, drawn anew at every move of a control."""

    def __init__(self, draw, controls):
        self._draw = draw
        self._drawn, self._held = None, False
        self._png = b""
        self.controls = dict(controls)
        self._picture, self._text = widgets.HTML(), widgets.HTML()
        bar = widgets.Box(
            list(self.controls.values()),
            layout=widgets.Layout(flex_flow="row wrap", align_items="center", grid_gap="2px 20px"),
        )
        super().__init__([bar, self._picture, self._text])
        self.add_class("cmlib-explore")
        for control in self.controls.values():
            if hasattr(control, "style"):
                control.style.description_width = "initial"
            control.observe(self._redraw, names="value")
        self._redraw()

    @classmethod
    def empty(cls, command="cmlib record NAME -- COMMAND"):
        """A panel over no data: says which command records some."""

        def draw():
            raise NothingRecordedError(f"nothing recorded yet: run `{command}`")

        return cls(draw, {})

    @property
    def png(self):
        """The picture that is shown, as bytes; empty where a message stands in its place."""
        return self._png

    @property
    def text(self):
        """The text that is shown below the picture, in HTML."""
        return self._text.value

    def before_redraw(self, name, adjust):
        """When one control moves, adjust the others first, and draw once."""

        def hold_and_adjust(change):
            self._held = True
            try:
                adjust(change["new"])
            finally:
                self._held = False

        leader = self.controls[name]
        leader.unobserve(self._redraw, names="value")
        leader.observe(hold_and_adjust, names="value")
        leader.observe(self._redraw, names="value")

    def figure(self):
        """The figure as the controls stand now, to be kept among a notebook's results."""
        return self._draw(**self._values())[0]

    def _values(self):
        return {name: control.value for name, control in self.controls.items()}

    def _redraw(self, _change=None):
        values = self._values()
        if self._held or values == self._drawn:
            return
        self._drawn = values
        try:
            figure, text = self._draw(**values)
        except (ValueError, CmlibError) as error:
            self._png, self._picture.value = b"", ""
            self._text.value = f"<p role='alert'>{_as_html(str(error))}</p>"
            return
        self._png = _png(figure)
        self._picture.value = _image(self._png, figure, self._alt(figure))
        self._text.value = f"<div role='status'>{text}</div>"

    def _alt(self, figure):
        titles = [ax.get_title(loc) for ax in figure.axes for loc in ("left", "center")]
        shown = ", ".join(dict.fromkeys(title for title in titles if title))
        return "; ".join([f"Figure: {shown}" if shown else "Figure", *map(_setting, self.controls.values())])

    def _repr_mimebundle_(self, **kwargs):
        shown = super()._repr_mimebundle_(**kwargs)
        if self._png:
            return {**shown, "image/png": base64.b64encode(self._png).decode()}
        return {**shown, "text/html": self._text.value}


def _setting(control):
    value = getattr(control, "label", None)
    return f"{control.description}: {control.value if value is None else value}"


def _png(figure):
    """The figure as `savefig` makes it, in half the time: that lays everything out by drawing it once more."""
    figure.set_dpi(_DPI)
    canvas, file = FigureCanvasAgg(figure), io.BytesIO()
    canvas.draw()
    imsave(file, canvas.buffer_rgba(), format="png", dpi=_DPI, pil_kwargs={"compress_level": 3})
    return file.getvalue()


def _image(png, figure, alt):
    """The picture with its size, so that the page doesn't jump while it is exchanged."""
    width, height = (round(_DPI * inches) for inches in figure.get_size_inches())
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    return (
        f'<img alt="{html.escape(alt)}" width="{width}" height="{height}" decoding="sync" '
        f'style="max-width: 100%; height: auto" src="{source}">'
    )


def _as_html(message):
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(message, quote=False)).replace("\n", "<br>")
