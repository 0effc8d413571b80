"""Controls beside a figure that is drawn anew when one of them moves."""

import io

import ipywidgets as widgets

_DPI = 96


class Panel(widgets.VBox):
    """Controls above a figure and a line of text, drawn anew at every move of a control.

    The figure is sent to the browser as a picture, so that a redraw costs what
    drawing costs and nothing else. Where no widget can be shown, as on a static
    page, the picture of the first setting stands in its place.

    Parameters
    ----------
    draw : callable
        Takes the values of all controls by name; returns ``(figure, text)``,
        with the text in HTML. What it needs for that is worked out beforehand:
        a redraw should stay under 0.3 s.
    controls : dict of str to Widget
        Name of an argument of `draw` to the control that sets it.
    """

    def __init__(self, draw, controls):
        self._draw = draw
        self.controls = dict(controls)
        self._picture = widgets.Image(format="png")
        self._picture.layout.max_width = "100%"
        self._text = widgets.HTML()
        bar = widgets.Box(
            list(self.controls.values()), layout=widgets.Layout(flex_flow="row wrap", align_items="center")
        )
        super().__init__([bar, self._picture, self._text])
        self.add_class("cmlib-explore")
        for control in self.controls.values():
            control.observe(self._redraw, names="value")
        self._redraw()

    def figure(self):
        """The figure as the controls stand now, to be kept among a notebook's results."""
        return self._draw(**self._values())[0]

    def _values(self):
        return {name: control.value for name, control in self.controls.items()}

    def _redraw(self, _change=None):
        try:
            figure, text = self._draw(**self._values())
        except ValueError as error:
            self._text.value = f"<p role='alert'>{error}</p>"
            return
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=_DPI)
        self._picture.value = png.getvalue()
        self._text.value = text

    def _repr_mimebundle_(self, **kwargs):
        shown = super()._repr_mimebundle_(**kwargs)
        return {**shown, "image/png": self._picture.value}
