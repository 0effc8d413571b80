"""What is reported of a comparison of two versions, to become JSON."""

import numpy as np

from cmlib.anomaly.speed import SLOWER

SCHEMA = 2
REFUSED = "refused"


def refusal(reason):
    """What is reported when nothing could be compared."""
    return {"schema": SCHEMA, "verdict": REFUSED, "anomaly": None, "refused": [reason]}


def report(old, new, verdict, **results):
    """What is reported of both ways, to become JSON."""
    names = {form: {"name": of.name, "runs": len(of.runs)} for form, of in (("old", old), ("new", new))}
    common = {"schema": SCHEMA, "verdict": verdict, "anomaly": verdict == SLOWER, "refused": []}
    return common | names | results


def as_rows(frame, *, unbounded=np.inf):
    """Rows for JSON, which has no infinity: what used to be 0 has no multiple."""
    rows = frame.to_dict("records")
    return [{key: _finite(value, unbounded) for key, value in row.items()} for row in rows]


def _finite(value, unbounded):
    return None if isinstance(value, float) and not abs(value) < unbounded else value
