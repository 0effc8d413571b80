"""Write the diagnosis of one run of a program (`cmlib diagnose`) as a single HTML page without other files.

The page of a measured run shows its slices (short stretches), each with a class that says what limits it. The page of
a run simulated by Valgrind shows its phases (stretches with similar counts), with estimated cycles by cause. Both
functions take an answer (dict) and the profile that it was made from, and return HTML (str). They do not check their
arguments.
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
    """Make the HTML page of a measured program: its slices and phases by class, and what to do about them.

    Parameters
    ----------
    answer : dict
        Result of :func:`cmlib.experiments.diagnosis.answer_measured`.
    profile : cmlib.experiments.diagnosis.Profile
        The profile from which the answer was made.
    trained : cmlib.experiments.micro.fingerprint.Fingerprints
        Recordings on which the classifier was trained; the page names their processor and their numbers of runs and
        events.

    Returns
    -------
    str
    """
    about = (
        f"{answer['slices']} slices. Labelled by a decision tree over {sum(map(len, trained.meta['groups']))} "
        f"key events, trained on {len(trained.key['micro'])} runs of micro-benchmarks on "
        f"{trained.meta['machine']['microarchitecture']}."
    )
    figure, _ = phase_timeline(profile.labelled, profile.pace)
    return _fill("diagnosis.html.j2", figure, title=answer["name"], about=about, **answer)


def simulated_page(answer, profile):
    """Make the HTML page of a simulated run: its phases, and its counts with rates per 1,000 instructions.

    Parameters
    ----------
    answer : dict
        Result of :func:`cmlib.experiments.diagnosis.answer_simulated`.
    profile : cmlib.experiments.diagnosis.SimulatedProfile
        The profile from which the answer was made.

    Returns
    -------
    str
    """
    events, totals = simulated_events(), profile.counts.sum()
    table = events.assign(count=totals, rate=1000 * totals / totals["sim.instructions"])
    parts = contributions(profile.counts, events["weight"])
    figure, _ = simulated_phases(parts, profile.phases["start"])
    counts = table.rename_axis("event").reset_index().to_dict("records")
    title = f"{answer['name']} (simulated)"
    return _fill("simulated_diagnosis.html.j2", figure, title=title, counts=counts, **answer)


def _fill(page, figure, **values):
    """Fill a figure (as SVG) and `values` into the template `page` (name of its file); return the HTML (str)."""
    file = io.BytesIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = re.sub(r"^.*?(?=<svg)", "", file.getvalue().decode(), flags=re.S)
    return page_template(page).render(svg=Markup(svg), **values)
