"""Write what other tools print as perf's tables: Android's simpleperf, poop, macOS' `time -l`, and perf of 2009.

:func:`as_perfs` takes a text, and gives it with perf's tables instead. Simpleperf prints what an event counted while it
was on a counter, and beside it count / runtime: counts are scaled to the longest runtime of the table, and each has the
share in which it was counted; each core that was counted apart is a table of its own. Poop prints means of several
runs, perf of 2009 the time in ms. Nothing is refused.
"""

import re

# Simpleperf's table, and a row of it.
_TABLE = re.compile(
    r"(?:^.{0,200}\bsimpleperf stat +(?P<command>.+)\n(?:[ \t]*\n)*)?"
    r"^ *Performance counter statistics(?P<mark>[:,]) *\n"
    r"(?P<rows>(?:(?!.*(?:Total test time|counter statistics|simpleperf stat )).*\n)*)"
    r"(?: *Total test time[:, ]+(?P<seconds>[0-9.]+))?",
    re.MULTILINE,
)
_ROW = re.compile(
    r" *(?:(?P<core>[0-9]{1,4}) +)?(?P<count>[0-9][0-9,]*(?:\.[0-9]+)?) *(?P<ms>\(ms\))? +"
    r"(?P<event>[a-zA-Z][^\s#]*) +(?:# *)?(?P<rate>[0-9.]++) *+"
    r"(?P<unit>(?:[^\s(]++ ?)*+) *+(?:\((?P<share>[0-9]{1,3})%\))? *+$"
)
_RATES = {"GHz": 1e9, "G/sec": 1e9, "M/sec": 1e6, "K/sec": 1e3, "/sec": 1.0}
_ALIKE = 0.95  # ratio of runtimes from which on they differ by rounding alone
# What macOS' `time -l` prints: the time is with that of started processes, the counts are without theirs.
_TIME_L = re.compile(
    r"^ *(?:([0-9.,]+) real +([0-9.,]+) user +([0-9.,]+) sys"
    r"|real +([0-9.,]+)\n *user +([0-9.,]+)\n *sys +([0-9.,]+)) *\n"
    r"(?: *[0-9]+  [a-z -]+\n)*? *([0-9]+)  instructions retired\n *([0-9]+)  cycles elapsed$",
    re.MULTILINE,
)
_SLOWEST = (
    1e6  # cycles a second of a processor's time below which they are of a process that only starts others
)
_POOP = re.compile(r"^Benchmark \d+ (\(\d+ runs\)): *(.+)\n((?: +\w+ .*\n)+)", re.MULTILINE)
_MEAN = re.compile(r"^ +(\w+) +([0-9.]+)([KMGT]?)(|ns|us|ms|s) +(?:± *(\S+))?.*$", re.MULTILINE)
_OF_2009 = re.compile(r"^ *Wall-clock time elapsed: +([0-9.]+) msecs", re.MULTILINE)  # perf's own
_FACTORS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def as_perfs(text):
    """The `text` (str) with perf's tables in place of the other tools', as the module describes."""
    text = _TIME_L.sub(_of_time_l, text)
    text = _OF_2009.sub(lambda took: f" {float(took[1]) / 1e3:.9f} seconds time elapsed", text)
    text = _POOP.sub(_of_poop, f"{text}\n") if "wall_time" in text else text
    return _TABLE.sub(_of_simpleperf, f"{text}\n") if "counter statistics" in text else text


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
    for name, number, scale, unit, varies in _MEAN.findall(block[3]):
        mean = float(number) * _FACTORS[scale] * _FACTORS[unit]
        rows.append(f"\n{mean:20.9f} seconds time elapsed" if unit else f"{mean:20.2f} {name} ( +- {varies})")
    return "\n".join([*rows[:2], *rows[3:], rows[2], ""])


def _of_simpleperf(table):
    """Perf's tables (str) for a match of one of simpleperf's, one a core, and lines that were no rows of it."""
    cores, others = {}, []
    for line in table["rows"].split("\n"):
        row = _ROW.match(line if table["mark"] == ":" else re.sub(r",+", "   ", line))
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
