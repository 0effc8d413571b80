"""A program's diagnosis as one page that needs nothing beside it."""

import io
import re

import jinja2


def render(title, profile, explained, figure, *, about, caveat=""):
    """Lay out a diagnosis in HTML.

    Parameters
    ----------
    title : str
        The program, or its command.
    profile : cmlib.study.diagnosis.Profile
    explained : DataFrame
        A row a phase: ``start_s``, ``end_s``, ``label``, ``rule``, ``meaning``, ``remedy``.
    figure : matplotlib figure
        The timeline.
    about : str
        What was recorded and what the tree was trained on.
    caveat : str
        Said above everything else, such as that the data is synthetic.

    Returns
    -------
    str
    """
    phases = explained.to_dict("records")
    rules = {label: list(dict.fromkeys(own["rule"])) for label, own in explained.groupby("label")}
    return fill(
        "page.html.j2",
        figure,
        title=title,
        shares=list(profile.shares.items()),
        meanings={phase["label"]: phase for phase in phases},
        rules=rules,
        phases=phases,
        about=about,
        caveat=caveat,
    )


def fill(template, figure, **values):
    """Fill a template of this folder, with a matplotlib figure as ``svg``.

    Parameters
    ----------
    template : str
        ``page.html.j2``, or ``simulated.html.j2`` for simulated counts.
    figure : matplotlib figure
    **values
        What the template shows.

    Returns
    -------
    str
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cmlib.fingerprint", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    file = io.BytesIO()
    figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = re.sub(r"^.*?(?=<svg)", "", file.getvalue().decode(), flags=re.S)
    return environment.get_template(template).render(svg=jinja2.utils.markupsafe.Markup(svg), **values)
