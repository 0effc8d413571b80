"""Shares of slots that perf, toplev or Arm's topdown-tool computed itself and printed beside its counts or alone."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from cmlib.io.perf.formats.lines import Totals, as_frame

_READ = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_CATEGORIES, _PARTS = _READ["names"], _READ["parts"]
IPC = "instructions a cycle"
_ALONE = "No event was counted: the values are the percentages that the tool printed."
LEVEL_1 = tuple(_PARTS)
_NAMES = dict(zip(LEVEL_1, ("retiring", "bad_speculation", "frontend_bound", "backend_bound"), strict=True))
_NUMBER = r"[0-9]{1,4}(?:[.,][0-9]{1,6})?"
_NAME = "|".join(f"(?P<c{k}>{names})" for k, names in enumerate(_CATEGORIES.values()))
_SHARE = re.compile(
    rf"(?<![\w.])(?P<share>{_NUMBER})[^\w\n.%]*(?:metric-unit\W+)?(?:%|percent of slots) *(?:{_NAME})(?![\w%])",
    re.IGNORECASE,
)
# Toplev: `FE Frontend_Bound % Slots 42.0`, `Frontend_Bound: 42%`, with -x `Frontend_Bound,42.0,% Slots`; topdown-tool:
# `Retiring.. 4% slots`, or with lines of a box between.
_TOOLS = re.compile(
    rf"\b(?:(?:FE|BE|BAD|RET)[ ,;]+(?:{_NAME})[ ,;:]+(?:% *Slots[ ,;]+)?(?P<share>{_NUMBER})\b"
    rf"|(?<![\w.])(?:{_NAME.replace('<c', '<d')})[ .,;│]+(?P<other>{_NUMBER})[ ,;│]*%)",
    re.IGNORECASE,
)
_STALLS = re.compile(rf"\b(front|back)end Stalled Cycles[ .,│]+({_NUMBER})[ ,│]*%", re.IGNORECASE)
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_IPC = re.compile(
    rf"({_NUMBER})[^\w\n.%]*(?:metric-unit\W+)?(?:instructions +)?insns?[_ ]per[_ ]cycle", re.IGNORECASE
)
_HEADED = re.compile(rf"(?<![\w.])(?:% *)?(?:{_NAME})(?!\w)(?: *%)?", re.IGNORECASE)
_VALUE = re.compile(rf"(?<![\w.:-]){_NUMBER}(?![\w.])")


def printed(text):
    """Read the shares of slots that were printed, and perf's IPC.

    Parameters
    ----------
    text : str
        Output of ``perf stat``, of one kind of core: metrics behind counts, on lines of their own, in columns
        (``--metric-only``, ``--topdown``), between separators or as JSON; or what toplev or topdown-tool prints.

    Returns
    -------
    dict of str to float
        Mean over all lines: by category of the account, its share of the slots (0–1), and ``instructions a cycle``.
    """
    rows, heading = [], []
    for line in _ESCAPE.sub("", text).split("\n"):
        if "{" in line and "metric-unit" not in line:
            rows += _of_object(line)
        elif found := [*_TOOLS.finditer(line)] or [*_SHARE.finditer(line)]:
            rows += [(_category(match), _float(match["share"] or match["other"]) / 100) for match in found]
        elif len(named := [*_HEADED.finditer(line)]) > 1:
            heading = named
        elif re.search(r"[a-z]{3}", line):
            heading = []
        elif heading:
            rows += _below(heading, line)
        rows += [(IPC, _float(match[1])) for match in _IPC.finditer(line)]
    return _means(pd.DataFrame(rows, columns=["category", "value"]))


def shares_alone(text):
    """What was printed of level 1, or of stalls, as a run of a text that counts nothing; none if it was not printed."""
    shares = printed(text)
    rows = {_NAMES[name]: 100 * shares[name] for name in LEVEL_1 if name in shares}
    stalls = {f"stall_{match[1].lower()}end": _float(match[2]) for match in _STALLS.finditer(text)}
    if len(rows) < 2:
        rows = {"cycles": 100.0} | stalls if len(stalls) == 2 else {}
    frame = as_frame((1, name, value, np.nan, "%") for name, value in rows.items())
    return [Totals(text, frame, remarks=(_ALONE,))] if rows else []


def _category(match):
    groups = match.groupdict()
    return next(name for k, name in enumerate(_CATEGORIES) if groups[f"c{k}"] or groups.get(f"d{k}"))


def _float(text):
    return float(text.replace(",", "."))


def _of_object(line):
    """Metrics as keys of a JSON object, as ``-j --metric-only`` writes them."""
    for match in re.finditer(rf'"([^"]*)" *: *"({_NUMBER})"', line):
        if named := _HEADED.search(match[1]):
            yield _category(named), _float(match[2]) / 100


def _below(heading, line):
    """What stands below the names of a heading: between the same separators, or where the names end."""
    line = line.split("#")[0].rstrip()
    separator = next((mark for mark in ";|\t," if heading[0].string.count(mark) >= len(heading) - 1), None)
    if separator:
        columns, cells = heading[0].string.split(separator), line.split(separator)
        if len(cells) >= len(columns) - 1:
            cells = [""] * (len(columns) - len(cells)) + cells
            for column, cell in zip(columns, cells, strict=False):
                named, value = _HEADED.search(column), _VALUE.fullmatch(cell.strip().rstrip("%"))
                if named and value:
                    yield _category(named), _float(value[0]) / 100
        return
    values = [*_VALUE.finditer(line.replace("%", " "))]
    if len(values) < len(heading):
        return
    nothing_else = not re.search("[a-z]", _HEADED.sub("", heading[0].string).replace("time", ""))
    ends = np.array([value.end() for value in values])
    last = values[-len(heading) :]
    for k, named in enumerate(heading):
        value = last[k] if nothing_else else values[int(np.abs(ends - named.end()).argmin())]
        yield _category(named), _float(value[0]) / 100


def _means(rows):
    """Over tables and intervals; a category of which only the parts were printed is their sum."""
    shares = {name: float(value) for name, value in rows.groupby("category")["value"].mean().items()}
    whole = {
        name: sum(shares[part] for part in parts)
        for name, parts in _PARTS.items()
        if set(parts) <= shares.keys()
    }
    return whole | shares
