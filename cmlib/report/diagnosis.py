"""The diagnosis of one run of a program (`cmlib diagnose`) as a single HTML page without other files.

Of a measured run, slices (short stretches) have a class that says what limits them; of a run simulated by Valgrind,
phases (stretches that are alike) have estimated cycles by cause. Both functions take an answer (dict) and what it was
made of, and return HTML (str); these are not checked.
"""

import io
import re

from markupsafe import Markup

from cmlib.fingerprint.phases import contributions
from cmlib.io.events import simulated_events
from cmlib.plot.fingerprint import phase_timeline
from cmlib.plot.series import simulated_phases
from cmlib.report.page_filters import page_template


def diagnosis_page(answer, profile, trained):
    """The HTML page (str) of a measured program: its slices and phases by class, and what to do about them.

    `answer` is the dict of :func:`cmlib.experiments.diagnosis.answer_measured`, `profile` the Profile that it was
    made from (class and IPC of each slice), `trained` the Fingerprints (recordings of micro-benchmarks) that the
    classifier was trained on, of which only the number of runs and of events and the processor are named.
    """
    about = (
        f"{answer['slices']} slices. Labelled by a decision tree over {sum(map(len, trained.meta['groups']))} "
        f"key events, trained on {len(trained.key['micro'])} runs of micro-benchmarks on "
        f"{trained.meta['machine']['microarchitecture']}."
    )
    figure, _ = phase_timeline(profile.labelled, profile.pace)
    return _fill("diagnosis.html.j2", figure, title=answer["name"], about=about, **answer)


def simulated_page(answer, profile):
    """The HTML page (str) of a simulated run: its phases, and its counts with rates per 1,000 instructions.

    `answer` is the dict of :func:`cmlib.experiments.diagnosis.answer_simulated`, `profile` the SimulatedProfile that
    it was made from (counts by interval, and phases).
    """
    events, totals = simulated_events(), profile.counts.sum()
    table = events.assign(count=totals, rate=1000 * totals / totals["sim.instructions"])
    parts = contributions(profile.counts, events["weight"])
    figure, _ = simulated_phases(parts, profile.phases["start"])
    counts = table.rename_axis("event").reset_index().to_dict("records")
    title = f"{answer['name']} (simulated)"
    return _fill("simulated_diagnosis.html.j2", figure, title=title, counts=counts, **answer)


def _fill(page, figure, **values):
    """HTML (str): the template `page` (name of its file), with a figure as SVG and `values` filled in."""
    file = io.BytesIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = re.sub(r"^.*?(?=<svg)", "", file.getvalue().decode(), flags=re.S)
    return page_template(page).render(svg=Markup(svg), **values)
