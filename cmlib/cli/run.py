"""The command ``cmlib run``, which runs the notebooks of a profile and writes their report.

It prints the path of the report, or the results as JSON. Progress is printed on standard error.
"""

import json
import logging
from pathlib import Path

import click

from cmlib.cli.recordings import processor_option
from cmlib.cli.stored import profile_names
from cmlib.passwords import hide
from cmlib.terminal import say, say_json

_LONGEST = 400  # longest line about a result [characters]


@click.command(epilog="Example: cmlib run paper 02_cleaning 03_ranking -p program=gcc")
@click.argument("profile", shell_complete=profile_names)
@click.argument("notebooks", nargs=-1)
@click.option(
    "-p",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of a parameter of the notebooks. Can be repeated.",
)
@click.option(
    "--jobs",
    type=int,
    help="Number of worker processes; -1 means one per processor. With 2 or more, two notebooks run at a time.",
)
@processor_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as JSON, in the format of answers.json."
)
def run(
    profile: str,
    notebooks: tuple[str, ...],
    assignments: tuple[str, ...],
    jobs: int | None,
    processor: str | None,
    as_json: bool,
) -> None:
    """Run the notebooks of PROFILE (smoke, paper or live) and write their report.

    All notebooks of the profile are run, unless NOTEBOOKS are named. Notebooks without recordings are
    skipped, unless NOTEBOOKS are named. Prints the path of the report.
    """
    from cmlib.report import run_profile
    from cmlib.report.inline import strip_markup
    from cmlib.report.program import ANSWERS
    from cmlib.templates import template

    parameters = dict(_split_parameter(text) for text in assignments) | (
        {} if jobs is None else {"jobs": jobs}
    )
    if processor:
        parameters["processor"] = processor
    # Suppress asyncio's traceback if a cell is interrupted.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    shown = []

    def show_page(page: Path) -> None:
        """Print the path of the page once."""
        if not (as_json or shown):
            say(page)
            shown.append(page)

    page = run_profile(profile, notebooks, parameters, on_first_page=show_page)
    show_page(page)
    answers = (page.parent / ANSWERS).read_text(encoding="utf-8")
    lines = template("cmlib.cli", "run.txt.j2").render(json.loads(answers), longest=_LONGEST).rstrip()
    if lines and not as_json:
        say(strip_markup(lines), err=True)
    if as_json:
        say_json(answers.rstrip("\n"))


def _split_parameter(text: str) -> tuple[str, object]:
    """Split NAME=VALUE into the name and the value, which is parsed as YAML."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.BadParameter(f"{hide(text)!r} is not NAME=VALUE", param_hint="-p")
    from cmlib.report import parse_value

    try:
        return name, parse_value(value)
    except ValueError as error:
        raise click.BadParameter(f"{name}: {error}", param_hint="-p") from error
