"""Families of events that explain a program's cycles per instruction, judged, told in words and paired."""

from cmlib.study.families.explaining import Families, explain, families, families_if_any
from cmlib.study.families.pairs import FamilyPairs, compare_family_pairs, family_pairs
from cmlib.study.families.summary import first_by_ways, say_families, say_family_pairs, say_limit
from cmlib.study.families.tables import compare_with_account, judge_families

__all__ = [
    "Families",
    "FamilyPairs",
    "compare_family_pairs",
    "compare_with_account",
    "explain",
    "families",
    "families_if_any",
    "family_pairs",
    "first_by_ways",
    "judge_families",
    "say_families",
    "say_family_pairs",
    "say_limit",
]
