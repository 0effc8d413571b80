"""Put the result of comparing two versions into a dict for JSON, the same for measured and simulated versions.

:func:`make_report` takes both versions, the verdict and further entries, :func:`make_refusal` the reason why
there is none. The entries are described in docs/compare-method.md. Nothing is refused here.
"""

import numpy as np

from cmlib.compare.times import SLOWER

SCHEMA = 2  # of the JSON, as docs/compare-method.md describes it
REFUSED = "refused"


def make_refusal(reason):
    """Result (dict) where nothing could be compared: schema, verdict ("refused"), anomaly (None), and refused.

    The last is a list of the `reason` (str).
    """
    return {"schema": SCHEMA, "verdict": REFUSED, "anomaly": None, "refused": [reason]}


def make_report(old, new, verdict, **results):
    """The result (dict) of comparing two versions, whether they were measured or simulated.

    `old` and `new` have a `name` and `runs`, of which only the number is taken; `verdict` (str) is one of
    :mod:`cmlib.compare.times` or :mod:`cmlib.compare.simulated_counts`, or "counters differ"; `results`
    are further entries. Keys: schema, verdict, anomaly (True if slower), refused (empty), old and new (dicts of name
    and runs), and those of `results`.
    """
    names = {form: {"name": of.name, "runs": len(of.runs)} for form, of in (("old", old), ("new", new))}
    common = {"schema": SCHEMA, "verdict": verdict, "anomaly": verdict == SLOWER, "refused": []}
    return common | names | results


def to_rows(frame, *, unbounded=np.inf):
    """List of the rows of a DataFrame (`frame`) as dicts for JSON.

    NaN, infinite numbers, and numbers whose absolute value is `unbounded` or more, become None.
    """

    def finite(value):
        return None if isinstance(value, float) and not abs(value) < unbounded else value

    return [{key: finite(value) for key, value in row.items()} for row in frame.to_dict("records")]
