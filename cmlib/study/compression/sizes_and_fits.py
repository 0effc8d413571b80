"""What lines make of sample streams and of recorded runs: sizes, fits and costs."""

import gzip
import time
from functools import partial

import numpy as np
import pandas as pd

from cmlib import store
from cmlib.compress import SAMPLE_BYTES, OnlineRegression, compress, fit_quality, survey
from cmlib.fanout import fan_out
from cmlib.samples import find_lines
from cmlib.study.data import whole_intervals

_RATE = 2000  # samples a second: the paper's


def fits(streams, event="", *, alpha=0.01, n_sigma=3.0, drift=20.0, bound=0.01):
    """Every case as printed, with the drift test, and with a hard bound.

    Parameters
    ----------
    streams : dict of str to Stream
    event : str, optional
        By default the first one counted along.
    alpha, n_sigma, drift
        Of :func:`cmlib.compress.compress`.
    bound : float
        Share of the event's whole count.

    Returns
    -------
    DataFrame
        A row a case and method (printed, drift, bounded): case, method, those of
        :func:`cmlib.compress.fit_quality`, and the sizes ``perf's text`` and
        ``samples`` [bytes]. Cases in which the event never happens are left out.
    """
    rows = []
    for name, stream in streams.items():
        x, y = stream.series(event)
        if not np.ptp(y) > 0:
            continue
        text = len(gzip.decompress(stream.path.read_bytes()))
        printed = {"alpha": alpha, "n_sigma": n_sigma}
        methods = {
            "printed": printed,
            "drift": printed | {"drift": drift},
            "bounded": {"bound": bound * np.ptp(y)},
        }
        for method, options in methods.items():
            quality = fit_quality(compress(x, y, **options), x, y)
            rows.append(
                {
                    "case": name,
                    "method": method,
                    **quality,
                    "perf's text": text,
                    "samples": SAMPLE_BYTES * len(x),
                }
            )
    return pd.DataFrame(rows)


def fits_of_all_events(streams, **options):
    """:func:`fits` of every event, with a column ``event``."""
    events = list(dict.fromkeys(e for stream in streams.values() for e in stream.totals.columns[1:]))
    return pd.concat([fits(streams, event, **options).assign(event=event) for event in events])


def interval_series(url, *, programs, n_runs=0, drift=20.0, workers=None):
    """Every event of every recorded run of the sets ocoe and sweep, each interval taken as a sample.

    Parameters
    ----------
    url : str
        Of the store.
    programs : list of str
    n_runs : int, default 0
        Only so many of the runs; 0 takes all.
    drift : float
    workers : cmlib.fanout.Workers, optional

    Returns
    -------
    DataFrame
        Result of :func:`cmlib.compress.evaluation.survey`, with columns program and run.
    """
    ids = store.runs(url).query("program in @programs and set in ['ocoe', 'sweep']")["run_id"]
    ids = ids[: n_runs or None]
    tables = list(fan_out(partial(_survey, url, drift=drift), ids, workers))
    return pd.concat(dict(zip(ids, tables, strict=True)), names=["run"]).reset_index()


def costs(streams, repeats=3):
    """Processor time of the compressor, as a share of the program's at 2,000 samples a second.

    Neither the number of samples nor other programs on the machine matter, only this process's own processor
    time.

    Returns
    -------
    DataFrame
        Index case; the shares [%] of ``regression, replayed``: recorded samples put through the regression in
        one call, where the paper stops its time between interrupts (§4.2), so that this is a lower end; and,
        where lines were recorded while the program ran, of all that the ``recording process`` did then:
        reading perf's stream, regression and storing.
    """
    one = next(iter(streams.values()))
    live = find_lines(one.path.parent.parent, one.kind).drop_duplicates("name").set_index("name")
    regression = pd.Series({name: _regression(stream, repeats) for name, stream in streams.items()})
    shares = {
        "regression, replayed": regression,
        "recording process": 100 * _RATE * live["own_s"] / live["n_samples"],
    }
    return pd.DataFrame(shares).reindex(regression.index).rename_axis("case")


def _survey(url, run_id, *, drift):
    counts, _ = whole_intervals(store.load(url, run_id))
    return survey(counts, "cycles", drift=drift)


def _regression(stream, repeats):
    x, y = (values.to_numpy(dtype=float) for values in stream.series())
    spent = []
    for _ in range(repeats + 1):
        began = time.thread_time()
        OnlineRegression().extend(x, y)
        spent.append(time.thread_time() - began)
    return 100 * _RATE * min(spent) / len(x)
