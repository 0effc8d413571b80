"""`cmlib run`: run the notebooks of a profile (a set of values for their parameters), and make their report.

The command prints the path of the report's HTML page, or with --json what was found. On standard error it prints
how long each notebook took, and what the page says of a program, if it is about one.
"""

import json
import logging

import click

from cmlib.cli.recordings import processor_option
from cmlib.cli.stored import profile_names
from cmlib.passwords import hide
from cmlib.terminal import say, say_json

_LONGEST = 400  # characters of a line about the result


@click.command(epilog="Example: cmlib run paper 02_cleaning 03_ranking -p program=gcc")
@click.argument("profile", shell_complete=profile_names)
@click.argument("notebooks", nargs=-1)
@click.option(
    "-p", "assignments", multiple=True, metavar="NAME=VALUE", help="A notebook's parameter; may be repeated."
)
@click.option(
    "--jobs",
    type=int,
    help="Processes that compute at a time; -1 means one per processor. From 2, two notebooks run side by side.",
)
@processor_option
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON, as in answers.json.")
def run(profile, notebooks, assignments, jobs, processor, as_json):
    """Run the notebooks of PROFILE (smoke, paper or live), all or those named, and make their report.

    Prints the path of the report's page, for live before the notebooks run. Notebooks for which nothing is recorded are
    left out, unless they are named.
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
    # asyncio would add a traceback to the message that a cell was interrupted.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    shown = []

    def show_page(page):
        """Print the path of the page, once."""
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


def _split_parameter(text):
    """Split NAME=VALUE into the name of a notebook's parameter and its value, which is read as YAML.

    Raises click.BadParameter if the text is something else.
    """
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.BadParameter(f"{hide(text)!r} is not NAME=VALUE", param_hint="-p")
    from cmlib.report import parse_value

    try:
        return name, parse_value(value)
    except ValueError as error:
        raise click.BadParameter(f"{name}: {error}", param_hint="-p") from error
