"""The command ``cmlib doctor``, which examines the hardware counters of this machine."""

import dataclasses

import click

from cmlib.cli.answers import print_json
from cmlib.terminal import say

_COLOURS = {"ok": "green", "note": "blue", "warning": "yellow", "error": "red"}


@click.command(epilog="Example: cmlib doctor --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def doctor(as_json: bool) -> None:
    """Examine the hardware counters of this machine.

    Prints one line per finding with advice, and the number of counters that are offered and that count
    correctly.
    """
    from cmlib.collect import machine

    examination = machine.examine()
    if as_json:
        print_json(dataclasses.asdict(examination))
        return
    for finding in examination.findings:
        say(f"{finding.severity:<9}", nl=False, fg=_COLOURS[finding.severity])
        say(finding.what)
        details = [finding.numbers] if finding.severity == "ok" else [finding.numbers, f"→ {finding.todo}"]
        for line in filter(None, details):
            say(click.wrap_text(line, 100, " " * 9, " " * 9))
    say(f"{'counters':9}{examination.offered_counters} offered, {examination.good_counters} good")
