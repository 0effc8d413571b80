"""Whether an account adds up: what should be one tells how far counting, cleaning and merging are from the truth."""

import numpy as np
import pandas as pd

from cmlib.topdown.formulas import evaluate, names_in


def closure(account):
    """Sum the categories of level 1 in every step."""
    missing = [part.name for part in account.table.parts() if part.name in account.missing]
    if not account.table.closes or missing:
        why = f"{', '.join(missing)} was not counted" if missing else "one category is what the others leave"
        raise ValueError(f"the account by {account.table.name} proves nothing: {why}.")
    total = account.level().sum(axis=1)
    squares = (total - 1) ** 2
    return pd.Series(
        {
            "mean": total.mean(),
            "rms": float(np.sqrt(squares.mean())),
            "lowest": total.min(),
            "highest": total.max(),
            "worst": squares.max() / squares.sum() if squares.any() else 0.0,
        }
    )


def tested_events(account):
    """Which events of level 1 its sum depends on: True, or False where they cancel, so that no error shows."""
    formulas = [account.formulas[part.name] for part in account.table.parts()]
    names = dict.fromkeys(name for formula in formulas for name in names_in(formula))
    values = dict.fromkeys(names, 1.0)
    doubled = {name: values | {name: 2.0} for name in names if name not in ("cycles", "slots")}
    total, *others = (
        sum(evaluate(formula, given) for formula in formulas) for given in (values, *doubled.values())
    )
    return {name: other != total for name, other in zip(doubled, others, strict=True)}


def doubtful_category(account):
    """The category of level 1 that is likely wrong: the one that moves most with what is missing from one."""
    level = account.level()
    tested = {name for name, shows in tested_events(account).items() if shows}
    shown = [name for name in level if tested & set(names_in(account.formulas[name]))]
    level = level[shown].loc[:, level[shown].std() > 0]
    correlations = level.corrwith(level.sum(axis=1) - 1).abs()
    return correlations.idxmax() if correlations.max() >= 0.3 else ""
