"""The sizes of working sets, chosen from a sweep of latencies."""

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.errors import CmlibError
from cmlib.experiments.micro import recordings as micro_recordings
from cmlib.experiments.micro.cache_levels import plateaus
from cmlib_workloads.micro import case_runs, sweep
from cmlib_workloads.micro.sizes import working_sets
from tests.planted_recordings import made_up_sweep


@pytest.mark.needs("cc")
def test_a_sweep_has_four_sizes_an_octave(micro_binaries):
    frame = sweep(micro_binaries, smallest=8192, largest=32768, loads=2000, repeats=2)
    assert frame["size"].tolist() == [8192, 10240, 12288, 14336, 16384, 20480, 24576, 28672, 32768]
    assert frame["ns"].between(0.05, 1000).all()


@st.composite
def planted_hierarchies(draw):
    """Four levels that end at planted sizes, a size of transition after each, and noise."""
    sizes = np.array([2**octave * quarter // 4 for octave in range(13, 28) for quarter in (4, 5, 6, 7)])
    ends = np.cumsum([draw(st.integers(6, 12)), draw(st.integers(8, 14)), draw(st.integers(10, 14))])
    ns = np.array([1.0, 4.0, 20.0, 120.0])[np.searchsorted(ends, np.arange(len(sizes)), side="right")]
    ns[ends] = np.sqrt(ns[ends] * ns[ends - 1])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return pd.DataFrame({"size": sizes, "ns": ns * rng.uniform(0.9, 1.2, len(sizes))}), sizes[ends - 1]


@pytest.mark.slow
@given(planted_hierarchies())
def test_planted_levels_are_found_and_working_sets_lie_inside(planted):
    frame, ends = planted
    shuffled = frame.sample(frac=1, random_state=0)
    levels = plateaus(shuffled)
    assert levels["largest"].iloc[:3].tolist() == ends.tolist()
    npt.assert_allclose(levels["ns"], [1, 4, 20, 120], rtol=0.2)
    sets = working_sets(levels)
    for level, before, holds in (("L2", ends[0], ends[1]), ("L3", ends[1], ends[2])):
        assert all(before < size < holds and size % 4096 == 0 for size in sets[level])
    assert min(sets["M"]) >= 8 * ends[2] - 4096
    assert all(np.diff(sizes).min() > 0 for sizes in sets.values())


def test_too_few_sizes_and_latencies_that_fall_are_refused():
    frame = pd.DataFrame({"size": 1024 * 2 ** np.arange(16), "ns": np.repeat([4.0, 3.0, 2.0, 1.0], 4)})
    with pytest.raises(CmlibError, match="does not rise"):
        plateaus(frame)
    with pytest.raises(CmlibError, match="too few"):
        plateaus(frame.iloc[:8])


def test_sizes_follow_from_the_sweep_that_is_kept(tmp_path):
    assert set(map(len, case_runs.stored_sizes(tmp_path).values())) == {3}
    made_up_sweep().to_csv(tmp_path / micro_recordings.SWEEP, index=False)
    assert case_runs.stored_sizes(tmp_path) == working_sets(plateaus(made_up_sweep()))
    for content in ("", "size,ns\n1\n2,3,4\n", "x," * 1000):
        (tmp_path / micro_recordings.SWEEP).write_text(content)
        with pytest.raises(CmlibError, match=f"{micro_recordings.SWEEP} cannot be read"):
            micro_recordings.stored_sweep(tmp_path)
