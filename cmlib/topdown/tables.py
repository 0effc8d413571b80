"""Tables of top-down categories, one a microarchitecture: see `data/topdown/README.md`."""

from dataclasses import dataclass
from functools import cache

import yaml

from cmlib import places
from cmlib.topdown.formulas import FormulaError, names_in

REST = "rest"


@dataclass(frozen=True)
class Category:
    """What became of some slots.

    Attributes
    ----------
    name : str
        Such as ``"back end"``.
    parent : str
        Name of the category that it is a part of; empty on level 1.
    formulas : tuple of str
        Slots, by events; the first whose events were all counted is used. ``parent`` stands for the slots of
        the category above, ``slots`` for all. Empty where it is what its siblings leave of their parent.
    about : str
        What these slots are, in one sentence.
    advice : str
        What to try where there are many.
    """

    name: str
    parent: str
    formulas: tuple[str, ...]
    about: str
    advice: str = ""


@dataclass(frozen=True)
class TopdownTable:
    """The categories of one microarchitecture.

    Attributes
    ----------
    name : str
        As its event table is called.
    source : str
        Where the formulas are from.
    slots : tuple of str
        All slots, by events: the first formula whose events were all counted.
    closes : bool
        Whether the categories of level 1 are counted each by itself, so that their sum being all slots
        proves something. Where one of them is defined as the rest, it does not.
    categories : tuple of Category
        Parents before their parts.
    """

    name: str
    source: str
    slots: tuple[str, ...]
    closes: bool
    categories: tuple[Category, ...]

    def parts(self, parent=""):
        """The categories right below one; those of level 1 without a name."""
        return [category for category in self.categories if category.parent == parent]

    @property
    def parents(self):
        """Category to the one above it, of those below level 1."""
        return {category.name: category.parent for category in self.categories if category.parent}

    def events(self):
        """Every event that a formula names, each once."""
        formulas = [*self.slots, *(text for category in self.categories for text in category.formulas)]
        named = dict.fromkeys(name for text in formulas for name in names_in(text))
        return [name for name in named if name not in ("parent", "slots")]


def tables():
    """Names of the microarchitectures that have a table."""
    return sorted(file.stem for file in places.topdown_dir().glob("*.yaml"))


@cache
def read_table(name):
    """Read the table of a microarchitecture."""
    if name not in tables():
        raise ValueError(f"there is no table {name!r} under data/topdown; there are {', '.join(tables())}.")
    text = (places.topdown_dir() / f"{name}.yaml").read_text(encoding="utf-8")
    read = yaml.safe_load(text)
    categories = tuple(_categories(read["categories"], "", name))
    return TopdownTable(name, read["source"], _listed(read["slots"]), read["closes"], categories)


def choose_table(events, machine=None):
    """The machine's own table where it fits some events, or else the one that fits them best."""
    events = set(events)
    scores = {name: _computable(read_table(name), events) for name in tables()}
    if scores.get(machine):
        return read_table(machine)
    best, name = max(((score, name) for name, score in scores.items()), default=(0, None))
    return read_table(name) if best > 0 else None


def _computable(table, events):
    return sum(any(_has(text, events) for text in part.formulas) for part in table.parts())


def _has(formula, events):
    """Whether a formula takes events, cycles aside, and all of them are there."""
    needed = set(names_in(formula)) - {"parent", "slots", "cycles"}
    return bool(needed) and needed <= events


def _categories(described, parent, table):
    for name, about in described.items():
        if unknown := set(about) - {"formula", "about", "advice", "parts"}:
            raise FormulaError(f"data/topdown/{table}.yaml: {name}: {', '.join(sorted(unknown))} is unknown.")
        formula = about["formula"]
        formulas = () if formula == REST else _listed(formula)
        yield Category(name, parent, formulas, about["about"], about.get("advice", ""))
        yield from _categories(about.get("parts", {}), name, table)


def _listed(formula):
    return tuple(formula) if isinstance(formula, list) else (formula,)
