"""Families of events that explain a program's cycles per instruction, and how far they can be trusted."""

from dataclasses import dataclass, fields

import pandas as pd

from cmlib import events
from cmlib.errors import UnfitRecordingError
from cmlib.families import by_family
from cmlib.fanout import Workers
from cmlib.study.cache import kept
from cmlib.study.event_tables import table_name
from cmlib.study.families.account import category_cycles
from cmlib.study.families.describing import describe, list_members, quiet_to_busy
from cmlib.study.families.fitting import fit_families, standardized_steps
from cmlib.study.families.judging import boost_single_events, errors_by_test, importance_by_ways, stability
from cmlib.study.matrices import matrix, recorded_runs


@dataclass(frozen=True)
class Families:
    """Families of one program's events, the most important first.

    Attributes
    ----------
    table : DataFrame
        A row a family: ``family`` (place, from 1), ``name``, ``kind`` and ``class`` ("stall", "miss", "mix",
        "other": :func:`cmlib.events.kinds`), ``n_events``; ``importance``, its mean over resampled models,
        with ``low`` and ``high`` (90 % interval) [%]; ``direction`` ("more" or "fewer" of the leading event
        where cycles per instruction are high, or empty); ``cycles_per_kilo_instruction`` that the family adds
        from its quiet to its busy steps (10th to 90th percentile), predicted on steps that the model never saw,
        with ``cycles_low`` and ``cycles_high``; ``category`` of the top-down account that goes with it and
        ``category_r``, their correlation (empty and NaN without an account); ``members``, the first
        eight events by falling weight, separated by "; ".
    members : DataFrame
        A row an event: ``family``, ``event``, ``weight`` (share of its family [%]), ``direction``.
    ways : DataFrame
        A row a family: ``family``, ``name``, and its importance [%] by the linear ``model``, by the summed influence
        of a ``boosted`` model, by ``permutation`` on held-out steps, and by ``conditional`` Shapley values
        (NaN beyond the first eight).
    draws : DataFrame
        Importances [%]: a row a resampled model, a column a family ("1", "2", …).
    cuts : DataFrame
        ``distance`` and ``alike``, as of :func:`cmlib.families.choose_cut`, and which one was ``chosen``.
    stability : DataFrame
        One row: ``families``, ``distance``, ``overlap`` of the first five between resampled models,
        ``random rankings`` that of two random rankings, ``members alike`` where every resample groups for itself,
        and ``between passes`` (NaN where there is one pass).
    errors : DataFrame
        Mean relative errors [%], a row a test (``held-out blocks``, ``another pass``): of the ``families``, which
        is the ridge regression on standardized single events whose contributions are added up by family; of a
        boosted model of ``single events``; and of the ``mean``.
    contributions : DataFrame
        Cycles per instruction that each family adds, a row a step of progress, by models that never saw it.
    cpi : DataFrame
        One column, ``cpi``: cycles per instruction in the same steps.
    categories : DataFrame
        ``category`` of the top-down account's level 1, and ``cycles`` per 1,000 instructions that it takes more in
        its busy than in its quiet steps; no row without an account.
    """

    table: pd.DataFrame
    members: pd.DataFrame
    ways: pd.DataFrame
    draws: pd.DataFrame
    cuts: pd.DataFrame
    stability: pd.DataFrame
    errors: pd.DataFrame
    contributions: pd.DataFrame
    cpi: pd.DataFrame
    categories: pd.DataFrame


def families(url, program, *, table, method="joint", n_models=20, seed=0):
    """Explain a program's cycles per instruction by families of events.

    Parameters
    ----------
    url : str
    program : str
    table : DataFrame
        Event table, for what events count.
    method : str, default "joint"
        Cleaning of the runs (:func:`cmlib.study.cleaned_runs`).
    n_models : int, default 20
        Resampled models behind intervals and overlaps; half as many more choose the cut.
    seed : int, default 0

    Returns
    -------
    Families

    Raises
    ------
    UnfitRecordingError
        With fewer than 20 steps, or without an event that varies.
    """
    runs = recorded_runs(url, program, method=method, workers=Workers(1))
    data = matrix(runs, per="instructions")
    cycles = None if data.in_time else category_cycles(runs, table_name(url, program), data.X.index)
    return explain(data, table, cycles=cycles, n_models=n_models, seed=seed)


def families_if_any(url, program, **options):
    """:func:`families`, or None where the recording has too few steps or no event that varies."""
    try:
        return families(url, program, **options)
    except UnfitRecordingError:
        return None


def explain(data, table, *, cycles=None, n_models=20, seed=0):
    """Explain cycles per instruction by families of the events of a matrix.

    Parameters
    ----------
    data : Matrix
        Events per instruction: :func:`cmlib.study.matrix` with ``per="instructions"``.
    table, n_models, seed
        As of :func:`families`.
    cycles : DataFrame, shape (n_steps, n_categories), optional
        Cycles per instruction of the top-down account's categories, to name the one that goes with each family.

    Returns
    -------
    Families

    Raises
    ------
    UnfitRecordingError
        As of :func:`families`.
    """
    cycles = pd.DataFrame() if cycles is None else cycles
    frames = (table["description"], data.X, data.ipc, *(data.holdout or ()), cycles)

    def compute():
        return _computed(data, table, cycles, n_models, seed)

    tables = kept(("families", n_models, seed, *frames), compute)
    return Families(**{field.name: tables[field.name] for field in fields(Families)})


def _computed(data, table, categories, n_models, seed):
    what = events.kinds(data.X.columns, table)
    steps, other = standardized_steps(data, what["class"])
    fitted = fit_families(steps, what["kind"], n_models=n_models, seed=seed)
    influences, predicted = boost_single_events(steps, fitted.fold, seed=seed)

    members = list_members(fitted)
    described = describe(fitted, members, other, what=what, table=table, categories=categories)
    ways = importance_by_ways(fitted, influences)
    ways = ways.assign(family=ways.index + 1, name=described["name"])[["family", "name", *ways]]
    cuts = fitted.alike.reset_index().assign(chosen=(fitted.alike.index == fitted.distance))
    return {
        "table": described.reset_index(drop=True),
        "members": members.assign(family=members["family"] + 1),
        "ways": ways,
        "draws": _by_place(fitted.draws).reset_index(drop=True),
        "cuts": cuts,
        "stability": stability(fitted, other, seed=seed),
        "errors": errors_by_test(fitted, predicted, other, seed=seed),
        "contributions": _by_place(by_family(fitted.added, fitted.grouped)),
        "cpi": steps.cpi.rename("cpi").to_frame(),
        "categories": quiet_to_busy(categories).rename("cycles").rename_axis("category").reset_index(),
    }


def _by_place(frame):
    """Columns named by the families' places, from "1"."""
    return frame.set_axis([str(place + 1) for place in frame], axis=1)
