"""Store all recordings in a database, and read them from there.

:func:`rebuild` makes the database (SQLite or PostgreSQL) from the files of the recordings. :func:`runs` lists the runs
in it, and :func:`load` reads one run. StoreError is raised if the database does not exist or cannot be made.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["load", "machines", "runs"]
