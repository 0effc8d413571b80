"""Change points of histories: planted steps that are found, and false alarms.

    python benchmarks/history.py ../shared/public/histories/mlkem.csv.gz

The noise is that of cycles by commit on ten machines. False alarms: the commits of a machine are shuffled, so that
nothing changes at any of them. Planted: a step of a size at a random commit of each plateau of at least 30 commits, in
the order in which they were measured; found if a change point lies within two commits of it. Beside it `ruptures`
(PELT, its penalty that of the Bayesian information criterion), and `apache-otava` if it is there (it pins another
numpy: `pip install --no-deps apache-otava`, into an environment of its own).
"""

import importlib.util

import click
import numpy as np
import pandas as pd
import ruptures

from cmlib.compare.change_points import find_groups
from cmlib.compare.histories import read_history

FEWEST = 30  # commits of a plateau
EDGE = 8  # commits on each side of a planted step
NOISE = (0, 0.001, 0.003, 0.01, 0.03, np.inf)


def by_ranks(values, alpha=0.05, smallest=0.01):
    return [group.row for group in find_groups(pd.DataFrame({"one": values}), alpha=alpha, smallest=smallest)]


def by_ruptures(values):
    logs = np.log(values)
    penalty = np.diff(logs).var() * np.log(len(logs))
    return ruptures.KernelCPD("linear", min_size=2).fit(logs).predict(pen=max(penalty, 1e-12))[:-1]


def by_otava(values):
    from otava.analysis import compute_change_points

    points, _ = compute_change_points(list(values), window_len=50, max_pvalue=0.001, min_magnitude=0.01)
    return [point.index for point in points]


METHODS = {"ranks": by_ranks, "ranks, of 90 metrics": lambda values: by_ranks(values, 0.05 / 90)}
METHODS["ruptures"] = by_ruptures
if importlib.util.find_spec("otava"):
    METHODS["otava"] = by_otava


def plateaus(history):
    """Yield the values between consecutive change points."""
    for _, values in history.items():
        values = values.dropna().to_numpy()
        ends = [0, *by_ranks(values, smallest=0), len(values)]
        for start, end in zip(ends, ends[1:], strict=False):
            if end - start >= FEWEST:
                yield values[start:end]


def planted(history, size, rng):
    rows = []
    for plateau in plateaus(history):
        noise = 1.4826 * np.median(np.abs(plateau / np.median(plateau) - 1))
        at = int(rng.integers(EDGE, len(plateau) - EDGE))
        stepped = plateau * np.where(np.arange(len(plateau)) < at, 1, 1 + rng.choice([-size, size]))
        row = {"noise": pd.cut([noise], NOISE, right=False)[0], "plateaus": 1}
        for name, find in METHODS.items():
            points = np.array(find(stepped), int)
            near = np.abs(points - at) <= 2
            row |= {name: int(near.any()), f"{name}, besides": int((~near).sum())}
        rows.append(row)
    return pd.DataFrame(rows).groupby("noise", observed=True).sum()


def false_alarms(history, n, rng):
    """Return how many shuffled histories have a group, their number, and the share of series with change points."""
    alarms = dict.fromkeys(METHODS, 0)
    groups = n_series = n_histories = 0
    machines = history.columns.str.partition(" · ").get_level_values(0)
    for _ in range(n):
        for machine in sorted(set(machines)):
            of_machine = history.loc[:, machines == machine].dropna()
            shuffled = of_machine.iloc[rng.permutation(len(of_machine))]
            groups += bool(find_groups(shuffled, smallest=0))
            n_histories += 1
            series = shuffled.iloc[:, rng.integers(shuffled.shape[1])].to_numpy()
            n_series += 1
            for name, find in METHODS.items():
                alarms[name] += bool(find(series))
    return groups, n_histories, pd.Series(alarms) / n_series


@click.command()
@click.argument("file")
@click.option("--shuffles", default=20, show_default=True)
@click.option("--size", default=0.02, show_default=True)
@click.option("--rounds", default=5, show_default=True, help="Planted steps of each plateau.")
def main(file, shuffles, size, rounds):
    history, subjects = read_history(file)
    history = history.where(history > 0)  # three values are zeros
    rng = np.random.default_rng(0)
    found = [planted(history, size, rng) for _ in range(rounds)]
    print(
        f"planted steps of {100 * size:g} %, by noise (1.48 MAD over the level)\n{sum(found[1:], found[0]).to_string()}"
    )
    groups, n, alarms = false_alarms(history, shuffles, rng)
    print(
        f"shuffled histories with a group: {groups} of {n}\nshuffled series with a change point\n{alarms.to_string()}"
    )
    shared = 0
    found = find_groups(history)
    for group in found:
        machines = {metric.partition(" · ")[0] for metric in group.steps["metric"]}
        shared += len(machines) > 1
        print(f"{history.index[group.row]}  {len(group.steps):3} metrics, {len(machines)} machines, "
              f"{group.steps['ratio'][0]:.3f} times  {subjects[group.row][:70]}")  # fmt: skip
    print(f"groups on several machines: {shared} of {len(found)}")


if __name__ == "__main__":
    main()
