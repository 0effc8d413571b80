"""What `perf stat` and other tools write (str), read as tables of counts: by interval, or totals of whole runs.

:func:`parse_stat` gives a table with a row a reading, :func:`series` makes of it a column an event; :func:`totals`
reads whole runs. The forms that are known are the modules in `formats`. ParseError, which names the line, for text of
no known form.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["parse_stat", "series"]
