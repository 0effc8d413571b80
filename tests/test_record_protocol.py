"""From a request to its runs: which events, sets and counters are recorded without wishes and with them."""

import dataclasses
import re

import pandas as pd
import pytest

from cmlib.collect import machine, record
from cmlib.collect.machine.event_names import GENERAL
from cmlib.collect.record import protocol
from cmlib.errors import CmlibError
from cmlib.io import events, store
from tests.soft_recordings import PROGRAM, runs


@pytest.fixture
def zen5(monkeypatch, fake_perf):
    """A Zen 5 with six counters, five of them good, and a table of its core events and twelve others."""
    about = machine.describe() | {
        "vendor": "AuthenticAMD",
        "family": 26,
        "model": 2,
        "microarchitecture": "amd_zen5",
    }
    monkeypatch.setattr(machine, "describe", lambda: about)
    whole = events.table()
    core = events.core_events(whole)
    others = [event for event in whole.index if event not in core][:12]
    table = whole.loc[[*core, *others]].rename(index={others[3]: "ls_some.never", others[7]: "fp_some.never"})
    monkeypatch.setattr(events, "table_of", lambda about: table)
    return table


QUICK = ["sleep", "0.03"]


@pytest.mark.slow
def test_without_wishes_all_that_the_notebooks_read_is_recorded(zen5, tmp_path):
    made = record.record_program("app", QUICK, record.Request(passes=1, interval_ms=20), folder=tmp_path)
    assert {name: len(files) for name, files in made.items()} == {
        "ocoe": 4,
        "mlpx12": 1,
        "probe": 1,
        "sweep": 2,
    }
    found = runs(tmp_path, "app")
    core = events.core_events(zen5)
    assert [e for part in range(4) for e in found[f"ocoe-p0-0{part}"]["groups"][0]] == core
    assert all(meta["counters"] == {"offered": 6, "good": 5} for meta in found.values())
    assert all(len(group) <= 3 for meta in found.values() for group in meta["groups"])
    counting = [event for event in zen5.index if not event.endswith(".never")]
    swept = [found[f"sweep-p0-0{part}"] for part in (0, 1)]
    assert [e for meta in swept for group in meta["groups"] for e in group if "#" not in e] == counting
    assert all(meta["counting"] == counting for meta in swept)
    again = record.record_program("app", QUICK, record.Request(passes=1, interval_ms=20), folder=tmp_path)
    assert not any(again.values())


@pytest.mark.parametrize(
    "wishes, sets",
    [
        ({"mode": "ocoe", "events": "ls_stlf"}, {"ocoe": 3}),
        ({"mode": "mlpx"}, {"mlpx12": 3}),
        ({"mode": "mlpx", "per_run": 6, "passes": 1}, {"mlpx6": 2}),
        ({"events": "ex_ret_brn,ls_stlf", "passes": 1}, {"ocoe": 1, "mlpx12": 1}),
        (
            {"mode": "ocoe", "events": "cpu/event=0xc2,umask=0x0,name=mine/,page-faults", "passes": 1},
            {"ocoe": 1},
        ),
        ({"events": "all"}, {"probe": 1, "sweep": 4}),
        ({"mode": "ocoe", "passes": 1, "set_name": "narrow"}, {"narrow": 4}),
    ],
)
def test_wishes_choose_the_sets(zen5, tmp_path, wishes, sets):
    request = record.Request(**{"interval_ms": 20} | wishes)
    made = record.record_program("app", QUICK, request, folder=tmp_path, counters={"offered": 6, "good": 5})
    assert {name: len(files) for name, files in made.items()} == sets


def test_one_event_of_a_multiplexed_run_is_counted_twice_and_is_no_further_event(zen5, tmp_path):
    recordings, url = tmp_path / "recordings", f"sqlite:///{tmp_path}/store.db"
    request = record.Request("mlpx", interval_ms=10, passes=1)
    record.record_program("app", QUICK, request, folder=recordings)
    (meta,) = runs(recordings, "app").values()
    core = events.core_events(zen5)
    assert meta["groups"] == [core[:3], core[3:6], core[6:9], core[9:], [f"{core[3]}#2"]]
    assert meta["encodings"][f"{core[3]}#2"] == meta["encodings"][core[3]]
    store.rebuild(recordings, url)
    assert store.runs(url)["events"][0] == ("instructions", "cycles", *core)
    run = store.load(url, "app/mlpx12-p0-00")
    assert list(run.counts) == list(run.running) == ["instructions", "cycles", *core]
    assert list(run.counts_again) == list(run.running_again) == [f"{core[3]}#2"]
    assert (run.counts_again[f"{core[3]}#2"] == run.counts[core[3]]).all() and len(run.counts) > 1


def test_a_set_begun_without_second_readings_goes_on_without_them(zen5, tmp_path, monkeypatch):
    request = record.Request("mlpx", interval_ms=20, passes=1)
    with monkeypatch.context() as earlier:
        earlier.setattr(protocol, "with_second_reading", lambda plan, *_, **__: plan)
        record.record_program("app", QUICK, request, folder=tmp_path)
    record.record_program("app", QUICK, dataclasses.replace(request, passes=2), folder=tmp_path)
    first, second = runs(tmp_path, "app").values()
    assert first["groups"] == second["groups"] and first["encodings"] == second["encodings"]


def test_one_name_for_two_sets_is_refused(zen5, tmp_path):
    with pytest.raises(record.RecordError, match="2 sets would be recorded, and --set names one"):
        record.record_program("app", QUICK, record.Request(events="core", set_name="mine"), folder=tmp_path)


@pytest.mark.slow
def test_counters_are_counted_once_and_then_remembered(zen5, tmp_path, monkeypatch):
    record.record_program("app", QUICK, record.Request("ocoe", passes=1, interval_ms=20), folder=tmp_path)
    monkeypatch.setattr(machine, "census", lambda: pytest.fail("counted again"))
    for passes in (1, 2):
        request = record.Request("mlpx", passes=passes, interval_ms=20)
        made = record.record_program("app", QUICK, request, folder=tmp_path)
        assert len(made["mlpx12"]) == 1


def test_where_nothing_can_be_counted_what_can_is_told(zen5, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_OFFERED", "0")
    with pytest.raises(
        record.RecordError, match=r"no hardware event can be counted here(.|\n)*--pinned task-clock"
    ):
        record.record_program("app", QUICK, record.Request("ocoe"), folder=tmp_path)


@pytest.mark.slow
def test_without_wishes_and_counters_the_kernel_s_events_are_recorded(zen5, tmp_path, monkeypatch, capsys):
    """And said to be; once there are counters, the rest is recorded beside them."""
    count = machine.census
    monkeypatch.setenv("FAKE_OFFERED", "7")  # to the stand-in, the kernel's events take counters as well
    monkeypatch.setattr(
        machine, "census", lambda: machine.Census(0, 0, complaint="branches:u was not counted")
    )
    request = record.Request(passes=1, interval_ms=20)
    made = record.record_program("app", QUICK, request, folder=tmp_path)
    assert list(made) == ["software"]
    assert re.search(
        r"no hardware event(.|\n)*doctor(.|\n)*instead: page-faults, .*migrations", capsys.readouterr().err
    )
    (meta,) = runs(tmp_path, "app").values()
    assert meta["pinned"] == ["task-clock"] and meta["groups"] == [machine.software_events()]
    assert (meta["mode"], meta["counters"]) == ("ocoe", {"offered": 0, "good": 0})
    assert record.record_program("app", QUICK, request, folder=tmp_path) == {"software": []}
    monkeypatch.setattr(machine, "census", count)
    monkeypatch.delenv("FAKE_OFFERED")
    assert set(record.record_program("app", QUICK, request, folder=tmp_path)) == {
        "ocoe",
        "mlpx12",
        "probe",
        "sweep",
    }


def test_software_events_are_recorded_without_any_counter(any_perf, tmp_path):
    request = record.Request(
        events="page-faults,context-switches", pinned=("task-clock",), passes=1, interval_ms=20
    )
    made = record.record_program("app", PROGRAM, request, folder=tmp_path)
    assert set(made) == {"ocoe", "mlpx12"}
    (first, second) = runs(tmp_path, "app").values()
    assert first["groups"] == second["groups"] == [["page-faults", "context-switches"]]
    assert first["counters"] == {"offered": 0, "good": 0}


@pytest.mark.slow
def test_a_processor_nobody_knows_is_told_what_to_name(fake_perf, tmp_path, monkeypatch):
    about = machine.describe() | {"vendor": "Nobody", "family": 1, "model": 1}
    monkeypatch.setattr(machine, "describe", lambda: about)
    with pytest.raises(record.RecordError, match="name those to count"):
        record.record_program("app", QUICK, record.Request(events="all"), folder=tmp_path)
    made = record.record_program(
        "app", QUICK, record.Request("ocoe", passes=1, interval_ms=20), folder=tmp_path
    )
    names = [e for meta in runs(tmp_path, "app").values() for group in meta["groups"] for e in group]
    assert len(made["ocoe"]) == 4 and names[:2] == ["branches", "branch-misses"]


@pytest.mark.slow
def test_general_events_that_a_processor_lacks_are_left_out(fake_perf, tmp_path, monkeypatch):
    about = machine.describe() | {"vendor": "ARM", "family": 8, "model": 0xD0C}
    monkeypatch.setattr(machine, "describe", lambda: about)
    monkeypatch.setenv("FAKE_LACKS", ",".join(GENERAL[:-2]))
    record.record_program("app", QUICK, record.Request("ocoe", passes=1, interval_ms=20), folder=tmp_path)
    (meta,) = runs(tmp_path, "app").values()
    assert meta["groups"] == [list(GENERAL[-2:])] and meta["counters"]["good"] == 5
    monkeypatch.setenv("FAKE_LACKS", ",".join(GENERAL))
    with pytest.raises(CmlibError, match="counts none of the general events"):
        record.record_program("other", QUICK, record.Request("ocoe"), folder=tmp_path)


@pytest.mark.slow
def test_what_only_perf_names_is_recorded_by_name_and_not_among_all(zen5, tmp_path, monkeypatch):
    listed = zen5.iloc[:1].rename(index=lambda _: "stalls.of_some_kind").assign(named=True, abbr="")
    monkeypatch.setattr(machine, "known_events", lambda about: pd.concat([zen5, listed]))
    options = {"passes": 1, "interval_ms": 20}
    record.record_program("app", QUICK, record.Request("mlpx", events="all", **options), folder=tmp_path)
    record.record_program(
        "named", QUICK, record.Request("ocoe", events="stalls.of_some_kind", **options), folder=tmp_path
    )
    swept = {event for meta in runs(tmp_path, "app").values() for group in meta["groups"] for event in group}
    assert "stalls.of_some_kind" not in swept and "ls_stlf" in swept
    (meta,) = runs(tmp_path, "named").values()
    assert meta["encodings"] == {"stalls.of_some_kind": "stalls.of_some_kind:u"}


def test_a_program_under_which_nothing_counts_is_told(zen5, tmp_path, monkeypatch):
    never = zen5.rename(index=lambda event: f"{event}.never")
    monkeypatch.setattr(events, "table_of", lambda about: never)
    with pytest.raises(record.RecordError, match="no event ever counted"):
        record.record_program("app", QUICK, record.Request(events="all", interval_ms=20), folder=tmp_path)
    assert {meta["set"] for meta in runs(tmp_path, "app").values()} == {"probe"}
