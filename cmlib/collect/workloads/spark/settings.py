"""The thirteen parameters of CounterMiner's Table IV."""

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Setting:
    """A parameter of Spark."""

    name: str
    low: str
    default: str
    high: str
    needs: dict[str, str]


def _read(row):
    needs = dict(pair.split("=") for pair in row.pop("needs").split())
    return row.pop("abbr"), Setting(**row, needs=needs)


with Path(__file__).with_name("table_iv.csv").open(encoding="utf-8") as _rows:
    TABLE_IV = dict(map(_read, csv.DictReader(_rows)))
