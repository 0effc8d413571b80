"""Tables of AutoPerf's §5, with the paper's values beside those found here."""

import numpy as np
import pandas as pd

from cmlib.study.anomaly.judging import show_topology
from cmlib.workloads.kernels.recipe import kernels

# Of what `score_clusters` gives, by its name in the figure.
CLUSTER_COLUMNS = {
    "false_positive_rate": "false positives, samples learned",
    "run_false_positive_rate": "false alarms, calibrated",
    "run_false_positive_rate_any": "false alarms, paper's rule",
    "f1": "F1, calibrated",
}
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
        return "**Software events per unit of work: the machine had no PMU.** "
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
    for program in kernels():
        subject = subjects.get(program.name)
        runs = [len(getattr(subject, kind)) if subject else 0 for kind in ("training", "good", "bad")]
        missing = f"needs {program.nodes} NUMA nodes" if program.nodes > 1 else "not recorded"
        code = "the original" if program.original else "written here"
        samples = sum(len(run) for run in (*subject.training, *subject.good, *subject.bad)) if subject else 0
        note = "" if subject else missing
        rows.append((program.stands_for, program.name, _TYPES[program.type], code, *runs, samples, note))
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
        stop = row["stopping_run"]
        rows.append(
            {
                "program": subject.stands_for,
                "type": subject.type,
                "F1": row["f1"],
                "paper, F1": paper[5],
                "missed": int(row["false_negatives"]),
                "of bad": int(row["bad"]),
                "false alarms": int(row["false_positives"]),
                "of good": int(row["good"]),
                "named first": row["named"],
                "rank of the cause": row["cause_rank"],
                "time, bad / good": row["slowdown"],
                "Algorithm 1 stops at run": "never" if np.isnan(stop) else f"{stop:.0f}",
                "runs learned": int(row["learned"]),
                "paper, runs": paper[0],
                "PCA, F1": row["pca"],
                "isolation forest, F1": row["isolation_forest"],
                "decision tree, F1": tree[name],
                "paper, tree finds it": {True: "yes", False: "no", None: "–"}[paper[7]],
            }
        )
    table = pd.DataFrame(rows)
    # Software events have no HITM-equivalent.
    return table if table["rank of the cause"].notna().any() else table.drop(columns="rank of the cause")


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
        errors = [
            own for own, model in zip(autoencoder.search_["error"], autoencoder.models_, strict=True) if model
        ]
        rows.append((one.subject.stands_for, chosen, min(errors), paper, error))
    return pd.DataFrame(rows, columns=["program", "topology", "error", "paper, topology", "paper, error"])


def thresholds_table(judged):
    """F1 and false alarms [%] by program and threshold, a row each (Fig. 11).

    Parameters
    ----------
    judged : dict of str to Judged

    Returns
    -------
    DataFrame
        Columns program, threshold, f1, false_alarms.
    """
    parts = [one.thresholds.assign(program=one.subject.stands_for) for one in judged.values()]
    frame = pd.concat(parts).reset_index()
    return frame.assign(false_alarms=100 * frame["false_alarms"])


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
    named = {"one each": each, f"K = {grouped['k']}, by false positives": grouped, "one for all": whole}
    rows = [
        (function, label, f1)
        for label, scored in named.items()
        for function, f1 in scored["f1_by_function"].items()
    ]
    return pd.DataFrame(rows, columns=["program", "autoencoders", "f1"])


def clusters_table(scored, printed):
    """False positives and F1 by number of clusters, and the paper's rates (Fig. 8 and 9).

    Parameters
    ----------
    scored : list of dict
        From `score_clusters`, for K = 1, 2, …
    printed : dict
        The paper's false_positive_rate_by_k.

    Returns
    -------
    DataFrame
        Columns k, autoencoders, those of `CLUSTER_COLUMNS`, and a program of the paper each.
    """
    own = pd.DataFrame(scored)[["k", "autoencoders", *CLUSTER_COLUMNS]].rename(columns=CLUSTER_COLUMNS)
    paper = pd.DataFrame(printed, index=range(1, 11)).add_prefix("paper, ")
    return own.join(paper, on="k")


def numbers(judged, compared, diluted, overhead, topologies, printed):
    """What is measured here beside what the paper prints.

    Parameters
    ----------
    judged : dict of str to Judged
    compared : list of (float, bool)
        Comparisons of a version with itself.
    diluted : DataFrame
        From `dilution`.
    overhead : DataFrame
        From `overhead_table`.
    topologies : DataFrame
        From `score_topologies`.
    printed : dict
        The paper's values.

    Returns
    -------
    list of (str, float, str, float or None, str)
        Name, value, unit, paper's value and note; what wasn't measured is left out.
    """
    rows = pd.DataFrame({name: one.row for name, one in judged.items()}).T
    twice = all(one.subject.again for one in judged.values())
    paper = pd.DataFrame([printed["table2"][one.subject.stands_for] for one in judged.values()])
    alarms = 100 * (paper[4] / paper[1]).mean()
    means = thresholds_table(judged).groupby("threshold")[["f1", "false_alarms"]].mean()
    by_any, calibrated = means.loc["mean + 2 sd"], means.loc["mean + 2 sd, calibrated"]
    fixed = [name for name in means.index if name.endswith("%")]
    order = topologies["error"].corr(topologies["f1"], method="spearman")
    same = f"{len(rows)} programs, the same in the paper"
    pairs = f"of {len(compared)} pairs, drawn from {'two recordings' if twice else 'the good runs'} of each program"
    measured = [
        ("F1, mean", calibrated["f1"], "", paper[5].mean(), f"calibrated; {same}"),
        ("F1, lowest", rows["f1"].min(), "", paper[5].min(), "calibrated"),
        ("F1, mean, by any sample", by_any["f1"], "", paper[5].mean(), f"the paper's rule; {same}"),
        (
            "F1, mean, best fixed threshold",
            means.loc[fixed, "f1"].max(),
            "",
            max(printed["f1_by_threshold"][name] for name in fixed),
            "the paper's is a geometric mean of fifteen programs",
        ),
        ("false alarms, good runs", calibrated["false_alarms"], "%", alarms, f"calibrated; {same}"),
        ("false alarms, good runs, by any sample", by_any["false_alarms"], "%", alarms, "the paper's rule"),
        (
            "rank correlation of error and F1",
            order,
            "",
            _rank_correlation(printed["error_and_f1"]),
            f"{len(topologies)} topologies",
        ),
        ("rank of the cause, worst program", rows["cause_rank"].max(), "", 2.0, "median run of each program"),
        (
            "false alarms between recordings of one version",
            100 * np.mean([alarm for _, alarm in compared]),
            "%",
            None,
            pairs,
        ),
        ("training with topology search", rows["seconds"].sum(), "s", None, "all programs, added"),
    ]
    here = overhead.loc[overhead["where"] == "here", "overhead"]
    measured.append(("profiling overhead, mean", here.mean(), "%", 3.7, f"{len(here)} programs"))
    hits = diluted.loc[diluted["found"].astype(bool), "slowdown"]
    measured.append(("smallest slowdown found", hits.min(), "%", None, "time, diluted sharing"))
    return [row for row in measured if np.isfinite(row[1])]


def say_verdict(table, compared, diluted):
    """What was found, in a few sentences.

    Parameters
    ----------
    table : DataFrame
        From `table2`.
    compared : list of (float, bool)
    diluted : DataFrame

    Returns
    -------
    str
        Markdown.
    """
    bad, missed, good, alarms = (
        int(table[column].sum()) for column in ("of bad", "missed", "of good", "false alarms")
    )
    differ = sum(alarm for _, alarm in compared)
    sentences = (
        f"Of {bad} anomalous runs of {len(table)} programs {bad - missed} are found by a detector that never saw one; "
        f"of {good} good ones {alarms} are called anomalous. Two recordings of the same version are called different "
        f"in {differ} of {len(compared)} comparisons."
    )
    hidden = table.loc[2 * table["missed"] > table["of bad"], "time, bad / good"].dropna()
    if len(hidden):
        sentences += (
            f" In {len(hidden)} programs more than half of them are missed; there the bad form takes "
            f"{hidden.min():.2f} to "
            f"{hidden.max():.2f} times as long."
        )
    for program, least in least_found(diluted).iterrows():
        if np.isnan(least["sharing"]):
            sentences += f" Diluted sharing is not found in {program}."
        else:
            sentences += (
                f" In {program} sharing is found down to {least['sharing']:g} % of the updates, which costs "
                f"{least['slowdown']:.1f} % of its time."
            )
    return sentences


def least_found(diluted):
    """The smallest share of sharing that is found in each program, with all larger ones.

    Parameters
    ----------
    diluted : DataFrame
        From `dilution`.

    Returns
    -------
    DataFrame
        Index program; columns sharing and slowdown [%], NaN where a program's largest share is missed.
    """
    rows = {}
    for program, group in diluted.groupby("program", sort=False):
        group = group.sort_values("sharing", ascending=False)
        unbroken = group[group["found"].astype(bool).cummin()]
        least = unbroken if len(unbroken) else group.assign(sharing=np.nan, slowdown=np.nan)
        rows[program] = least[["sharing", "slowdown"]].iloc[-1]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["sharing", "slowdown"])


def _rank_correlation(pairs):
    error, f1 = zip(*pairs, strict=True)
    return pd.Series(error).corr(pd.Series(f1), method="spearman")
