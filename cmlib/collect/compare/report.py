"""The result of comparing two versions as a dict for JSON."""

import numpy as np

from cmlib.anomaly.speed import SLOWER

SCHEMA = 2  # of the JSON, as docs/compare.md describes it
REFUSED = "refused"


def refusal(reason):
    """The result (dict) where nothing could be compared, for the `reason` (str)."""
    return {"schema": SCHEMA, "verdict": REFUSED, "anomaly": None, "refused": [reason]}


def report(old, new, verdict, **results):
    """The result (dict) of comparing two versions, however they were run.

    `old` and `new` have a name and runs; `results` are further entries.
    """
    names = {form: {"name": of.name, "runs": len(of.runs)} for form, of in (("old", old), ("new", new))}
    common = {"schema": SCHEMA, "verdict": verdict, "anomaly": verdict == SLOWER, "refused": []}
    return common | names | results


def as_rows(frame, *, unbounded=np.inf):
    """Rows of a DataFrame as dicts for JSON; infinite numbers, and those from `unbounded` on, become None."""

    def finite(value):
        return None if isinstance(value, float) and not abs(value) < unbounded else value

    return [{key: finite(value) for key, value in row.items()} for row in frame.to_dict("records")]
