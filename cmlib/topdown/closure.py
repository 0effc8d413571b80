"""Whether an account adds up: what should be one tells how far counting, cleaning and merging are from the truth."""

import numpy as np
import pandas as pd


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


def doubtful_category(account):
    """The category of level 1 that is likely wrong: the one that moves most with what is missing from one."""
    level = account.level()
    level = level.loc[:, level.std() > 0]
    correlations = level.corrwith(level.sum(axis=1) - 1).abs()
    return correlations.idxmax() if correlations.max() >= 0.3 else ""
