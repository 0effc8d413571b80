"""Tell which tables and figures of the papers are reproduced by a profile's results, and on whose data.

An item is a table or figure of a paper; data/papers/items.csv lists them all, and :func:`reproduction` adds to each
its status: reproduced, in part, or not. Results that are missing count as not reproduced.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from cmlib import places
from cmlib.report.results import paper

__all__ = ["read_items", "reproduction"]

_PROGRAMS = places.yaml_beside(__file__)  # which of its programs are a paper's
_NO_COUNTERS = {"simulated", "software events"}  # data by which an item is reproduced in part only
_COLUMNS = ["paper", "item", "shows", "status", "data", "programs", "notebook", "lacking"]


def read_items() -> pd.DataFrame:
    """Every table and figure of the papers: a DataFrame of str, a row an item, from data/papers/items.csv.

    Columns: paper, item, shows (what it shows), notebook and result (which result of which notebook shows it), data
    (whose), of (number of programs in the paper), stand_ins (what is measured in place of the paper's programs),
    counted_in (``table.column`` with the names of the programs measured) and lacking (what is not reproduced). ""
    where there is nothing.
    """
    return pd.read_csv(places.shipped("papers") / "items.csv", keep_default_na=False, dtype=str)


def reproduction(folder: Path, sections: Sequence[dict]) -> pd.DataFrame:
    """The state of every table and figure of the papers.

    Parameters
    ----------
    folder : pathlib.Path
        A profile's results.
    sections : sequence of dict
        The manifests of its notebooks.

    Returns
    -------
    DataFrame of str
        A row a table or figure, with the columns paper, item, shows, notebook and lacking of :func:`read_items` and:
        ``status``, *reproduced*, *in part* (simulated or by software events, of fewer programs than the paper's, or
        with something lacking), or *not*; ``data``, whose, and ``programs``, how many of the paper's, as ``4 of 16``,
        or how many are measured in their place, as ``13 kernels of ours for 15``: both "" where status is *not*, and
        programs where it is not known.
    """
    shown = {section["notebook"]: [*section["figures"], *section["tables"]] for section in sections}
    made = {(notebook, entry["name"]) for notebook, entries in shown.items() for entry in entries}
    table = read_items()
    counted = ((item, _count_programs(folder, item)) for item in table.itertuples())
    states = [(item, (item.notebook, item.result) in made, n_programs) for item, n_programs in counted]
    table["status"] = [_status(*state) for state in states]
    table["programs"] = [_describe_programs(item, n_programs) for item, _, n_programs in states]
    table.loc[table["status"] == "not", ["data", "programs"]] = ""
    return table[_COLUMNS]


def _status(item, is_made, n_programs):
    """An item's status (str): reproduced, in part, or not.

    `is_made`: whether the results have it; `n_programs` is the number of the paper's programs in it, None if unknown.
    """
    if not is_made:
        return "not"
    enough = n_programs is None or not item.of or n_programs >= int(item.of)
    return "reproduced" if enough and not item.lacking and item.data not in _NO_COUNTERS else "in part"


def _describe_programs(item, n_programs):
    """How many of the paper's programs an item holds, or how many others are measured in their place; "" if unknown."""
    if not item.of or n_programs is None:
        return ""
    return f"{n_programs} {item.stand_ins} for {item.of}" if item.stand_ins else f"{n_programs} of {item.of}"


def _count_programs(folder, item):
    """How many of the paper's programs, or of those measured in their place, a table of the results holds.

    None if the item names no table, or the table or its column is missing.
    """
    table, _, column = item.counted_in.partition(".")
    file = folder / f"{table}.csv"
    if not table or not file.is_file():
        return None
    rows = pd.read_csv(file)
    if column not in rows:  # of an older version's run
        return None
    if item.paper not in _PROGRAMS:
        return rows[column].nunique()
    file, entry, n = _PROGRAMS[item.paper]
    return len(_plain_names(rows[column]) & _plain_names(list(paper(file)[entry])[:n]))


def _plain_names(names):
    """Set of the names of programs without underscores, as other spellings have them."""
    return {name.replace("_", "") for name in names}
