"""Forms in which counts by interval come, a module each, told apart by content.

A module has ``NAME``; ``recognises(text)``, which looks at the first lines that hold something; ``read(text,
interval_ms)``, which gives the columns of `parse_stat`; ``remarks(text, columns)`` on what is left out, added up or
taken for granted; and ``totals(text)``, if it has whole runs. A new form is a new module and its place in
:data:`FORMATS`; `lines` is for those that are read line by line. All of them take time in proportion to the text's
length, whatever the text is: `tests/test_linear_reading.py` has a text for each form and for each shape that hurts.
"""

from cmlib.io.perf.formats import (
    aperf,
    cgroup,
    few_columns,
    google_benchmark,
    human_readable,
    indexed,
    likwid,
    likwid_tables,
    papi,
    per_place,
    separated,
    wide,
)

FORMATS = (
    google_benchmark,
    aperf,
    indexed,
    likwid,
    likwid_tables,
    papi,
    human_readable,
    few_columns,
    cgroup,
    wide,
    per_place,
    separated,
)


def find_format(text):
    """The module that reads a text."""
    return next(form for form in FORMATS if form.recognises(text))
