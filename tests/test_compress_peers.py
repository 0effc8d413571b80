"""How well lines fit planted and recorded counts."""

import gzip
import math

import numpy as np
import pandas as pd
import pytest

from cmlib.compress import compress, fit_quality, reconstruct
from cmlib.compress.lines import line_ends
from cmlib.io import perf
from cmlib.places import recordings_dir


def test_quality_is_reckoned_as_printed():
    x = np.arange(1.0, 101.0)
    y = np.where(x <= 50, x, 50 + 10 * (x - 50)) + np.where(np.arange(100) % 2, 0.2, -0.2)
    lines = compress(x, y)
    quality = fit_quality(lines, x, y)
    off = y - reconstruct(lines, x).to_numpy()
    assert quality["reduction"] == 100 / len(lines) and quality["n_bytes"] == 24 * len(lines)
    assert quality["mnesd"] == pytest.approx(lines["sigma"].max() / np.ptp(y))
    assert quality["largest"] == pytest.approx(np.abs(off).max() / np.ptp(y))
    assert quality["rms"] == pytest.approx(math.sqrt(np.mean(off**2)) / np.ptp(y))
    of_frame = compress(x, pd.DataFrame({"event": y}))
    assert fit_quality(of_frame, x, y).equals(quality) and line_ends(of_frame).equals(line_ends(lines))


def recorded_counts(programs):
    """Counts per interval of every one-counter-one-event run of these programs."""
    for program in programs:
        for path in sorted((recordings_dir() / program).glob("ocoe-p*.csv.gz")):
            yield perf.series(perf.parse_stat(gzip.decompress(path.read_bytes()).decode()))[0]


@pytest.mark.slow
def test_recorded_counts_fit_their_lines_as_well_as_the_paper_asks():
    qualities = []
    for counts in recorded_counts(["bzip2", "gcc", "kmeans", "wordcount"]):
        counts = counts.dropna()
        totals = counts[counts["cycles"] > 0].cumsum()  # where the program slept, no line can grow
        for event in totals.drop(columns="cycles"):
            lines = compress(totals["cycles"], totals[event])
            qualities.append(fit_quality(lines, totals["cycles"], totals[event]))
    qualities = pd.DataFrame(qualities)
    assert len(qualities) >= 100 and (qualities["n_samples"] > 50).all()
    assert qualities["mnesd"].max() < 0.1
    assert qualities["reduction"].median() > 1.5
