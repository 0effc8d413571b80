"""A recording with absurd metadata is left out by name, or used; it stops no other, and raises nothing unexpected."""

import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_metadata import (
    check,
    check_about,
    check_loaders,
    check_regions,
    good_metas,
    mutants,
    region_mutants,
)

MUTANTS = list(mutants())


@settings(max_examples=2)
@given(st.lists(st.sampled_from(MUTANTS), min_size=5, max_size=8))
def test_any_value_of_the_metadata_may_be_absurd(forged):
    with tempfile.TemporaryDirectory() as root:
        check(root, [meta for _, meta in forged])
        for _, meta in forged:
            check_about(root, meta)
        check_loaders(root, [meta for _, meta in forged])


@settings(max_examples=5)
@given(st.sampled_from(list(region_mutants())))
def test_regions_may_have_absurd_metadata(forged):
    with tempfile.TemporaryDirectory() as root:
        check_regions(root, forged[1])


def test_what_the_values_are_replaced_in_is_stored_but_for_a_simulation_without_its_counts():
    with tempfile.TemporaryDirectory() as root:
        assert check(root, good_metas()) == 1
