"""Controls beside a figure that is drawn anew when one of them moves."""

import base64
import html
import io
import re

import ipywidgets as widgets
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.image import imsave

from cmlib.errors import CmlibError, NothingRecordedError

_DPI = 96


class Panel(widgets.VBox):
    """Controls above a figure and a line of text, drawn anew at every move of a control.

    The figure is sent to the browser as a picture, so that a redraw costs what
    drawing costs and nothing else. Where no widget can be shown, as on a static
    page, the picture of the first setting stands in its place. A setting that
    can't be drawn is answered by a message instead of a picture.

    Parameters
    ----------
    draw : callable
        Takes the values of all controls by name; returns ``(figure, text)``,
        with the text in HTML. What it needs for that is worked out beforehand:
        a redraw should stay under 0.3 s. A ValueError or CmlibError that it
        raises is shown as a message.
    controls : dict of str to Widget
        Name of an argument of `draw` to the control that sets it. A control's
        description is its label, and part of what the picture is called for
        those who can't see it.
    """

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
        """A panel over no data: says which command records some.

        Parameters
        ----------
        command : str, default "cmlib record NAME -- COMMAND"
        """

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
        """When one control moves, adjust the others first, and draw once.

        Parameters
        ----------
        name : str
            Of the control that moves, as in `controls`.
        adjust : callable
            Takes its value; changes other controls, such as the options they offer.
        """

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
