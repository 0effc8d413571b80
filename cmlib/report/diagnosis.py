"""A program's diagnosis as one page that needs nothing beside it."""

import io
import re

from markupsafe import Markup

from cmlib.fingerprint.phases import contributions
from cmlib.io.events import simulated_events
from cmlib.plot.fingerprint import phase_timeline
from cmlib.plot.series import simulated_phases
from cmlib.report.page import page_template


def diagnosis_page(answer, profile, trained):
    """A measured program's slices, phases, and what to do about them."""
    about = (
        f"{answer['slices']} slices. Labelled by a decision tree over {sum(map(len, trained.meta['groups']))} "
        f"key events, trained on {len(trained.key['micro'])} runs of micro-benchmarks on "
        f"{trained.meta['machine']['microarchitecture']}."
    )
    figure, _ = phase_timeline(profile.labelled, profile.pace)
    return _fill("diagnosis.html.j2", figure, title=answer["name"], about=about, **answer)


def simulated_page(answer, profile):
    """What is said of a simulated run, its phases, and its counts."""
    events, totals = simulated_events(), profile.counts.sum()
    table = events.assign(count=totals, rate=1000 * totals / totals["sim.instructions"])
    parts = contributions(profile.counts, events["weight"])
    figure, _ = simulated_phases(parts, profile.phases["start"])
    counts = table.rename_axis("event").reset_index().to_dict("records")
    title = f"{answer['name']} (simulated)"
    return _fill("simulated_diagnosis.html.j2", figure, title=title, counts=counts, **answer)


def _fill(page, figure, **values):
    file = io.BytesIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = re.sub(r"^.*?(?=<svg)", "", file.getvalue().decode(), flags=re.S)
    return page_template(page).render(svg=Markup(svg), **values)
