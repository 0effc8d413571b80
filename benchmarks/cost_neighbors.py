"""How good are the shipped models of `cmlib.cost` on programs that took no part in them?

    CMLIB_PUBLIC=../shared/public python -m benchmarks.cost_neighbors

Reads the set `colocated`: programs of PARSEC, Rodinia and NPB on a Xeon E5-2683 v4, alone and beside another program.
The recording beside the neighbor has more misses of the last level. From it, the cycles per instruction without these
misses are predicted, and compared with those of the program alone. The models learned from SPEC on another processor,
so this set took no part. A neighbor also takes memory bandwidth, which the model does not know.

Prints a row per recording, and for each model how many intervals hold, the bias, the mean error, and the interval score
beside those of a constant width, which is the mean half-width of the intervals in `data/cost/coverage.csv` by size.
"""

import numpy as np
import pandas as pd

from cmlib import cost
from cmlib.cost.calibration import changes, held_out
from cmlib.experiments import colocated

MISS = 20  # of the interval score, for intervals of 90 %


def predict_pair(beside, alone, model):
    """Predict the program alone from its recording beside a neighbor: a row (dict), in percent of the cycles."""
    misses = [run["l3miss"].sum() / run["instructions"].sum() for run in (beside, alone)]
    cpi = [run["cycles"].sum() / run["instructions"].sum() for run in (beside, alone)]
    change = misses[1] - misses[0]
    found = cost.predict_change(beside, beside, change, misses="l3miss", model=model)
    scale = -100 / cpi[0]
    return {
        "misses per 1,000": 1000 * misses[0],
        "change": 1000 * change,
        "measured": scale * (cpi[1] - cpi[0]),
        "predicted": scale * found.change,
        "low": scale * found.high,
        "high": scale * found.low,
        "known": found.known,
    }


def summarize(rows, half_width):
    """Summarize the predictions of a model beside intervals of a constant width."""
    scores = {}
    ends = {
        "model": (rows["low"], rows["high"]),
        "constant": (rows["predicted"] - half_width, rows["predicted"] + half_width),
    }
    for name, (low, high) in ends.items():
        outside = (low - rows["measured"]).clip(lower=0) + (rows["measured"] - high).clip(lower=0)
        scores[f"{name} holds"] = f"{(outside == 0).sum()} of {len(rows)}"
        scores[f"{name} score"] = round(float((high - low + MISS * outside).mean()), 1)
    error = rows["predicted"] - rows["measured"]
    scores["bias"] = round(error.mean(), 1)
    scores["mean error"] = round(error.abs().mean(), 1)
    scores["error of nothing"] = round(rows["measured"].abs().mean(), 1)
    return scores


def main():
    """Print the predictions and the summary of both shipped models."""
    together, quiet = colocated.match_pairs(colocated.read_runs())
    if not together:
        raise SystemExit("the set 'colocated' is not here: set CMLIB_PUBLIC, or run `cmlib fetch colocated`")
    for other in (False, True):
        model = cost.default_cost_model(other_processor=other)
        rows = {file: predict_pair(together[file], quiet[file], model) for file in together}
        table = pd.DataFrame(rows).T
        print(f"other_processor={other}")
        print(table.to_string(float_format="{:.2f}".format))
        numbers = table.astype({name: float for name in ("measured", "predicted", "low", "high")})
        fewer = numbers[numbers["change"].astype(float) < 0]
        half_width = float(np.mean(held_out(*changes(), other_processor=other)["constant"]))
        print(len(fewer), "recordings with fewer misses alone:", summarize(fewer, half_width))


if __name__ == "__main__":
    main()
