"""`cmlib compare`."""

import json

import click


class _Refused(click.ClickException):
    """Exit code 1 is kept for an anomaly, so that it can fail a CI job and nothing else does."""

    exit_code = 2


@click.command(
    epilog="Example: cmlib compare --events page-faults,context-switches './old --size 9' './new --size 9'"
)
@click.argument("old")
@click.argument("new")
@click.option(
    "--events",
    "asked",
    metavar="LIST",
    help="Events of commands, with commas between; NAME=CODE for raw ones.",
)
@click.option(
    "--runs", "n_runs", default=20, show_default=True, type=click.IntRange(1), help="Runs of each command."
)
@click.option(
    "--alpha", default=0.01, show_default=True, type=click.FloatRange(0, 0.5, min_open=True),
    help="Chance of a false alarm that is accepted.",
)  # fmt: skip
@click.option(
    "--keep", type=click.Path(file_okay=False), help="Folder for the recordings: old.json and new.json."
)
@click.option("--seed", default=0, show_default=True, help="Of the autoencoders.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def compare(context, old, new, asked, n_runs, alpha, keep, seed, as_json):
    """Compare the NEW version of a program with the OLD one: is its performance anomalous, where, by which
    counter?

    OLD and NEW are recordings (a .json file), or commands in quotes, which are run here in turns, {run} in
    them standing for the number of the run. Programs that use cmlib_region.h or cmlib.anomaly.region are
    compared region by region, any other as a whole.

    Exit code 0: no anomaly. 1: an anomaly. 2: refused, with the reason.
    """
    from tqdm import tqdm

    from cmlib.anomaly.compare import compare_versions
    from cmlib.anomaly.detector import AutoPerf
    from cmlib.anomaly.sides import open_sides
    from cmlib.errors import CmlibError

    n_commands = sum(not name.endswith(".json") for name in (old, new))
    try:
        with tqdm(total=n_runs * n_commands, unit="run", disable=not n_commands, leave=False) as bar:
            good, changed = open_sides(
                old, new, asked=asked, n_runs=n_runs, keep=keep, progress=lambda: bar.update()
            )
        verdict = compare_versions(
            good.runs,
            changed.runs,
            alpha=alpha,
            detector=AutoPerf(random_state=seed),
            good_machine=good.about["machine"],
            new_machine=changed.about["machine"],
        )
    except (CmlibError, ValueError, OSError) as error:
        if as_json:
            click.echo(json.dumps(_refusal([str(error)]), indent=1, ensure_ascii=False))
        raise _Refused(str(error)) from error
    told = _told(verdict, good, changed, alpha)
    click.echo(json.dumps(told, indent=1, ensure_ascii=False) if as_json else _text(told))
    if verdict.refused:
        raise _Refused("; ".join(verdict.refused))
    context.exit(int(verdict.anomalous))


def _refusal(reasons):
    return {"schema": 1, "verdict": "refused", "refused": list(reasons)}


def _told(verdict, good, changed, alpha):
    if verdict.refused:
        return _refusal(verdict.refused)
    return {
        "schema": 1,
        "verdict": "anomaly" if verdict.anomalous else "no anomaly",
        "chance_of_false_alarm": verdict.chance,
        "alpha": alpha,
        "old": {"name": good.name, "runs": len(good.runs)},
        "new": {"name": changed.name, "runs": len(changed.runs)},
        "counted_per": good.about.get("per", "instructions"),
        "functions": verdict.functions.to_dict("records"),
        "counters": [_counter(row) for row in verdict.counters.to_dict("records")],
        "refused": [],
    }


def _counter(row):
    """A counter that usually is 0 has no multiple of it."""
    return row | {"times_usual": row["times_usual"] if row["times_usual"] < 1e12 else None}


def _text(told):
    if told["verdict"] == "refused":
        return "refused"
    runs = f"{told['new']['runs']} new runs against {told['old']['runs']} old ones"
    lines = [
        f"{told['verdict']}: {runs}; two recordings of one version differ as much with a chance of "
        f"{told['chance_of_false_alarm']:.2g} (accepted: {told['alpha']:g})"
    ]
    for function in told["functions"]:
        mark = "ANOMALOUS" if function["anomalous"] else "as before"
        lines.append(
            f"  {mark}  {function['function']}  chance {function['chance']:.2g}, samples above the threshold: "
            f"{function['good_exceeding']:.0%} before, {function['new_exceeding']:.0%} now"
        )
    for counter in told["counters"][:5]:
        usual = counter["times_usual"]
        much = "never seen before" if usual is None else f"{usual:.3g} times the usual"
        lines.append(
            f"  by {counter['counter']}: {much}, {counter['share']:.0%} of the "
            f"error, first in {counter['votes']} samples, most at {counter['location']}"
        )
    return "\n".join(lines)
