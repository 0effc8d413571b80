"""Write the result of a comparison of two versions as text or Markdown.

The result is a dict, which ``docs/compare-method.md`` describes. :func:`make_report` and :func:`make_refusal`
make the dict. :func:`write_text` and :func:`write_markdown` take it and return the output of ``cmlib
compare``. Measured and simulated comparisons have the same kind of dict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cmlib.compare.times import SLOWER
from cmlib.templates import template

if TYPE_CHECKING:
    from cmlib.compare.simulated import SimulatedVersion
    from cmlib.compare.versions import VersionRecording

SCHEMA = 2  # version of the JSON, which docs/compare-method.md describes
REFUSED = "refused"
_MOST_CAUSES = 3  # largest number of written causes
_LEAST_SHARE = 0.1  # smallest share of a written cause, as a fraction of the first cause's share


def make_refusal(reason: str) -> dict:
    """Return the result of a comparison that was not possible.

    Parameters
    ----------
    reason : str
        Reason why the versions cannot be compared.

    Returns
    -------
    dict
        ``schema``, ``verdict`` ("refused"), ``anomaly`` (None) and ``refused`` (list of the reason).
    """
    return {"schema": SCHEMA, "verdict": REFUSED, "anomaly": None, "refused": [reason]}


def make_report(
    old: VersionRecording | SimulatedVersion,
    new: VersionRecording | SimulatedVersion,
    verdict: str,
    **results: Any,
) -> dict:
    """Return the result of a comparison.

    Parameters
    ----------
    old, new : VersionRecording or SimulatedVersion
        Both versions.
    verdict : str
        Verdict on the new version. For example, "slower".
    **results
        Further entries of the result.

    Returns
    -------
    dict
        ``schema``, ``verdict``, ``anomaly`` (True if slower), ``refused`` (empty list), ``old`` and ``new``
        (name and number of runs), and `results`.
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


def to_rows(frame: pd.DataFrame, *, unbounded: float = np.inf) -> list[dict]:
    """Convert a table to a list of dicts for JSON.

    NaN and infinite numbers become None.

    Parameters
    ----------
    frame : DataFrame
        Table to convert.
    unbounded : float, optional
        Numbers with this absolute value or a larger one become None, too.

    Returns
    -------
    list of dict
        One dict per row.
    """

    def finite(value: Any) -> Any:
        """Return a value, or None for a number that is too large or not finite."""
        return None if isinstance(value, float) and not abs(value) < unbounded else value

    return [{key: finite(value) for key, value in row.items()} for row in frame.to_dict("records")]


def write_text(comparison: dict) -> str:
    """Write the result of a comparison as text.

    Parameters
    ----------
    comparison : dict
        Output of ``cmlib compare --json``.

    Returns
    -------
    str
        One finding per line.
    """
    return _write(comparison, "compare.txt.j2")


def write_markdown(comparison: dict) -> str:
    """Write the result of a comparison as Markdown.

    Parameters
    ----------
    comparison : dict
        Output of ``cmlib compare --json``.

    Returns
    -------
    str
    """
    return _write(comparison, "compare.md.j2")


def _write(comparison: dict, template_name: str) -> str:
    """Write a comparison by a template.

    Only the largest causes are written. Changed functions that support the verdict come first.
    """
    causes = comparison["counters"]["causes"]
    largest = [cause for cause in causes if cause["share"] >= _LEAST_SHARE * causes[0]["share"]]
    changed = sorted(comparison["changed_functions"], key=lambda function: not function["in_verdict"])
    shown = comparison | {"causes": largest[:_MOST_CAUSES], "changed": changed}
    return template("cmlib.compare", template_name).render(shown).rstrip()
