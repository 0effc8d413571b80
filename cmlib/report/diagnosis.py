"""Write the diagnosis of one run of a program as an HTML page.

:func:`diagnosis_page` takes a measured run and shows what limits each slice. :func:`simulated_page` takes a run
under Valgrind and shows the estimated cycles of each phase by cause. A slice is a short interval, and a phase
is a sequence of similar slices. ``cmlib diagnose`` writes these pages.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from cmlib.fingerprint.phases import contributions
from cmlib.io.events import simulated_events
from cmlib.plot.fingerprint import phase_timeline
from cmlib.plot.series import simulated_phases
from cmlib.report.page_filters import page_template

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cmlib.experiments.measured_diagnosis import Profile
    from cmlib.experiments.micro.fingerprint import Fingerprints
    from cmlib.experiments.simulated_diagnosis import SimulatedProfile


def diagnosis_page(answer: dict, profile: Profile, trained: Fingerprints) -> str:
    """Render the page of a measured run.

    Parameters
    ----------
    answer : dict
        Result of :func:`cmlib.experiments.measured_diagnosis.answer_measured`.
    profile : cmlib.experiments.measured_diagnosis.Profile
        Counts and classes from which the answer was made.
    trained : cmlib.experiments.micro.fingerprint.Fingerprints
        Recordings on which the classifier was trained. The page shows their processor and number.

    Returns
    -------
    str
        HTML without links to other files.
    """
    about = (
        f"{answer['slices']} slices. Labelled by a decision tree over {sum(map(len, trained.meta['groups']))} "
        f"key events, trained on {len(trained.key['micro'])} runs of micro-benchmarks on "
        f"{trained.meta['machine']['microarchitecture']}."
    )
    figure, _ = phase_timeline(profile.labelled, profile.pace)
    return _fill_template("diagnosis.html.j2", figure, title=answer["name"], about=about, **answer)


def simulated_page(answer: dict, profile: SimulatedProfile) -> str:
    """Render the page of a simulated run.

    Parameters
    ----------
    answer : dict
        Result of :func:`cmlib.experiments.simulated_diagnosis.answer_simulated`.
    profile : cmlib.experiments.simulated_diagnosis.SimulatedProfile
        Counts and phases from which the answer was made.

    Returns
    -------
    str
        HTML without links to other files.
    """
    events, totals = simulated_events(), profile.counts.sum()
    table = events.assign(count=totals, rate=1000 * totals / totals["sim.instructions"])
    parts = contributions(profile.counts, events["weight"])
    figure, _ = simulated_phases(parts, profile.phases["start"])
    counts = table.rename_axis("event").reset_index().to_dict("records")
    title = f"{answer['name']} (simulated)"
    return _fill_template("simulated_diagnosis.html.j2", figure, title=title, counts=counts, **answer)


def _fill_template(template_name: str, figure: Figure, **values: Any) -> str:
    """Render a template with a figure as SVG."""
    file = io.BytesIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = re.sub(r"^.*?(?=<svg)", "", file.getvalue().decode(), flags=re.S)
    return page_template(template_name).render(svg=Markup(svg), **values)
