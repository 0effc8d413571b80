"""Readers of the forms in which tools write counts by interval, a module each; the form is recognised by content.

:func:`find_format` takes a text and gives the reader. A new form is a new module with a class below
:class:`~cmlib.io.perf.formats.base.Format`, and its place in :data:`FORMATS`; `lines` is for those that are read line
by line. All of them take time in proportion to the text's length, whatever the text is:
`tests/test_linear_reading.py` has a text for each form and for each shape that hurts. Text of no form is refused by a
ParseError, which names the line, when it is read.
"""

import functools

from cmlib.io.perf.formats.aperf import APerf
from cmlib.io.perf.formats.cgroup import Cgroup
from cmlib.io.perf.formats.few_columns import FewColumns
from cmlib.io.perf.formats.google_benchmark import GoogleBenchmark
from cmlib.io.perf.formats.human_readable import HumanReadable
from cmlib.io.perf.formats.indexed import Indexed
from cmlib.io.perf.formats.likwid import Likwid
from cmlib.io.perf.formats.likwid_tables import LikwidTables
from cmlib.io.perf.formats.papi import Papi
from cmlib.io.perf.formats.per_place import PerPlace
from cmlib.io.perf.formats.separated import Separated
from cmlib.io.perf.formats.wide import Wide

FORMATS = (
    GoogleBenchmark,
    APerf,
    Indexed,
    Likwid,
    LikwidTables,
    Papi,
    HumanReadable,
    FewColumns,
    Cgroup,
    Wide,
    PerPlace,
    Separated,
)


@functools.lru_cache(maxsize=1)  # a text is asked for its runs, its remarks and its counts
def find_format(text):
    """The reader of a text (str), a :class:`cmlib.io.perf.formats.base.Format`: of the first class that recognises it.

    Classes are tried in the order of FORMATS; the method ``read`` of the reader gives the counts.

    The last one, Separated, recognises any text, and raises a ParseError when it reads one that is not perf's.
    """
    lines = text.replace("\r\n", "\n")
    form = next(form for form in (kind(lines) for kind in FORMATS) if form.recognises())
    return form if lines == text else type(form)(text)
