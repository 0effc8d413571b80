"""Convert TeX formulas in Markdown to MathML.

Browsers show MathML without a script or a network. :func:`draw_formulas` takes and returns Markdown.
"""

import re

from latex2mathml.converter import convert

# Code is matched first, so that a `$` in code does not begin a formula.
_PARTS = re.compile(
    r"(?P<code>```.*?```|`[^`\n]+`)|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\s](?:[^$\n]*[^$\s])?)\$", re.S
)
# Parts of the converter's MathML that look good only in mathematical fonts: names as single letters, primes, overlines
_LETTERS = r"(?:<mi>[A-Za-z]</mi>)"
_WORD = re.compile(rf"({_LETTERS}{{2,}})(<m(?:sub|sup|subsup)>)(<mi>[A-Za-z]</mi>)|({_LETTERS}{{3,}})")
_PRIME = re.compile(r"<m(sub)?sup>((?:<[^<]+<[^<]+){1,2})<mi>&#x02032;</mi></m(?:sub)?sup>")
_OVERLINE = re.compile(r'<mover>(<mrow>(?:(?!<mover>).)*?</mrow>)<mo accent="true">&#x02015;</mo></mover>')


def draw_formulas(markdown: str) -> str:
    """Convert TeX between dollar signs to MathML.

    Invalid TeX raises an error of latex2mathml.

    Parameters
    ----------
    markdown : str
        Markdown with formulas ``$…$`` or ``$$…$$``.

    Returns
    -------
    str
        Markdown with MathML. Code is unchanged.
    """
    return _PARTS.sub(_draw, markdown)


def _draw(match: re.Match) -> str:
    """Convert a match of `_PARTS` to MathML. Code is returned unchanged."""
    if match["code"]:
        return match["code"]
    # The converter supports `\\Big(`, but not `\\Big\\{`.
    tex = re.sub(r"\\[bB]igg?(?=\\)", "", " ".join((match["block"] or match["inline"]).split()))
    tex = re.sub(r"\\tag\{([^{}]*)\}", r"\\qquad\\text{(\1)}", tex)
    mathml = convert(tex, display="block" if match["block"] else "inline")
    mathml = _OVERLINE.sub(r'<mrow class="overline">\1</mrow>', mathml)
    return _WORD.sub(_join_letters, _PRIME.sub(_raise_prime, mathml))


def _raise_prime(match: re.Match) -> str:
    """Replace a prime by a letter that is raised in any font. `match` is a match of `_PRIME`."""
    element = f"m{match[1] or 'row'}"
    return f"<{element}>{match[2]}</{element}><mtext>ʹ</mtext>"


def _join_letters(match: re.Match) -> str:
    """Join single letters to one name. `match` is a match of `_WORD`."""
    letters = re.sub(r"</?mi>", "", match[4] or match[1] + match[3])
    return f'{match[2] or ""}<mi class="word">{letters}</mi>'
