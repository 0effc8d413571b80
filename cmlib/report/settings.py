"""Parameters that notebooks have in common, each notebook's in its one line ``settings = {}``."""

import re

SETTINGS = "settings"
# As a parameters cell would have them: name, default, and what the comment behind it says.
SHARED = {
    "jobs": (-1, "worker processes; -1: one a processor [-1, 1024]"),
    "executor": ("processes", "where the workers are: this machine, or a cluster {processes, dask}"),
    "scheduler": ("", "address of a running Dask scheduler; needs executor dask"),
    "database": ("", "SQLAlchemy URL of the store; empty: an SQLite file among the results"),
    "interactive": (True, "widgets at the end; False: a figure in their place"),
    "profile": ("paper", "folder of the results under data/results"),
    "results_folder": ("", "where results go instead of data/results"),
}


def named_in(comment):
    """Those of the shared parameters that the comment behind ``settings = {}`` names, in their order here."""
    named = set(re.findall(r"\w+", comment))
    return [name for name in SHARED if name in named]
