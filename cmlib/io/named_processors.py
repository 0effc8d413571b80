"""Find the processors that a text names: of the whole file, or of what stands below a title.

:func:`named_processors` takes a text and gives a :class:`NamedProcessors`. Nothing is refused.
"""

import contextlib
import itertools
import re
from dataclasses import dataclass, field

from cmlib.io import perf
from cmlib.processors import UnknownProcessorError, find

_HEAD = 1 << 18  # characters in which a file says what it is
_MOST_NAMED = 20  # lines that may name its processor
_ONE_MODEL = "The text names one processor, {}, which is taken for the one measured."
# A processor that the file names, as likwid, PAPI, toplev, and comments like `# CPU: Neoverse-N1 (Ampere Altra)` do.
_PROCESSOR = re.compile(
    r"^[ \t#|*>\"]*(?:cpu(?:[ _](?:name|model|info|type))?|model name|processor"
    r"|name(?=:[^\n]{,80} code named ))\"?[ \t]*[:=|][ \t\"]*(\w[^\n\"|]{2,80})"
    r"|^ *# \S*-full\S*(?: [\d.]+)? on ([^\n\[]{2,80})(?:\[(\w+))?",
    re.MULTILINE | re.IGNORECASE,
)
_HOST = re.compile(r"^\w[\w.-]{,40}@(\w[\w.-]{,60}):", re.MULTILINE)  # of a prompt
# Its model amid other text.
_MODEL = re.compile(
    r"\b(?:Neoverse[ -][A-Z]\d|Cortex-[AX]\d+|EPYC \d\w{3,4}|Xeon \w+ \d{4}\w*|Core i\d-\d+\w*|Ryzen \w+ \w+)\b"
)


@dataclass(frozen=True)
class NamedProcessors:
    """Processors that a text names, by their names in tables.

    Attributes
    ----------
    only : str or None
        The only one.
    by_titles : dict of tuple of str to str
        Where there are several, that one which alone is named below these titles.
    remark : str
        How the only one was told, if not by a line for that; else "".
    """

    only: str | None = None
    by_titles: dict = field(default_factory=dict)
    remark: str = ""

    def below(self, titles):
        """The processor (str) named below some titles (tuple of str, the outermost first), or else the outer ones of
        these; None if there is none.
        """
        outer = (titles[:k] for k in range(len(titles), -1, -1))
        return next((self.by_titles[some] for some in outer if some in self.by_titles), self.only)


def named_processors(text):
    """The NamedProcessors of lines of a text that name a processor, or else the only one that stands amid it."""
    text, named = text[:_HEAD], {}
    for match in itertools.islice(_PROCESSOR.finditer(text), _MOST_NAMED):
        line = match[1] or match[2]
        models = filter(None, (re.split(r" \(|,", line)[0], line, match[3]))
        if name := next(filter(None, map(_known, models)), None):
            named[match.start()] = name
    if len(several := {*named.values()}) > 1:
        heads, below = perf.heads(text.split("\n")), {}
        for start, name in named.items():
            below.setdefault(heads[text.count("\n", 0, start)].titles, set()).add(name)
        return NamedProcessors(by_titles={of: names.pop() for of, names in below.items() if len(names) == 1})
    if several:
        return NamedProcessors(several.pop())
    is_one = len({*_HOST.findall(text)}) < 2
    names = {_known(model): model for model in _MODEL.findall(text)[:_MOST_NAMED] if is_one}
    name, model = names.popitem() if len(names) == 1 else (None, "")
    return NamedProcessors(name, remark=_ONE_MODEL.format(model) * bool(name))


def _known(model):
    """Name in tables of a processor that people call `model`; None if it is not known."""
    with contextlib.suppress(UnknownProcessorError):
        return find(model.strip())
    return None
