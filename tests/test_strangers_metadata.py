"""A recording with absurd metadata is left out by name, or used; it stops no other, and raises nothing unexpected."""

import tempfile

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_metadata import (
    changes,
    check,
    check_about,
    check_loaders,
    check_regions,
    forged,
    good_metas,
    region_metas,
)

RUNS, REGIONS = good_metas(), region_metas()


@settings(max_examples=1)
@given(st.lists(st.sampled_from(changes(RUNS)), min_size=8, max_size=8))
def test_any_value_of_the_metadata_may_be_absurd(several):
    metas = [forged(RUNS, change) for change in several]
    with tempfile.TemporaryDirectory() as root:
        assert check(root, [*metas, RUNS[-1]]) >= 1  # a simulation without its counts
        for meta in metas:
            check_about(root, meta)
        check_loaders(root, metas)


@settings(max_examples=3)
@given(st.sampled_from(changes(REGIONS)))
def test_regions_may_have_absurd_metadata(change):
    with tempfile.TemporaryDirectory() as root:
        check_regions(root, forged(REGIONS, change))


def test_what_the_values_are_replaced_in_is_stored_but_for_a_simulation_without_its_counts():
    with tempfile.TemporaryDirectory() as root:
        assert check(root, RUNS) == 1
