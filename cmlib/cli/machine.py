"""`cmlib doctor`: examine this machine's hardware counters, and print the findings as text or JSON.

It prints what it found out about the hardware counters, as JSON with --json.
"""

import dataclasses

import click

from cmlib.cli.answers import print_json
from cmlib.terminal import say

_COLOURS = {"ok": "green", "note": "blue", "warning": "yellow", "error": "red"}


@click.command(epilog="Example: cmlib doctor --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def doctor(as_json):
    """Examine this machine: is there a PMU, who may count, which counters count correctly.

    Prints a line per finding, what to do about it, and how many counters are offered and good.
    """
    from cmlib.collect import machine

    examination = machine.examine()
    if as_json:
        print_json(dataclasses.asdict(examination))
        return
    for finding in examination.findings:
        say(f"{finding.severity:<9}", nl=False, fg=_COLOURS[finding.severity])
        say(finding.what)
        below = [finding.numbers] if finding.severity == "ok" else [finding.numbers, f"→ {finding.todo}"]
        for line in filter(None, below):
            say(click.wrap_text(line, 100, " " * 9, " " * 9))
    say(f"{'counters':9}{examination.offered_counters} offered, {examination.good_counters} good")
