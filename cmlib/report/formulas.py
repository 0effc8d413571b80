"""Turn TeX formulas in Markdown into MathML, which a page shows without a script or a network.

:class:`FormulaExporter` does so for a notebook's page, :func:`draw_formulas` for a text. TeX that can't be read
raises the errors of latex2mathml.
"""

import re

from jinja2 import pass_context
from latex2mathml.converter import convert
from nbconvert import HTMLExporter
from nbconvert.filters import Highlight2HTML

# Code comes first, so that a `$` inside of it begins no formula.
_PARTS = re.compile(
    r"(?P<code>```.*?```|`[^`\n]+`)|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\s](?:[^$\n]*[^$\s])?)\$", re.S
)
# MathML of the converter's that only mathematical fonts show well, and that is replaced: names of several letters as
# single letters, primes and overlines.
_LETTERS = r"(?:<mi>[A-Za-z]</mi>)"
_WORD = re.compile(rf"({_LETTERS}{{2,}})(<m(?:sub|sup|subsup)>)(<mi>[A-Za-z]</mi>)|({_LETTERS}{{3,}})")
_PRIME = re.compile(r"<m(sub)?sup>((?:<[^<]+<[^<]+){1,2})<mi>&#x02032;</mi></m(?:sub)?sup>")
_OVERLINE = re.compile(r'<mover>(<mrow>(?:(?!<mover>).)*?</mrow>)<mo accent="true">&#x02015;</mo></mover>')

_SCROLLED = re.compile(r'<div class="[^"]*(?:jp-Cell-inputWrapper|jp-OutputArea-output)[^"]*"')


def draw_formulas(markdown):
    """The text `markdown` (str) with MathML in place of TeX between dollars (``$…$``, ``$$…$$``); code is unchanged.

    TeX that can't be read raises the errors of latex2mathml's ``convert``.
    """
    return _PARTS.sub(_draw, markdown)


def _draw(match):
    """MathML (str) of the formula in a match of `_PARTS`; a match of code unchanged."""
    if match["code"]:
        return match["code"]
    # The converter takes `\\Big(`, but not `\\Big\\{`.
    tex = re.sub(r"\\[bB]igg?(?=\\)", "", " ".join((match["block"] or match["inline"]).split()))
    tex = re.sub(r"\\tag\{([^}]*)\}", r"\\qquad\\text{(\1)}", tex)
    mathml = convert(tex, display="block" if match["block"] else "inline")
    mathml = _OVERLINE.sub(r'<mrow class="overline">\1</mrow>', mathml)
    return _WORD.sub(_join_letters, _PRIME.sub(_raise_prime, mathml))


def _raise_prime(match):
    """A prime as a letter that stands high in any font, behind its base: MathML for a match of `_PRIME`."""
    element = f"m{match[1] or 'row'}"
    return f"<{element}>{match[2]}</{element}><mtext>ʹ</mtext>"


def _join_letters(match):
    """Three or more letters, or two with an index, as one name: MathML for a match of `_WORD`."""
    letters = re.sub(r"</?mi>", "", match[4] or match[1] + match[3])
    return f'{match[2] or ""}<mi class="word">{letters}</mi>'


class FormulaExporter(HTMLExporter):
    """nbconvert's exporter to HTML, with formulas in MathML."""

    def default_filters(self):
        """nbconvert's filters (name and function), and one for code, which is Python."""
        yield from super().default_filters()
        yield "highlight_code", Highlight2HTML(pygments_lexer="ipython3", parent=self)

    def from_notebook_node(self, nb, resources=None, **more):
        """The page (str) of a notebook, and its `resources` (dict).

        Cells can be scrolled by keyboard: nbconvert's own exporter does that by parsing the page once more, which
        takes longer than all the rest.
        """
        exporter = super(HTMLExporter, self)
        page, resources = exporter.from_notebook_node(nb, self._init_resources(resources), **more)
        return _SCROLLED.sub(r'\g<0> tabindex="0"', page), resources

    @pass_context
    def markdown2html(self, context, source):
        """HTML of Markdown (`source`, str) with formulas drawn; nbconvert calls it for prose and outputs, with a
        `context`.
        """
        return super().markdown2html(context, draw_formulas(source))
