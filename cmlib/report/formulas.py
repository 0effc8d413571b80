"""TeX formulas in Markdown drawn as MathML, which a page shows without a script or a network."""

import re

from jinja2 import pass_context
from latex2mathml.converter import convert
from nbconvert import HTMLExporter

# Code comes first, so that a `$` inside of it begins no formula.
_PARTS = re.compile(
    r"(?P<code>```.*?```|`[^`\n]+`)|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\s](?:[^$\n]*[^$\s])?)\$", re.S
)
# What the converter writes that only fonts made for mathematics show well, and what every font does.
_LETTERS = r"(?:<mi>[A-Za-z]</mi>)"
_WORD = re.compile(rf"({_LETTERS}{{2,}})(<m(?:sub|sup|subsup)>)(<mi>[A-Za-z]</mi>)|({_LETTERS}{{3,}})")
_PRIME = re.compile(r"<m(sub)?sup>((?:<[^<]+<[^<]+){1,2})<mi>&#x02032;</mi></m(?:sub)?sup>")
_OVERLINE = re.compile(r'<mover>(<mrow>(?:(?!<mover>).)*?</mrow>)<mo accent="true">&#x02015;</mo></mover>')


def draw_formulas(markdown):
    """Markdown whose TeX between dollars is MathML."""
    return _PARTS.sub(_draw, markdown)


def _draw(match):
    if match["code"]:
        return match["code"]
    # The converter takes `\\Big(`, but not `\\Big\\{`.
    tex = re.sub(r"\\[bB]igg?(?=\\)", "", " ".join((match["block"] or match["inline"]).split()))
    tex = re.sub(r"\\tag\{([^}]*)\}", r"\\qquad\\text{(\1)}", tex)
    mathml = convert(tex, display="block" if match["block"] else "inline")
    mathml = _OVERLINE.sub(r'<mrow class="overline">\1</mrow>', mathml)
    return _WORD.sub(_join_letters, _PRIME.sub(_raise_prime, mathml))


def _raise_prime(match):
    """Write a prime as a letter that stands high in any font, behind what it belongs to."""
    element = f"m{match[1] or 'row'}"
    return f"<{element}>{match[2]}</{element}><mtext>ʹ</mtext>"


def _join_letters(match):
    """Write three letters and more, or the last of them with an index, as one name."""
    letters = re.sub(r"</?mi>", "", match[4] or match[1] + match[3])
    return f'{match[2] or ""}<mi class="word">{letters}</mi>'


class FormulaExporter(HTMLExporter):
    """Notebooks as pages whose formulas are drawn."""

    @pass_context
    def markdown2html(self, context, source):
        """What nbconvert calls for prose, and for outputs that are Markdown."""
        return super().markdown2html(context, draw_formulas(source))
