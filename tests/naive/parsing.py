"""Lines of `perf stat`, taken apart field by field."""

import json
import math
import re

UNCOUNTED = ("<not counted>", "<not supported>")
_IN_JSON = re.compile(r"(?<=\d),(?=\d)")


class Refused(Exception):
    pass


def parse(text, separator, decimal):
    """Rows (time, event, value, supported, running, unit); `separator` is None for JSON."""
    lines = text.replace("\r\n", "\n").split("\n")
    rows = []
    for number, line in enumerate(lines):
        stripped = line.strip(" ")
        if not stripped or stripped.startswith("#"):
            continue
        try:
            row = parse_json(stripped) if separator is None else parse_fields(stripped, separator, decimal)
        except Refused:
            if number == len(lines) - 1 and rows:
                break
            raise
        if row is not None and row[1]:
            rows.append(row)
    timed = [row for row in rows if not math.isnan(row[0])]
    return timed or rows


def parse_json(line):
    if not (line.startswith("{") and line.endswith("}")):
        raise Refused(line)
    if '"counter-value"' not in line:
        return None
    try:
        said = json.loads(_IN_JSON.sub(".", line))
    except json.JSONDecodeError:
        raise Refused(line) from None
    if {"cpu", "core", "die", "socket", "node", "thread", "cgroup"} & said.keys():
        raise Refused(line)
    count = said["counter-value"]
    value = math.nan if count in UNCOUNTED else float(_IN_JSON.sub(".", count))
    time = said.get("interval", math.nan)
    return time, said["event"], value, count != "<not supported>", said["pcnt-running"] / 100, said["unit"]


def parse_fields(line, separator, decimal):
    fields = line.split(separator)
    time = math.nan
    if is_time(fields[0]):
        time = float(fields.pop(0).replace(",", "."))
    elif separator == "," and len(fields) > 1 and is_time(f"{fields[0]},{fields[1]}"):
        time = float(f"{fields.pop(0)}.{fields.pop(0)}")
    elif fields[0] == "summary":
        fields.pop(0)
    if len(fields) < 2:
        raise Refused(line)
    if fields[0] == "":
        return None
    supported = fields[0] != "<not supported>"
    if fields[0] in UNCOUNTED:
        value = math.nan
        fields.pop(0)
    else:
        value = take_number(fields, separator, decimal)
    unit = fields.pop(0)
    if unit[:1].isdigit():
        raise Refused(line)
    event = take_event(fields, separator)
    skip_variation(fields, separator, decimal)
    if not fields or not is_digits(fields.pop(0)):
        raise Refused(line)
    if not fields:
        raise Refused(line)
    running = take_number(fields, separator, decimal, decimals=2)
    if running > 100:
        raise Refused(line)
    return time, event, value, supported, running / 100, unit


def take_number(fields, separator, decimal, decimals=None):
    """Remove a number from the front: one field, or two where the mark is the separator."""
    written = fields.pop(0)
    if separator == decimal and fields and is_digits(fields[0]) and len(fields[0]) == 2:
        written += decimal + fields.pop(0)
    whole, mark, rest = written.partition(decimal)
    if not is_digits(whole) or len(whole) > 300 or (mark and not is_digits(rest)):
        raise Refused(written)
    if decimals is not None and len(rest) != decimals:
        raise Refused(written)
    if not fields and decimals is None:
        raise Refused(written)
    return float(f"{whole}.{rest or 0}")


def take_event(fields, separator):
    """Remove an event's name: with commas between it, only inside slashes."""
    if not fields:
        raise Refused("no event")
    event = fields.pop(0)
    while separator == "," and event.count("/") % 2 == 1:
        if not fields:
            raise Refused(event)
        event += separator + fields.pop(0)
    return event


def skip_variation(fields, separator, decimal):
    if fields and fields[0].endswith("%"):
        fields.pop(0)
    elif separator == decimal and len(fields) > 1 and fields[1].endswith("%"):
        del fields[:2]


def is_time(written):
    whole, mark, rest = written.replace(",", ".").partition(".")
    return bool(mark) and is_digits(whole) and is_digits(rest) and len(rest) == 9


def is_digits(written):
    return written != "" and all(c in "0123456789" for c in written)
