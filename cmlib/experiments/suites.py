"""Programs by the suite that they belong to."""

from cmlib.collect.workloads.catalog import recipes


def suites(programs):
    """The suite of each program."""
    known = recipes()
    return {name: known[name].suite if name in known else "own" for name in programs}


def of_suites(programs, wanted):
    """Those of some programs that belong to one of the suites named, in their order."""
    return [name for name, suite in suites(programs).items() if suite in wanted]


def paper_figures(programs, numbers):
    """What CounterMiner's figures are called that show these programs."""
    figures = [number for suite, number in numbers.items() if of_suites(programs, [suite])]
    return f"Figure{'s' * (len(figures) > 1)} {' and '.join(figures)}".strip()
