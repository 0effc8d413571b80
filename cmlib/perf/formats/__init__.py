"""Other forms in which counts by interval come, a module each, told apart by content.

A module has ``recognises(text)``, which looks at the first lines that hold something, and ``read(text)``, which gives
the columns of :func:`cmlib.perf.parse_stat`. A new form is a new module and its name in :data:`FORMATS`; `lines` is
for those that are read line by line.
"""

from cmlib.perf.formats import few_columns, for_people, per_place

FORMATS = (for_people, few_columns, per_place)


def find_format(text):
    """The module that reads a text, or None if it is what ``perf stat -x`` and ``-j`` write for one program."""
    return next((form for form in FORMATS if form.recognises(text)), None)
