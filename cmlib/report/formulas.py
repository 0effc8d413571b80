"""TeX formulas in Markdown drawn as MathML, which a page shows without a script or a network."""

import re

from jinja2 import pass_context
from latex2mathml.converter import convert
from nbconvert import HTMLExporter

# Code comes first, so that a `$` inside of it begins no formula.
_PARTS = re.compile(
    r"(?P<code>```.*?```|`[^`\n]+`)|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\s](?:[^$\n]*[^$\s])?)\$", re.S
)


def draw_formulas(markdown):
    """Markdown whose TeX between dollars is MathML."""
    return _PARTS.sub(_draw, markdown)


def _draw(match):
    if match["code"]:
        return match["code"]
    # The converter takes `\\Big(`, but not `\\Big\\{`.
    tex = re.sub(r"\\[bB]igg?(?=\\)", "", " ".join((match["block"] or match["inline"]).split()))
    tex = re.sub(r"\\tag\{([^}]*)\}", r"\\qquad\\text{(\1)}", tex)
    return convert(tex, display="block" if match["block"] else "inline")


class FormulaExporter(HTMLExporter):
    """Notebooks as pages whose formulas are drawn."""

    @pass_context
    def markdown2html(self, context, source):
        """What nbconvert calls for prose, and for outputs that are Markdown."""
        return super().markdown2html(context, draw_formulas(source))
