"""Test the provenance that readers record for their counts."""

import json

import pytest

from cmlib import places
from cmlib.errors import InputError
from cmlib.experiments import published, sample_streams
from cmlib.experiments.kernels import recordings as kernels
from cmlib.experiments.micro import fingerprint
from cmlib.experiments.tuning.recordings import load_tuned
from cmlib.io import public
from cmlib.io.provenance import (
    IMPORTED,
    OTHERS_HARDWARE,
    OWN_HARDWARE,
    SIMULATED,
    SOFTWARE_EVENTS,
    Provenance,
    forget_read,
    merge_provenances,
    provenance_of_run,
    provenances_read,
)


@pytest.fixture(autouse=True)
def nothing_read():
    forget_read()
    yield
    forget_read()


def run_metadata(folder):
    file = next(iter(sorted((places.recordings_dir() / folder).rglob("*.json"))))
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "folder, changes, kind",
    [
        ("gcc", {}, OWN_HARDWARE),
        ("gcc", {"imported": True}, IMPORTED),
        ("tuning", {}, SOFTWARE_EVENTS),
        ("simulated-bzip2", {}, SIMULATED),
    ],
)
def test_the_metadata_of_a_run_say_what_counted_it(folder, changes, kind):
    meta = run_metadata(folder) | changes
    provenance = provenance_of_run(meta)
    assert provenance.kind == kind
    assert provenance.programs == (meta["program"],)
    assert set(meta["pinned"]) <= set(provenance.events)


def test_kernels_and_samples_that_ship_hold_software_events():
    kernels.recorded_programs(wanted="histogram")
    [kernel_provenance] = provenances_read()
    assert (kernel_provenance.kind, kernel_provenance.programs) == (SOFTWARE_EVENTS, ("histogram",))
    assert "page-faults" in kernel_provenance.events
    _, stream_provenance = sample_streams.load_streams("samples", cases="gcc-1,bzip2-2")
    assert (stream_provenance.kind, stream_provenance.programs) == (SOFTWARE_EVENTS, ("bzip2-2", "gcc-1"))
    assert "task-clock" in stream_provenance.events


@pytest.mark.slow
def test_tuned_programs_and_micro_benchmarks_that_ship_are_software_events_and_simulated():
    load_tuned(wanted="sort")
    fingerprint.load_simulated(kinds=("micro",))
    tuned, simulated = provenances_read()
    assert (tuned.kind, tuned.programs) == (SOFTWARE_EVENTS, ("sort",))
    assert simulated.kind == SIMULATED and len(simulated.programs) > 10


def test_a_published_file_is_others_hardware_and_one_that_is_not_here_is_not_read(monkeypatch, tmp_path):
    shipped = "intervals/a15-cbench/cBench-big-list2-Run-1-2000000-events-raw.data"
    assert published.counts_of(shipped)
    [provenance] = provenances_read()
    assert (provenance.kind, provenance.public_set) == (OTHERS_HARDWARE, "a15-cbench")
    forget_read()
    monkeypatch.setenv("CMLIB_PUBLIC", str(tmp_path))
    monkeypatch.setattr(public, "cache_dir", lambda: tmp_path)
    absent = next(name for name in public.files()["file"] if not public.shipped_file(name).is_file())
    assert published.counts_of(absent) == []
    assert provenances_read() == []


def test_programs_of_a_set_are_counted_once_for_all_processors():
    published.cloudsuite("data_caching,web_search")
    [provenance] = provenances_read()
    assert provenance.programs == ("data_caching", "web_search")


def test_provenances_of_one_kind_and_set_are_joined():
    parts = [
        Provenance(OWN_HARDWARE, ("gcc",), ("cycles",)),
        Provenance(OTHERS_HARDWARE, ("gcc",), (), "cloudsuite"),
        Provenance(OWN_HARDWARE, ("bzip2",), ("branches", "cycles")),
    ]
    assert merge_provenances(parts) == [
        Provenance(OWN_HARDWARE, ("bzip2", "gcc"), ("branches", "cycles")),
        Provenance(OTHERS_HARDWARE, ("gcc",), (), "cloudsuite"),
    ]


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="borrowed"):
        Provenance("borrowed")
