"""Both forms of every program at equal work, timed: how much slower is the pathological one?"""

import pandas as pd

from cmlib.workloads.micro.build import run
from cmlib.workloads.micro.programs import cases

_PROBE_S = 0.05


def compare_twins(working_sets, programs_folder, *, seconds=1.0, progress=lambda: None):
    """Time both forms of every case, each executing as many operations as the other.

    Parameters
    ----------
    working_sets : mapping of str to sequence of int
        Sizes by level [bytes].
    programs_folder : path-like
        Where `build` put the programs.
    seconds : float, default 1.0
        What the slower form takes, about; as many operations as it gets through in that time are executed.
    progress : callable
        Called after each pair.

    Returns
    -------
    DataFrame
        A row a pair: ``program``, ``level``, ``size`` [bytes], ``operations``, ``P`` and ``N`` [ns an
        operation], ``ratio``, and ``same_result``: whether both computed the same (in some programs they
        should, in others what is computed depends on the order).

    Raises
    ------
    CmlibError
        If a program fails.
    """
    listed = [case for trained in (True, False) for case in cases(working_sets, trained=trained)]
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
        progress()
    return pd.DataFrame(rows)
