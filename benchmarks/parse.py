"""Measure the time and the memory for reading each form of perf's output, and compare them with pandas' parser.

python benchmarks/parse.py [--rows 2000000] [FORM…]
"""

import argparse
import io
import resource
from functools import partial

import numpy as np
import pandas as pd
from interleave import ratio

from cmlib.io import perf

_EVENTS = 14
_FORMS = ("comma", "tab", "decimal-comma", "comma-in-event", "shadow-metrics", "json")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "forms", nargs="*", metavar="FORM", help=f"of {', '.join(_FORMS)}; all if none is named"
    )
    parser.add_argument("--rows", type=int, default=2_000_000)
    options = parser.parse_args()
    for form in options.forms or _FORMS:
        text = _text(form, options.rows)
        before = _peak_mb()
        n_rows = len(perf.parse_stat(text))
        peak = f"{_peak_mb():.0f} MB at most ({before:.0f} MB before, of it {len(text) / 1e6:.0f} MB text)"
        times = ratio(partial(perf.parse_stat, text), partial(_by_pandas, form, text), rounds=3)
        print(
            f"{form:15} {n_rows} rows in {1 / times.median:.2f} times pandas' time "
            f"({1 / times.most:.2f} to {1 / times.least:.2f}); {times.fast_s:.2f} s of processor time; {peak}",
            flush=True,
        )


def _by_pandas(form, text):
    """Split the same lines into columns."""
    if form == "json":
        return pd.read_json(io.StringIO(text), lines=True)
    return pd.read_csv(io.StringIO(text), sep="\t" if form == "tab" else ",", header=None)


def _text(form, n_rows):
    """Return lines with random counts in the form that perf writes."""
    counts = np.random.default_rng(0).integers(0, 10**9, n_rows)
    return "".join(
        _row(form, k // _EVENTS + 1, k % _EVENTS, count) for k, count in enumerate(counts.tolist())
    )


def _row(form, interval, event, count):
    time_s, name, share = f"{interval / 10:.9f}", f"event_with_a_name_{event}", 20 + count % 80
    if form == "json":
        return (
            f'{{"interval" : {time_s}, "counter-value" : "{count}.000000", "unit" : "", '
            f'"event" : "{name}", "event-runtime" : '
            f'{count}, "pcnt-running" : {share}.00, "metric-value" : 0.000000, "metric-unit" : ""}}\n'
        )
    if form == "tab":
        return f"     {time_s}\t{count}\t\t{name}\t{count}\t{share}.00\t\t\n"
    if form == "decimal-comma":
        return f"     {time_s},{count},,{name},{count},{share},00,,\n"
    if form == "comma-in-event":
        return f"     {time_s},{count},,cpu/event={event:#x},umask=0x1/u,{count},{share}.00,,\n"
    metric = (
        f"     {time_s},,,,,0.30,stalled cycles per insn\n" if form == "shadow-metrics" and event == 0 else ""
    )
    return f"     {time_s},{count},,{name},{count},{share}.00,,\n{metric}"


def _peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
