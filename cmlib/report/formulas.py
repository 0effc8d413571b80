"""Turn TeX formulas in Markdown into MathML, which a page shows without a script or a network.

:func:`draw_formulas` takes and returns Markdown. TeX that can't be read raises the errors of latex2mathml.
"""

import re

from latex2mathml.converter import convert

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


def draw_formulas(markdown):
    """Replace TeX between dollars (``$…$``, ``$$…$$``) by MathML in a Markdown text.

    TeX that can't be read raises the errors of latex2mathml's ``convert``.

    Parameters
    ----------
    markdown : str

    Returns
    -------
    str
        Code is unchanged.
    """
    return _PARTS.sub(_draw, markdown)


def _draw(match):
    """Return the MathML (str) of the formula in a match of `_PARTS`; return a match of code unchanged."""
    if match["code"]:
        return match["code"]
    # The converter takes `\\Big(`, but not `\\Big\\{`.
    tex = re.sub(r"\\[bB]igg?(?=\\)", "", " ".join((match["block"] or match["inline"]).split()))
    tex = re.sub(r"\\tag\{([^{}]*)\}", r"\\qquad\\text{(\1)}", tex)
    mathml = convert(tex, display="block" if match["block"] else "inline")
    mathml = _OVERLINE.sub(r'<mrow class="overline">\1</mrow>', mathml)
    return _WORD.sub(_join_letters, _PRIME.sub(_raise_prime, mathml))


def _raise_prime(match):
    """Write a prime as a letter that is high in any font, after its base: MathML for a match of `_PRIME`."""
    element = f"m{match[1] or 'row'}"
    return f"<{element}>{match[2]}</{element}><mtext>ʹ</mtext>"


def _join_letters(match):
    """Write three or more letters, or two with an index, as one name: MathML for a match of `_WORD`."""
    letters = re.sub(r"</?mi>", "", match[4] or match[1] + match[3])
    return f'{match[2] or ""}<mi class="word">{letters}</mi>'
