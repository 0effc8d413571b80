"""`cmlib run`: run the notebooks of a profile (a set of values for their parameters), and make their report.

Prints the path of the report's HTML page, or with --json what was found; on standard error what it says of a program,
if it is about one.
"""

import json
import logging

import click

from cmlib.cli.recordings import processor_option
from cmlib.cli.stored import profile_names
from cmlib.passwords import hide
from cmlib.terminal import say

_LONGEST = 400  # characters of a line about the result
_WITH_COMMAND = "To know more"  # label of a line that holds a command to copy, which is never cut


@click.command(epilog="Example: cmlib run paper 02_cleaning 03_ranking -p program=gcc")
@click.argument("profile", shell_complete=profile_names)
@click.argument("notebooks", nargs=-1)
@click.option(
    "-p", "assignments", multiple=True, metavar="NAME=VALUE", help="A notebook's parameter; may be repeated."
)
@click.option(
    "--jobs",
    type=int,
    help="Processes that compute at a time; -1 means one a processor. From 2, two notebooks run side by side.",
)
@processor_option
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON, as in answers.json.")
def run(profile, notebooks, assignments, jobs, processor, as_json):
    """Run the notebooks of PROFILE (smoke, paper or live), all or those named, and make their report.

    Prints the path of the report's page. Notebooks for which nothing is recorded are left out, unless they are named.
    """
    from cmlib.report import run_profile
    from cmlib.report.page import ANSWERS

    parameters = dict(_parameter(text) for text in assignments) | ({} if jobs is None else {"jobs": jobs})
    if processor:
        parameters["processor"] = processor
    # asyncio would add a traceback to the message that a cell was interrupted.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    page = run_profile(profile, notebooks, parameters)
    answers = (page.parent / ANSWERS).read_text(encoding="utf-8")
    for line in () if as_json else _result(json.loads(answers)["programs"]):
        say(line, err=True)
    say(answers if as_json else page, nl=not as_json)


def _result(programs):
    """Yield at most three lines (str) on the one program of a report; nothing if there are several.

    `programs` is that part of answers.json: a dict of name to the program's entry.
    """
    for name, facts in programs.items() if len(programs) == 1 else ():
        texts = {
            name: facts["limits"] or facts["varies"],
            "What to try": facts["advice"],
            _WITH_COMMAND: next(iter(facts["missing"]), ""),
        }
        for label, text in texts.items():
            if len(text) <= _LONGEST:
                short = text
            elif label == _WITH_COMMAND:
                short = "(on the page)"
            else:
                short = f"{text[:_LONGEST]}… (in full on the page)"
            if text:
                yield f"{label}: {short}"


def _parameter(text):
    """Name and value of a notebook's parameter from NAME=VALUE, the value read as YAML: a tuple.

    click.BadParameter if the text is something else.
    """
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.BadParameter(f"{hide(text)!r} is not NAME=VALUE", param_hint="-p")
    from cmlib.report import parse_value

    try:
        return name, parse_value(value)
    except ValueError as error:
        raise click.BadParameter(f"{name}: {error}", param_hint="-p") from error
