"""Both forms of every micro-benchmark timed at equal work: how much slower is the pathological one?

By hand: python benchmarks/micro_forms.py [SECONDS]
"""

import sys

import pandas as pd

from cmlib import places
from cmlib.experiments.micro.cache_levels import plateaus
from cmlib_workloads.micro import build, cases, run, sweep
from cmlib_workloads.micro.sizes import working_sets

_PROBE_S = 0.05


def compare_forms(sizes, programs_folder, *, seconds=1.0):
    """Time both forms of every case, each executing as many operations as the other."""
    listed = [case for trained in (True, False) for case in cases(sizes, trained=trained)]
    pairs = {}
    for case in listed:
        pairs.setdefault((case.program.name, case.level, case.size), {})[case.form] = case
    rows = []
    for (name, level, size), pair in pairs.items():
        slower = min(run(pair[form].argv(seconds=_PROBE_S), programs_folder)["operations"] for form in "PN")
        operations = max(1, round(slower * seconds / _PROBE_S))
        timed = {form: run(pair[form].argv(operations=operations), programs_folder) for form in "PN"}
        ns = {form: timed[form]["ns_per_operation"] for form in "PN"}
        same = timed["P"]["checksum"] == timed["N"]["checksum"]
        rows.append(
            {"program": name, "level": level, "size": size, "operations": operations, **ns}
            | {"ratio": ns["P"] / ns["N"], "same_result": same}
        )
    return pd.DataFrame(rows)


if __name__ == "__main__":
    built = build(places.results_dir() / "micro")
    sizes = working_sets(plateaus(sweep(built)))
    seconds = float(sys.argv[1]) if sys.argv[1:] else 1.0
    print(compare_forms(sizes, built, seconds=seconds).round(3).to_string(index=False))
