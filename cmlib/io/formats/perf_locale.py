"""Read numbers that `perf stat` wrote in the user's locale.

:func:`find_locale` finds the decimal mark of a table. :class:`Locale` converts its numbers. Examples of counts are
74,325,443, 74.325.443 and 74 325 443. Groups can also have two or four digits: 6,00,63,89,180 or 1,4784,0455.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from cmlib.io.formats.readings import FormatError

_DECIMAL = re.compile(r"-?[0-9]+([.,])[0-9]+")
_MARK = re.compile(r"[^0-9]")
_GROUPS = {
    "three": re.compile(r"[0-9]{1,3}(?:,[0-9]{3})*"),
    "two": re.compile(r"[0-9]{1,2}(?:,[0-9]{2})*,[0-9]{3}|[0-9]{1,3}"),
    "four": re.compile(r"[0-9]{1,4}(?:,[0-9]{4})*"),
}


@dataclass
class Locale:
    """Spelling of the numbers in a table.

    Attributes
    ----------
    decimal : str
        Decimal mark: point or comma.
    group : str
        Mark between groups of digits. "" if unknown.
    sizes : set of str
        Possible sizes of the groups of digits.
    """

    decimal: str
    group: str = ""
    sizes: set[str] = field(default_factory=lambda: set(_GROUPS))

    def read_decimal(self, written: str) -> float:
        """Convert a number that has no thousands separators. For example, ``12,5``."""
        return float(written.replace(",", "."))

    def read_count(self, written: str, line: int) -> tuple[float, bool]:
        """Return a count, and whether it has decimals. FormatError if the spelling does not match the locale."""
        if written.isdigit():
            return float(written), False
        whole, mark, decimals = written.rpartition(self.decimal)
        if not mark or not decimals.isdigit() or len(decimals) in (3, 4):
            whole, decimals = written, ""
        marks = set(_MARK.findall(whole))
        if len(marks) > 1 or self.decimal in marks or (self.group and marks - {self.group}):
            raise self._refuse(written, line)
        if marks:
            self.group = marks.pop()
            grouped = whole.replace(self.group, ",")
            self.sizes &= {size for size, pattern in _GROUPS.items() if pattern.fullmatch(grouped)}
            if not self.sizes:
                raise self._refuse(written, line)
            whole = whole.replace(self.group, "")
        return float(f"{whole}.{decimals}" if decimals else whole), bool(decimals)

    @staticmethod
    def _refuse(written: str, line: int) -> FormatError:
        """Return the error for a count with another spelling than the other counts of its table."""
        return FormatError(f"line {line}: {written!r} is not written as the other numbers of its table.")


def find_locale(counts: Iterable[tuple[int, str, bool]], decimals: Iterable[str]) -> Locale:
    """Find the locale of a table.

    Parameters
    ----------
    counts : iterable of (int, str, bool)
        Line number, text of the count, and whether it has a unit.
    decimals : iterable of str
        Texts of shares, metrics and times. They have no groups of digits.

    Raises
    ------
    FormatError
        If the table has decimal points and decimal commas.
    """
    marks = {match[1] for written in decimals if (match := _DECIMAL.fullmatch(written))}
    counts = list(counts)
    if len(marks) > 1:
        raise FormatError(
            f"line {counts[0][0] if counts else 1}: the table has decimal points and decimal commas."
        )
    if not marks:
        # 5.012,34 msec, or 12,34 msec: amounts have two decimals, and no count ends in a group of two digits.
        marks = {match[1] for _, written, _ in counts if (match := re.search(r"([.,])[0-9]{2}$", written))}
    if len(marks) == 1:
        return Locale(marks.pop())
    groups = {mark for _, written, _ in counts for mark in _MARK.findall(written)}
    return Locale("," if groups == {"."} else ".")
