"""Rows to series, a cell at a time."""

import math


def series(rows, base_name):
    """Nested dicts: time -> column -> (value, running), and the columns in order."""
    spellings = {}
    for _, event, *_ in rows:
        spellings.setdefault(base_name(event), set()).add(event)
    table, columns = {}, []
    for time, event, value, running in rows:
        cells = table.setdefault(time, {})
        name = base_name(event) if len(spellings[base_name(event)]) == 1 else event
        column, copy = name, 1
        while column in cells:
            copy += 1
            column = f"{name}#{copy}"
        cells[column] = (value, running)
        if column not in columns:
            columns.append(column)
    return table, columns


def cell(table, time, column):
    return table[time].get(column, (math.nan, 0.0))
