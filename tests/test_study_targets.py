"""What is explained of whatever was recorded: one multiplexed run of gcc as perf wrote it, and parts of it."""

import gzip

import numpy as np
import pandas as pd
import pytest

from cmlib import experiments as study
from cmlib import places
from cmlib.collect.record import import_files
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.targets import Target, possible_targets
from cmlib.io import store
from cmlib.parallel import Workers

MISSES = "ic_tag_hit_miss.instruction_cache_miss"


@pytest.fixture(scope="module")
def lines():
    """What perf wrote in 60 intervals, in which 12 events took turns."""
    text = gzip.decompress((places.recordings_dir() / "gcc/mlpx12-p0-00.csv.gz").read_bytes()).decode()
    return text.splitlines(keepends=True)[: 2 + 60 * 14]


@pytest.fixture(scope="module")
def url(lines, tmp_path_factory):
    """A store of the whole, of the same without cycles, of few intervals, and of an event that seldom happens."""
    folder = tmp_path_factory.mktemp("one-run")
    parts = {
        "whole": lines,
        "no-cycles": [line for line in lines if "cycles" not in line],
        "no-instructions": [line for line in lines if "instructions" not in line and "cycles" not in line],
        "short": lines[: 2 + 5 * 14],
        "idle": [line.replace(line.split(",")[1], "0") for line in lines if MISSES in line],
    }
    for name, part in parts.items():
        (folder / f"{name}.csv").write_text("".join(part))
        import_files(name, [folder / f"{name}.csv"], folder=folder / "recordings")
    return store.refresh(folder / "recordings", f"sqlite:///{folder}/store.sqlite")


@pytest.mark.slow
def test_one_multiplexed_run_is_ranked_by_its_intervals(url):
    programs, target = study.choose_target(url, "whole")
    data = study.recorded_matrix(url, "whole", target)
    assert (programs, target) == (["whole"], study.IPC)
    assert data.in_time and data.all_events.shape == (60, 12) and data.holdout is None
    assert data.X.index.name == "time_s" and "instructions" not in data.X
    refined = study.refine(data)
    assert refined.history["n_events"].tolist() == [8, 6, 4, 2]
    assert refined.nested_error < refined.errors["blocks_mean_baseline"]


def test_runs_that_counted_the_same_are_put_one_after_the_other_and_the_last_is_held_out(lines, tmp_path):
    heading, body = lines[:2], lines[2:]
    for number in range(3):
        part = body[number * 20 * 14 : (number + 1) * 20 * 14]
        shifted = [f"{float(line.split(',')[0]) - 2 * number:.9f},{line.split(',', 1)[1]}" for line in part]
        (tmp_path / f"{number}.csv").write_text("".join([*heading, *shifted]))
    import_files("app", [tmp_path / f"{number}.csv" for number in range(3)], folder=tmp_path / "recordings")
    url = store.refresh(tmp_path / "recordings", f"sqlite:///{tmp_path}/store.sqlite")
    data = study.recorded_matrix(url, "app", method="scaling")
    runs = study.cleaned_runs(url, "app", ["mlpx12"], method="scaling", workers=Workers(1))["counts"]
    assert len(data.X) == len(data.ipc) == len(runs.iloc[0]) + len(runs.iloc[1])
    assert data.X.index.is_monotonic_increasing and data.X.index[-1] > 3.5
    X, ipc = data.holdout
    np.testing.assert_allclose(ipc, runs.iloc[2]["instructions"] / runs.iloc[2]["cycles"])
    event = X.columns[0]
    np.testing.assert_allclose(X[event], runs.iloc[2][event] / runs.iloc[2]["cycles"])


def test_a_rate_is_counts_by_seconds_or_by_another_event(url):
    counts = study.cleaned_runs(url, "whole", ["mlpx12"])["counts"].iloc[0]
    seconds = np.diff(counts.index, prepend=0.0)
    for text, base in ((MISSES, seconds), (f"{MISSES} per instructions", counts["instructions"])):
        _, target = study.choose_target(url, "whole", text)
        data = study.recorded_matrix(url, "whole", target)
        np.testing.assert_allclose(data.ipc, counts[MISSES] / base, rtol=1e-6)
        np.testing.assert_allclose(data.X["ls_stlf"], counts["ls_stlf"] / base, rtol=1e-6)
        assert MISSES not in data.X and ("instructions" in data.X) == (base is seconds)
        assert "cycles" in data.X and data.ipc.name == target.name


def test_a_copy_of_the_target_is_not_ranked(lines, tmp_path):
    copied = []
    for line in lines:
        copied.append(line)
        if MISSES in line:
            copied.append(line.replace(MISSES, "copy-of-misses"))
    (tmp_path / "copied.csv").write_text("".join(copied))
    import_files("copied", [tmp_path / "copied.csv"], folder=tmp_path / "recordings")
    url = store.refresh(tmp_path / "recordings", f"sqlite:///{tmp_path}/store.sqlite")
    _, target = study.choose_target(url, "copied", f"{MISSES} per cycles")
    data = study.recorded_matrix(url, "copied", target)
    assert list(data.aliases) == list(data.alias_rules.index) == ["copy-of-misses"]
    assert "copy-of-misses" not in data.X and "instructions" in data.X


def test_without_ipc_the_target_taken_is_named_with_the_others(url):
    programs, target = study.choose_target(url, "no-cycles")
    assert target.name == "instructions per second"
    assert MISSES in possible_targets(url, study.interval_runs(url, programs))
    assert study.choose_target(url, "no-instructions")[1] == Target(MISSES)  # the greatest running share


def test_all_are_those_that_counted_the_target(url):
    assert study.choose_target(url)[0] == ["whole"]
    assert study.choose_target(url, target=MISSES)[0] == ["idle", "no-cycles", "no-instructions", "whole"]


@pytest.mark.parametrize(
    ("program", "target", "message"),
    [
        ("short", "", "at most 5 intervals in a recording, and a model needs 20"),
        (
            "whole",
            "power",
            "no run that counts power .* Explain another event by `-p target=…`: 'instructions'",
        ),
        ("no-cycles", "IPC", "no run that counts cycles, instructions"),
        ("idle", "", "no event that happened in nearly every interval"),
    ],
)
def test_what_can_not_be_explained_is_said_with_what_can(url, program, target, message):
    with pytest.raises(UnfitRecordingError, match=message):
        study.choose_target(url, program, target)


def test_what_never_happened_has_no_model(url):
    with pytest.raises(UnfitRecordingError, match="above 0 in 0 of 60 rows"):
        study.recorded_matrix(url, "idle", Target(MISSES))


def test_an_event_alone_explains_nothing(url):
    counts = study.cleaned_runs(url, "whole", ["mlpx12"])
    alone = counts.assign(counts=[counts["counts"].iloc[0][[MISSES]]])
    with pytest.raises(UnfitRecordingError, match="no event was counted that could"):
        study.matrix(alone, target=Target(MISSES))


def test_many_intervals_are_added_up():
    n = 2500
    counts = pd.DataFrame(
        {"a": np.arange(n) + 1.0, "b": 2.0}, pd.Index(np.arange(1, n + 1) / 10, name="time_s")
    )
    run = {"set": "mlpx2", "pass": 0, "counts": counts, "seconds": pd.Series(0.1, counts.index)}
    data = study.matrix(pd.DataFrame([run]), target=Target("a"))
    assert len(data.X) == 834 and np.allclose(data.X["b"], 20)
    assert data.ipc.iloc[0] == pytest.approx((1 + 2 + 3) / 0.3) and data.X.index[0] == pytest.approx(0.3)
