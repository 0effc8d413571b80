"""Tables of AutoPerf's §5, with the paper's values beside those found here."""

import numpy as np
import pandas as pd

from cmlib.study.anomaly import show_topology
from cmlib.workloads.kernels.recipe import programs

_TYPES = {"fs": "false sharing", "ts": "true sharing", "np": "NUMA"}


def say_source(subjects):
    """What was counted, for captions.

    Parameters
    ----------
    subjects : dict of str to Subject

    Returns
    -------
    str
        Markdown that ends in a space; empty where the processor's counters were counted.
    """
    if any(subject.synthetic for subject in subjects.values()):
        return "**Synthetic counts, nothing was measured.** "
    if any(subject.per == "work" for subject in subjects.values()):
        return "**Counted by the kernel, per unit of work: the machine had no PMU.** "
    return ""


def recorded_table(subjects):
    """What is recorded of each of the fifteen programs.

    Parameters
    ----------
    subjects : dict of str to Subject

    Returns
    -------
    DataFrame
        A row a program of Table 2.
    """
    rows = []
    for program in programs():
        subject = subjects.get(program.name)
        runs = [len(getattr(subject, kind)) if subject else 0 for kind in ("training", "good", "bad")]
        missing = f"needs {program.nodes} NUMA nodes" if program.nodes > 1 else "not recorded"
        code = "the original" if program.original else "the pattern, rebuilt"
        samples = sum(len(run) for run in (*subject.training, *subject.good, *subject.bad)) if subject else 0
        told = "" if subject else missing
        rows.append((program.stands_for, program.name, _TYPES[program.type], code, *runs, samples, told))
    columns = ["paper's name", "program here", "anomaly", "code", "training runs", "good test runs", "bad test runs",
               "samples", "why not"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def table2(judged, tree, printed):
    """Table 2, with the baselines and the paper's F1.

    Parameters
    ----------
    judged : dict of str to Judged
    tree : Series
        F1 of the decision tree by program.
    printed : dict
        The paper's table2: name to [training runs, …].

    Returns
    -------
    DataFrame
        A row a program.
    """
    rows = []
    for name, one in judged.items():
        subject, row = one.subject, one.row
        paper = printed[subject.stands_for]
        rows.append(
            {
                "program": subject.stands_for,
                "type": subject.type,
                "named first": row["named"],
                "rank of the cause": row["cause_rank"],
                "time, bad / good": row["slowdown"],
                "Algorithm 1 stops at run": int(row["stopping_run"]),
                "paper, runs": paper[0],
                "good": int(row["good"]),
                "bad": int(row["bad"]),
                "missed": int(row["false_negatives"]),
                "false alarms": int(row["false_positives"]),
                "F1": row["f1"],
                "paper, F1": paper[5],
                "PCA, F1": row["pca"],
                "isolation forest, F1": row["isolation_forest"],
                "decision tree, F1": tree[name],
                "paper, tree finds it": {True: "yes", False: "no", None: "–"}[paper[7]],
            }
        )
    return pd.DataFrame(rows)


def table3(judged, printed):
    """Table 3: the topology chosen for each program, and its mean reconstruction error.

    Parameters
    ----------
    judged : dict of str to Judged
    printed : dict
        The paper's table3.

    Returns
    -------
    DataFrame
    """
    rows = []
    for one in judged.values():
        autoencoder = one.detector.experts_[0].autoencoder
        hidden, error = printed[one.subject.stands_for]
        chosen = show_topology(one.topology, len(one.detector.counters_))
        paper = " → ".join(map(str, [32, *hidden, 32]))
        rows.append((one.subject.stands_for, chosen, autoencoder.search_["error"].min(), paper, error))
    return pd.DataFrame(rows, columns=["program", "topology", "error", "paper, topology", "paper, error"])


def thresholds_table(judged):
    """F1 by program and threshold, a row each (Fig. 11).

    Parameters
    ----------
    judged : dict of str to Judged

    Returns
    -------
    DataFrame
        Columns program, threshold, f1.
    """
    frame = pd.DataFrame({one.subject.stands_for: one.thresholds for one in judged.values()}).T.rename_axis(
        "program"
    )
    return frame.reset_index().melt("program", var_name="threshold", value_name="f1")


def overhead_table(subjects, printed):
    """Counted time over uncounted time [%], each pair a row, and the paper's (Fig. 12).

    Parameters
    ----------
    subjects : dict of str to Subject
    printed : dict
        The paper's overhead.

    Returns
    -------
    DataFrame
        Columns program, where, overhead.
    """
    rows = []
    for subject in subjects.values():
        if subject.overhead:
            rows.append((subject.stands_for, "here", 100 * (np.median(subject.overhead) - 1)))
        rows.append((subject.stands_for, "paper", 100 * (printed[subject.stands_for] - 1)))
    return pd.DataFrame(rows, columns=["program", "where", "overhead"])


def functions_table(each, grouped, whole):
    """F1 by function: an autoencoder each, one a cluster, and one for all (Fig. 6).

    Parameters
    ----------
    each, grouped, whole : dict
        Results of `score_clusters`.

    Returns
    -------
    DataFrame
        Columns program (the function), autoencoders, f1.
    """
    named = {"one a function": each, f"{grouped['autoencoders']} for clusters": grouped, "one for all": whole}
    rows = [
        (function, label, f1)
        for label, scored in named.items()
        for function, f1 in scored["f1_by_function"].items()
    ]
    return pd.DataFrame(rows, columns=["program", "autoencoders", "f1"])


def numbers(judged, told, diluted, overhead, printed):
    """What is measured here beside what the paper prints.

    Parameters
    ----------
    judged : dict of str to Judged
    told : list of (float, bool)
        Of comparisons of a version with itself.
    diluted : DataFrame
        From `dilution`.
    overhead : DataFrame
        From `overhead_table`.
    printed : dict
        The paper's values.

    Returns
    -------
    list of (str, float, str, float or None, str)
        Name, value, unit, paper's value and note; what wasn't measured is left out.
    """
    rows = pd.DataFrame({name: one.row for name, one in judged.items()}).T
    twice = all(one.subject.again for one in judged.values())
    paper_f1 = [printed["table2"][one.subject.stands_for][5] for one in judged.values()]
    found = [
        ("F1, mean", rows["f1"].mean(), "", float(np.mean(paper_f1)), f"{len(rows)} programs, the same in the paper"),
        ("F1, lowest", rows["f1"].min(), "", min(paper_f1), ""),
        ("rank of the cause, worst program", rows["cause_rank"].max(), "", 2.0, "median run of each program"),
        ("false alarms between recordings of one version", 100 * np.mean([alarm for _, alarm in told]), "%", None,
         f"of {len(told)} pairs, drawn from {'two recordings' if twice else 'the good runs'} of each program"),
        ("training with topology search", rows["seconds"].sum(), "s", None, "all programs, added"),
    ]  # fmt: skip
    here = overhead.loc[overhead["where"] == "here", "overhead"]
    found.append(("profiling overhead, mean", here.mean(), "%", 3.7, f"{len(here)} programs"))
    hits = diluted.loc[diluted["found"].astype(bool), "slowdown"]
    found.append(("smallest slowdown found", hits.min(), "%", None, "time, diluted sharing"))
    return [row for row in found if np.isfinite(row[1])]


def say_verdict(table, told, diluted):
    """What was found, in a sentence or two.

    Parameters
    ----------
    table : DataFrame
        From `table2`.
    told : list of (float, bool)
    diluted : DataFrame

    Returns
    -------
    str
        Markdown.
    """
    bad, missed, good, alarms = (
        int(table[column].sum()) for column in ("bad", "missed", "good", "false alarms")
    )
    of_same = sum(alarm for _, alarm in told)
    said = (
        f"Of {bad} anomalous runs of {len(table)} programs {bad - missed} are found by a detector that never saw one; of {good} "
        f"good ones {alarms} are called anomalous. Two recordings of the same version are told apart in {of_same} of {len(told)} comparisons."
    )
    hidden = table.loc[2 * table["missed"] > table["bad"], "time, bad / good"].dropna()
    if len(hidden):
        said += (
            f" In {len(hidden)} programs more than half of them are missed; there the bad form takes {hidden.min():.2f} to "
            f"{hidden.max():.2f} times as long."
        )
    least = least_found(diluted)
    if np.isnan(least["sharing"]):
        return said
    return said + (
        f" Sharing is found in every program down to {least['sharing']:g} % of the updates, where the hardest one is "
        f"{least['slowdown']:.1f} % slower."
    )


def least_found(diluted):
    """The smallest share of sharing that is found, with all larger ones, in the program where it is largest.

    Parameters
    ----------
    diluted : DataFrame
        From `dilution`.

    Returns
    -------
    Series
        sharing and slowdown [%]; NaN where nothing was diluted, or a program's largest share is missed.
    """
    rows = []
    for _, group in diluted.groupby("program"):
        unbroken = group.sort_values("sharing", ascending=False)
        unbroken = unbroken[unbroken["found"].astype(bool).cummin()]
        rows.append(unbroken[["sharing", "slowdown"]].iloc[-1] if len(unbroken) else [np.nan, np.nan])
    frame = pd.DataFrame(np.array(rows, dtype=float).reshape(-1, 2), columns=["sharing", "slowdown"])
    if frame.empty or frame["sharing"].isna().any():
        return pd.Series({"sharing": np.nan, "slowdown": np.nan})
    return frame.loc[frame["sharing"].idxmax()]
