"""`cmlib doctor`."""

import dataclasses
import json

import click

from cmlib.cli.record import key_values

_COLOURS = {"ok": "green", "note": "blue", "warning": "yellow", "error": "red"}


@click.command(epilog="Example: cmlib doctor --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def doctor(as_json):
    """Examine this machine: is there a PMU, who may count, which counters tell the truth."""
    from cmlib.collect import machine
    from cmlib.collect.workloads.catalog import lacking

    examination = machine.examine(lacking=lacking())
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(examination), indent=1, ensure_ascii=False))
        return
    for finding in examination.findings:
        click.echo(f"{click.style(f'{finding.severity:<9}', _COLOURS[finding.severity])}{finding.what}")
        below = [finding.numbers] if finding.severity == "ok" else [finding.numbers, f"→ {finding.todo}"]
        for line in filter(None, below):
            click.echo(click.wrap_text(line, 100, " " * 9, " " * 9))
    click.echo(f"{'counters':9}{examination.offered_counters} offered, {examination.good_counters} good")


@click.command(epilog="Example: cmlib programs --try datacaching --scale 0.1")
@click.option("--try", "tried", metavar="NAME", multiple=True, help="Run this program once, uncounted.")
@click.option("--scale", default=1.0, show_default=True, help="Multiplies its work.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    callback=key_values,
    help="Program-specific option.",
)
def programs(tried, scale, options):
    """List the programs that `cmlib record --program` takes, and what they lack here; or try some."""
    from cmlib.collect.workloads.catalog import prepared
    from cmlib.collect.workloads.recipe import run_once

    for name in tried:
        trial = run_once(prepared(name, scale=scale, options=options))
        click.echo(
            f"{name:28} ready after {trial.prepared_s:5.1f} s, ran {trial.seconds:5.1f} s on "
            f"{trial.processors:.2f} processors  {trial.output}"
        )
    if not tried:
        _list()


def _list():
    from cmlib.collect.workloads.catalog import lacking, recipes

    lacks = {name: words for suite in lacking().values() for name, words in suite.items()}
    for recipe in recipes().values():
        state = f"lacks {', '.join(lacks[recipe.name])}" if lacks[recipe.name] else "ready"
        click.echo(f"{recipe.name:28} {recipe.suite:14} {state}")
        click.echo(f"{'':28} {recipe.framework}; {recipe.input}")
