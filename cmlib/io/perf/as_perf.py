"""Write what other tools print as perf's tables: Android's simpleperf, poop, macOS' `time -l`, stress-ng, perf of 2009;
perf's JSON, however it was laid out or cut, as perf's lines; and google-benchmark's console as Go's lines.

:func:`as_perfs` takes a text, and gives it with perf's tables instead. Simpleperf prints what an event counted while it
was on a counter, and beside it count / runtime: counts are scaled to the longest runtime of the table, and each has the
share in which it was counted; each core that was counted apart is a table of its own. Poop prints means of several
runs, perf of 2009 the time in ms. Nothing is refused.
"""

import itertools
import json
import re
from collections import Counter
from types import SimpleNamespace

from cmlib.places import yaml_beside

_FORMS = yaml_beside(__file__).items()
_RE = SimpleNamespace(**{kind: re.compile(form, re.MULTILINE) for kind, form in _FORMS})
_RATES = {"GHz": 1e9, "G/sec": 1e9, "M/sec": 1e6, "K/sec": 1e3, "/sec": 1.0}
_ALIKE = 0.95  # ratio of runtimes from which on they differ by rounding alone
_SLOWEST = 1e6  # cycles a second of a processor's time below which they are of what only starts others
_FACTORS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_FACTORS |= {"k": 1e3, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}
_LONGEST_LINE = 1000
# What stress-ng calls otherwise than perf.
_OF_STRESS = {
    "total-cycles": "ref-cycles",
    "page-faults-total": "page-faults",
    "page-faults-minor": "minor-faults",
}
_OF_STRESS |= {"cpu-cycles": "cycles", "branch-instructions": "branches", "page-faults-major": "major-faults"}
# Keys of perf's JSON in its order, between those of times and places and those of metrics.
_KEYS = {"counter-value": str, "unit": str, "event": str, "event-runtime": int, "pcnt-running": float}


def as_perfs(text):
    """The `text` (str) with perf's tables in place of the other tools', as the module describes."""
    text = _RE.object.sub(_of_object, text) if '"metric' in text or '"counter' in text else text
    text = _RE.time_l.sub(_of_time_l, text)
    text = _RE.of_2009.sub(lambda took: f" {float(took[1]) / 1e3:.9f} seconds time elapsed", text)
    text = _RE.poop.sub(_of_poop, f"{text}\n") if "wall_time" in text else text
    text = _of_stress(f"{text}\n") if "/sec" in text and "info:" in text else text
    text = "\n".join(_of_benchmarks(text.split("\n"))) if "Iterations" in text else text
    return _RE.table.sub(_of_simpleperf, f"{text}\n") if "counter statistics" in text else text


def _of_object(match):
    """The line (str) that perf writes of an object, for a match of _RE.object; other text as it is."""
    try:
        told = {key.replace("_", "-"): value for key, value in json.loads(match[1]).items()}
        metrics = {key: told.pop(key) for key in [*told] if key.startswith(("metric-", "variance"))}
        is_count = "counter-value" in told
        read = {key: kind(told.pop(key, kind())) for key, kind in _KEYS.items()} if is_count else {}
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return match[0]
    is_in_sentence = match.string[max(match.start() - 2, 0) : match.start()].strip(" \t\n,[}")
    is_metric = "metric-value" in metrics and not is_in_sentence
    return f"\n{json.dumps(told | read | metrics)}\n" if read or is_metric else match[0]


def _of_stress(text):
    """The text (str) with perf's tables in place of what `stress-ng --perf` counted of each stressor."""
    seconds, blocks = {}, Counter(block[1] for block in _RE.stressor.finditer(text))
    for name, took in _RE.stressed.findall(text):
        seconds.setdefault(name, []).append(took)

    def table(block):
        rows = ((row[1], "-".join(row[2].lower().split())) for row in _RE.stress.finditer(block[0]))
        rows = "".join(f"{count:>26}      {_OF_STRESS.get(name, name)}\n" for count, name in rows)
        if len(took := seconds.get(block[1], ())) == blocks[block[1]] == 1:
            rows += f"\n {took[0]} seconds time elapsed\n"
        return f"\n Performance counter stats for 'stress-ng {block[1] or ''}':\n\n{rows}\n"

    return _RE.stressor.sub(table, text)


def _of_benchmarks(lines):
    """Yield lines with Go's in place of google-benchmark's rows; how much repetitions varied is left out."""
    names, tables, of_program = None, 0, {}
    for line in lines:
        row = _RE.iteration.fullmatch(line) if tables and len(line) < _LONGEST_LINE else None
        if heading := _RE.benchmark.fullmatch(line):
            names, tables = heading[1].split(), tables + 1
        elif not row:
            yield line
        elif "%" not in row[3] + row[5] and not row[1].endswith("_stddev"):
            counters = [*map(_RE.counter.fullmatch, row[6].split())]
            below = names * (len(counters) >= len(names))  # else some cells are empty
            scales = {None: 1.0, "/s": float(row[4]) * _FACTORS[row[5]]}
            told = [f"{1e9 * float(row[2]) * _FACTORS[row[3]]:.9g} ns/op"]
            for cell, name in itertools.zip_longest(counters, below):
                if cell and (name := cell[1] or name):
                    told.append(f"{float(cell[2]) * _FACTORS[cell[3]] * scales[cell[4]]:.9g} {name}/op")
            program = "_".join(row[1].split())
            program += f"_table_{tables}" * (of_program.setdefault(program, tables) < tables)
            yield "\t".join([program, "1", *told])


def _of_time_l(block):
    """Perf's table (str) for a match of what `time -l` prints."""
    *times, instructions, cycles = filter(None, block.groups())
    took, user, system = (float(time.replace(",", ".")) for time in times)
    alone = "" if int(cycles) >= _SLOWEST * (user + system) else "-without-children"
    rows = f"\n {instructions}      instructions{alone}\n {cycles}      cycles{alone}\n"
    return f"{rows} {1e3 * (user + system):.2f} msec task-clock\n\n {took:.9f} seconds time elapsed\n"


def _of_poop(block):
    """Perf's table (str) for a match of a block of poop's."""
    rows = [f" Performance counter stats for '{block[2]}' {block[1]}:", ""]
    for name, number, scale, unit, varies in _RE.mean.findall(block[3]):
        mean = float(number) * _FACTORS[scale] * _FACTORS[unit]
        rows.append(f"\n{mean:20.9f} seconds time elapsed" if unit else f"{mean:20.2f} {name} ( +- {varies})")
    return "\n".join([*rows[:2], *rows[3:], rows[2], ""])


def _of_simpleperf(table):
    """Perf's tables (str) for a match of one of simpleperf's, one a core, and lines that were no rows of it."""
    cores, others = {}, []
    for line in table["rows"].split("\n"):
        row = _RE.row.match(line if table["mark"] == ":" else re.sub(r",+", "   ", line))
        if row:
            cores.setdefault(row["core"], []).append(row)
        elif not line.lstrip().startswith("#"):
            others.append(line)
    elapsed = [f"{table['seconds']} seconds time elapsed"] * bool(table["seconds"])
    written = []
    for core, rows in cores.items():
        place = f" cpu {core}" if core else ""
        command = re.sub(r"^-p +", "process ", (table["command"] or "").replace("'", ""))
        command = re.sub(r"^(?:-[\w-]+ +(?:[0-9]\S* +)?)+(?=\S)", "", command.strip())
        written += ["", f" Performance counter stats for '{command}{place}':", ""]
        written += [*_scaled(rows), "", *elapsed]
    return "\n".join([*written, *others])


def _scaled(rows):
    """Perf's lines (list of str) for the matches of the rows of a table, or of a core."""
    counts = [float(row["count"].replace(",", "")) for row in rows]
    rates = [float(row["rate"]) * _RATES.get(row["unit"].rstrip(), 0.0) for row in rows]
    runtimes = [count / rate if rate else 0.0 for count, rate in zip(counts, rates, strict=True)]
    clocks = [count / 1e3 for row, count in zip(rows, counts, strict=True) if row["ms"]]
    longest, lines = max([*runtimes, *clocks]), []
    for row, count, runtime in zip(rows, counts, runtimes, strict=True):
        share = runtime / longest if 0 < runtime < _ALIKE * longest and not row["share"] else 1.0
        percent = float(row["share"] or 100 * share)
        number = f"{count:.2f} msec" if row["ms"] else f"{count / share:.0f}"
        lines.append(f"{number:>20} {row['event']}    ({percent:.2f}%)")
    return lines
