"""Put the result of comparing two versions into a dict for JSON, and write it as text or Markdown.

Measured and simulated versions have the same kind of dict; docs/compare-method.md describes its entries.
:func:`make_report` takes both versions, the verdict and further entries; :func:`make_refusal` takes the reason why
there is no verdict. :func:`write_text` and :func:`write_markdown` take such a dict, and return the output of `cmlib
compare`.
"""

import numpy as np

from cmlib.compare.times import SLOWER
from cmlib.templates import template

SCHEMA = 2  # of the JSON, as docs/compare-method.md describes it
REFUSED = "refused"
_MOST_CAUSES = 3  # causes that are written, at most
_LEAST_SHARE = 0.1  # causes with a smaller share of the first cause's are not written


def make_refusal(reason):
    """Make the result of a comparison that was not possible.

    Parameters
    ----------
    reason : str
        Why it was not possible.

    Returns
    -------
    dict
        ``schema``, ``verdict`` ("refused"), ``anomaly`` (None) and ``refused`` (list with the reason).
    """
    return {"schema": SCHEMA, "verdict": REFUSED, "anomaly": None, "refused": [reason]}


def make_report(old, new, verdict, **results):
    """Make the result of comparing two versions, measured or simulated.

    Parameters
    ----------
    old, new : cmlib.compare.versions.VersionRecording or cmlib.compare.simulated.SimulatedVersion
        The versions, of which the name and the number of runs are taken.
    verdict : str
        One of the verdicts of :mod:`cmlib.compare.times` or :mod:`cmlib.compare.simulated_counts`, or "counters
        differ".
    **results
        Further entries of the result.

    Returns
    -------
    dict
        ``schema``, ``verdict``, ``anomaly`` (True if slower), ``refused`` (empty list), ``old`` and ``new`` (dicts of
        name and runs), and the entries of `results`.
    """
    return {
        "schema": SCHEMA,
        "verdict": verdict,
        "anomaly": verdict == SLOWER,
        "refused": [],
        "old": {"name": old.name, "runs": len(old.runs)},
        "new": {"name": new.name, "runs": len(new.runs)},
        **results,
    }


def to_rows(frame, *, unbounded=np.inf):
    """Convert a table to a list of dicts for JSON.

    Parameters
    ----------
    frame : DataFrame
    unbounded : float, optional
        Numbers with this absolute value or more become None. NaN and infinite numbers always do.

    Returns
    -------
    list of dict
        One per row.
    """

    def finite(value):
        return None if isinstance(value, float) and not abs(value) < unbounded else value

    return [{key: finite(value) for key, value in row.items()} for row in frame.to_dict("records")]


def write_text(comparison):
    """Write a comparison as text, one finding per line.

    Parameters
    ----------
    comparison : dict
        The output of ``cmlib compare --json``.

    Returns
    -------
    str
    """
    return _write(comparison, "compare.txt.j2")


def write_markdown(comparison):
    """Write a comparison as Markdown.

    Parameters
    ----------
    comparison : dict
        The output of ``cmlib compare --json``.

    Returns
    -------
    str
    """
    return _write(comparison, "compare.md.j2")


def _write(comparison, name):
    """Fill a template with a comparison, its largest causes, and changed functions, those in the verdict first."""
    causes = comparison["counters"]["causes"]
    largest = [cause for cause in causes if cause["share"] >= _LEAST_SHARE * causes[0]["share"]]
    changed = sorted(comparison["changed_functions"], key=lambda function: not function["in_verdict"])
    shown = comparison | {"causes": largest[:_MOST_CAUSES], "changed": changed}
    return template("cmlib.compare", name).render(shown).rstrip()
