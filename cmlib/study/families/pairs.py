"""Whether families of events act together on cycles per instruction."""

from dataclasses import dataclass

import pandas as pd

from cmlib import interact
from cmlib.errors import UnfitRecordingError
from cmlib.rank import Boosting, blocks, predict_held_out, regressor, relative_error

_BLOCKS, _FOLDS = 12, 4
_ALONE = Boosting(leaves=2)  # trees of one split: no two families can act together in them


@dataclass(frozen=True)
class FamilyPairs:
    """Pairs of one program's families.

    Attributes
    ----------
    pairs : DataFrame
        As of :func:`cmlib.interact.rank_pairs` by Friedman's H, the strongest first, with ``label``, the names of
        both families.
    errors : Series
        Mean relative errors of cycles per instruction [%] on held-out blocks: of boosted models in which families
        act ``together``, and in which each acts ``alone``.
    """

    pairs: pd.DataFrame
    errors: pd.Series


def family_pairs(families, *, n_families=6, seed=0):
    """Rank pairs of the first families by how strongly they act together.

    A boosted model explains cycles per instruction by what each family adds in a linear model that never saw the
    step. Where it errs no less than one whose trees have a single split, or than their sum, nothing shows that any two
    act together.

    Parameters
    ----------
    families : Families
        From :func:`cmlib.study.families`.
    n_families : int, default 6
    seed : int, default 0

    Returns
    -------
    FamilyPairs

    Raises
    ------
    UnfitRecordingError
        With fewer than two families.
    """
    X, cpi = families.contributions.iloc[:, :n_families], families.cpi["cpi"]
    if X.shape[1] < 2:
        raise UnfitRecordingError("there is one family of events, and a pair takes two: record more events.")
    model = regressor(seed=seed).fit(X, cpi)
    pairs = interact.rank_pairs(X, cpi, list(X), method="h_statistic", fitted=model, seed=seed)
    names = families.table["name"].set_axis(families.contributions.columns)
    label = pairs["event_a"].map(names) + " × " + pairs["event_b"].map(names)
    fold = blocks(X.index, _BLOCKS) % _FOLDS
    predicted = {
        "together": predict_held_out(X, cpi, fold, seed=seed),
        "alone": predict_held_out(X, cpi, fold, boosting=_ALONE, seed=seed),
    }
    errors = {way: relative_error(cpi, values) for way, values in predicted.items()}
    errors["sum"] = families.errors.set_index("test").at["held-out blocks", "families"]
    return FamilyPairs(pairs.assign(label=label), pd.Series(errors))


def compare_family_pairs(pairs):
    """Whether models in which families act together err less, by program.

    Parameters
    ----------
    pairs : dict of str to FamilyPairs

    Returns
    -------
    DataFrame
        A row a program: errors [%] of the models ``together`` and ``alone`` and of the ``sum``, the ``first
        pair`` and its share of all pair effects [%].
    """
    rows = {
        program: {
            **one.errors,
            "first pair": one.pairs["label"].iloc[0],
            "share": one.pairs["importance"].iloc[0],
        }
        for program, one in pairs.items()
    }
    return pd.DataFrame(rows).T.rename_axis("program").infer_objects().reset_index()
