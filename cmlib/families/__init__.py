"""Families of events that say the same: grouped, weighed by a linear model of cycles per instruction."""

from cmlib.families.grouping import cut, trees
from cmlib.families.importance import by_family, by_influence, by_permutation, conditional_shapley, shares
from cmlib.families.linear import LinearModel, choose_penalty, contributions_held_out, fit
from cmlib.families.stability import Resampled, choose_cut, overlap, random_overlap, resample

__all__ = [
    "LinearModel",
    "Resampled",
    "by_family",
    "by_influence",
    "by_permutation",
    "random_overlap",
    "choose_cut",
    "choose_penalty",
    "conditional_shapley",
    "contributions_held_out",
    "cut",
    "fit",
    "overlap",
    "resample",
    "shares",
    "trees",
]
