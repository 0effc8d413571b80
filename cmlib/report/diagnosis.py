"""A program's diagnosis as one page that needs nothing beside it."""

import io
import re

from markupsafe import Markup

from cmlib.experiments.diagnosis import explain, explain_simulated
from cmlib.experiments.fingerprint import HEALTHY
from cmlib.fingerprint.phases import contributions
from cmlib.io.events import simulated_events
from cmlib.plot.fingerprint import phase_timeline
from cmlib.plot.series import simulated_phases
from cmlib.report.page import page_template

SIMULATED = (
    "Simulated by Valgrind, not measured: instructions, loads, stores and branches are exact, misses and "
    "mispredictions are those of a model without speculation, and no cycles were counted. Threads "
    "ran one at a time, so that contention and waiting do not show."
)
MOST_KINDS = 10


def summary(profile):
    """Where a simulated run's estimated cycles go, a line a class."""
    return [
        f"{row.name} {100 * row.share:.0f} % of the estimated cycles ({re.sub(r' [0-9]+ %', '', row.functions)})"
        + (": nothing stands out" if row.name == HEALTHY else "")
        for row in profile.classes.itertuples(index=False)
    ]


def left_out(profile):
    """How much the phases that are not shown come to; empty if all are."""
    rest = profile.kinds["share"].iloc[MOST_KINDS:]
    return f"{100 * rest.sum():7.1f} %  in {len(rest)} other kinds of phases" if len(rest) else ""


def diagnosis_page(title, profile, trained):
    """A measured program's slices, phases, and what to do about them."""
    explained = explain(profile)
    about = (
        f"{len(profile.labelled)} slices. Labelled by a decision tree over {sum(map(len, trained.meta['groups']))} "
        f"key events, trained on {len(trained.key['micro'])} runs of micro-benchmarks on "
        f"{trained.meta['machine']['microarchitecture']}."
    )
    phases = explained.to_dict("records")
    return _fill(
        "diagnosis.html.j2",
        phase_timeline(profile.labelled, profile.pace)[0],
        title=title,
        shares=list(profile.shares.items()),
        meanings={phase["label"]: phase for phase in phases},
        rules={label: list(dict.fromkeys(own["rule"])) for label, own in explained.groupby("label")},
        phases=phases,
        about=about,
        caveat=trained.caveat.replace("**", "").strip(),
    )


def simulated_page(title, profile):
    """A simulated run's phases, and its counts."""
    events, totals = simulated_events(), profile.counts.sum()
    table = events.assign(count=totals, rate=1000 * totals / totals["sim.instructions"])
    return _fill(
        "simulated_diagnosis.html.j2",
        simulated_phases(contributions(profile.counts, events["weight"]), profile.phases["start"])[0],
        title=f"{title} (simulated)",
        about=profile.about,
        caveat=SIMULATED,
        summary=summary(profile),
        kinds=profile.kinds.head(MOST_KINDS).to_dict("records"),
        left_out=left_out(profile),
        advice=explain_simulated(profile.kinds),
        counts=table.rename_axis("event").reset_index().to_dict("records"),
    )


def _fill(name, figure, **values):
    file = io.BytesIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = re.sub(r"^.*?(?=<svg)", "", file.getvalue().decode(), flags=re.S)
    return page_template(name).render(svg=Markup(svg), **values)
