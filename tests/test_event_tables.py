"""What holds for every event table, whose it is, and which one recordings are read with."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from cmlib import experiments as study
from cmlib import places, processors
from cmlib.collect import machine
from cmlib.collect.machine.event_names import GENERAL
from cmlib.experiments.event_tables import known_sums
from cmlib.io import events, store
from cmlib.io.events.naming import HARDWARE_NAMES, SOFTWARE_NAMES
from tests.small_runs import add_run

ZEN5 = {"vendor": "AuthenticAMD", "family": 26, "model": 2}
SKYLAKE = {"vendor": "GenuineIntel", "family": 6, "model": 85}
OTHER = {"vendor": "GenuineIntel", "family": 6, "model": 1}
ARM = {"vendor": None, "family": None, "model": None}
# Those that were there first, with their numbers of events: what holds of them need not hold of others.
_TABLES = {
    "amd_zen3": 138,
    "amd_zen4": 194,
    "amd_zen5": 355,
    "intel_icelake": 157,
    "intel_sapphirerapids": 175,
    "intel_skylake": 162,
}
_AUTOPERF = pd.read_csv(places.shipped("events") / "autoperf.csv", keep_default_na=False)
_OF_VENDORS = sorted({name for name in processors.known() if processors.read(name)["events"]})
every_table = pytest.mark.parametrize("name", list(filter(events.is_handwritten, events.known_tables())))


def written(name):
    """The part of a table that was written here, not made of a vendor's files."""
    return events.read_table(places.shipped("events") / f"{name}.csv")


@pytest.mark.parametrize("name", _OF_VENDORS)
def test_a_vendor_s_table_tells_each_event_and_its_core_events_fit_the_counters(name):
    """In groups of as many as a group takes: each event of a group has a counter of those that it can take."""
    table, about = events.table(name), processors.read(name)
    assert table.index.is_unique and (table["description"].str.len() > 3).all()
    assert table.index.str.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)*").all()
    assert not table[table["core"] > 0].duplicated(["code", "umask", "extra"]).any()
    core = events.core_events(table)
    assert table.loc[core, "core"].to_list() == list(range(1, len(core) + 1)) and len(core) >= 10
    takes = {row["event"]: row["takes"] for row in processors.rows(name)}
    masks = [takes[event] for event in core if event in takes]
    size = about[
        "counters"
    ]  # in groups of four, as `cmlib doctor` tells where some events take the first four only
    for group in (masks[start : start + 4] for start in range(0, len(masks), 4)):
        able = [[bit for bit in range(size) if mask >> bit & 1] for mask in group]
        edges = np.array([[bit in bits for bit in range(size)] for bits in able])
        assert (maximum_bipartite_matching(csr_matrix(edges), "column") >= 0).all(), name


@every_table
def test_every_event_has_a_code_of_its_own_and_abbreviations_are_unique(name):
    table = written(name)
    given = table["abbr"][table["abbr"] != ""]
    assert given.is_unique and given.str.fullmatch("[A-Z0-9]{3}").all()
    assert not table.duplicated(["code", "umask"]).any()
    assert table.index.str.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)*").all()


@every_table
def test_every_event_is_described_in_a_sentence_of_its_own(name):
    description = written(name)["description"]
    assert description.is_unique
    assert description.str.len().between(10, 110).all()
    assert description.str.fullmatch(r"[A-Z0-9].*\.").all()


@pytest.mark.parametrize("name", events.known_tables())
def test_core_events_are_numbered_and_take_a_counter_each(name):
    table = events.table(name)
    core = events.core_events(table)
    assert table.loc[core, "core"].to_list() == list(range(1, len(core) + 1)) != []
    assert (table.loc[core, "counters"] == 1).all()


@every_table
def test_no_bit_is_claimed_that_the_umask_has_not(name):
    claimed = events.table(name).query("bits > 0 and umask > 0")
    assert ((claimed["bits"] & claimed["umask"]) == claimed["bits"]).all()


@pytest.mark.parametrize("name", _TABLES)
def test_only_amd_s_floating_point_operations_take_two_counters(name):
    table = written(name)
    paired = table["code"] == 0x03 if name.startswith("amd") else table["code"] < 0
    assert (table["counters"] == paired + 1).all()


@pytest.mark.parametrize("name", _TABLES)
def test_branch_events_are_told_by_their_unit_or_name(name):
    table = written(name)
    told = (table["unit"] == "branch-prediction") | table.index.str.contains("_br")
    assert told[table.index.str.startswith(("br_", "ex_ret_brn", "baclears"))].all()


def test_tables_are_whole():
    assert {name: len(written(name)) for name in _TABLES} == _TABLES
    assert all(len(events.core_events(events.table(name))) == 12 for name in _TABLES)


@pytest.mark.parametrize("name", sorted(set(_AUTOPERF["table"]) & {*events.known_tables()}))
def test_autoperf_counts_events_of_the_table_with_time_and_contention_among_them(name):
    listed = _AUTOPERF.query("table == @name")
    assert len(listed) == 32
    assert listed["event"].is_unique
    assert set(listed["event"]) <= set(events.table(name).index)
    assert listed["role"].value_counts()["cycles"] == 1
    assert 2 <= listed["role"].value_counts()["contention"] <= 3


# --- whose table ---------------------------------------------------------------------------------


def test_every_table_is_that_of_some_processor():
    listed = pd.read_csv(places.shipped("events") / "processors.csv")
    of_files = {name for name in _OF_VENDORS if processors.read(name)["machines"]}
    assert sorted({*listed["table"], *of_files}) == events.known_tables()
    assert (listed["first_model"] <= listed["last_model"]).all()
    for _, ranges in listed.sort_values("first_model").groupby(["vendor", "family"]):
        assert (ranges["first_model"].iloc[1:].to_numpy() > ranges["last_model"].iloc[:-1].to_numpy()).all()


def test_amd_s_tables_go_to_the_microarchitectures_that_are_named_so(tmp_path, no_perf):
    cpuinfo = tmp_path / "proc/cpuinfo"
    cpuinfo.parent.mkdir()
    listed = pd.read_csv(places.shipped("events") / "processors.csv").query("vendor == 'AuthenticAMD'")
    for row in listed.itertuples():
        for model in (row.first_model, row.last_model):
            cpuinfo.write_text(f"vendor_id : {row.vendor}\ncpu family : {row.family}\nmodel : {model}\n")
            assert machine.describe(tmp_path)["microarchitecture"] == row.table


@pytest.mark.parametrize(
    ("processor", "name"),
    [
        (("AuthenticAMD", 26, 2), "amd_zen5"),
        (("AuthenticAMD", 26, 0x44), "amd_zen5"),
        (("AuthenticAMD", 26, 0x50), None),
        (("AuthenticAMD", 25, 0x01), "amd_zen3"),
        (("AuthenticAMD", 25, 0x11), "amd_zen4"),
        (("AuthenticAMD", 25, 0x21), "amd_zen3"),
        (("AuthenticAMD", 25, 0x61), "amd_zen4"),
        (("AuthenticAMD", 25, 0xA0), "amd_zen4"),
        (("AuthenticAMD", 23, 0x31), "amd_zen2"),
        (("AuthenticAMD", 23, 0x01), "amd_zen1"),
        (("ARM", 8, 0xD0C), "arm_neoverse_n1"),
        (("ARM", 8, 0xD40), "arm_neoverse_v1"),
        (("GenuineIntel", 6, 0x3F), "intel_haswell"),
        (("GenuineIntel", 6, 0x55), "intel_skylake"),
        (("GenuineIntel", 6, 0x9E), "intel_skylake"),
        (("GenuineIntel", 6, 0x6A), "intel_icelake"),
        (("GenuineIntel", 6, 0x8F), "intel_sapphirerapids"),
        (("GenuineIntel", 6, 0xCF), "intel_sapphirerapids"),
        (("GenuineIntel", 6, 0xAD), "intel_graniterapids"),
        (("GenuineIntel", 6, 0x97), "intel_goldencove"),
        (("GenuineIntel", 6, 0xAF), "intel_crestmont"),
        (("GenuineIntel", 26, 2), None),
        ((None, None, None), None),
    ],
)
def test_a_processor_finds_its_table(processor, name):
    about = dict(zip(("vendor", "family", "model"), processor, strict=True))
    assert events.find_table_name(about) == name
    assert events.table_of(about).equals(events.table(name) if name else events.table().iloc[:0])


def test_what_only_perf_names_is_known_beside_the_table(monkeypatch):
    listed = [
        {"Unit": "cpu", "Topic": "branch", "EventName": name, "Encoding": f"cpu/event={code}/"}
        for name, code in (("ex_ret_brn", "0xc2"), ("stalls.of_some_kind", "0xa3,cmask=5"))
    ]
    monkeypatch.setattr("cmlib.collect.machine.event_names.perf_list", lambda: json.dumps(listed))
    known, zen5 = machine.known_events(ZEN5), events.table("amd_zen5")
    pd.testing.assert_frame_equal(known[~known["named"]], zen5)
    assert list(known.index[known["named"]]) == ["stalls.of_some_kind"]
    assert events.encode("stalls.of_some_kind", known) == "stalls.of_some_kind:u"
    assert events.encode("ex_ret_brn", known) == events.encode("ex_ret_brn", zen5)
    assert events.core_events(known) == events.core_events(zen5)


# --- the table of recordings -----------------------------------------------------------------------


def recorded_on(folder, *machines, counted=("ex_ret_brn", "ex_ret_cond", "baclears.any")):
    for number, about in enumerate(machines):
        changes = {} if about is None else {"machine": about}
        rows = [(event, 5) for event in ("cycles:u", *counted)]
        add_run(folder, "app", "ocoe", number, 0, rows, pinned=["cycles"], groups=[], **changes)
    return store.refresh(folder, f"sqlite:///{folder / 'store.sqlite'}")


@pytest.mark.parametrize("name, about", [("amd_zen5", ZEN5), ("intel_skylake", SKYLAKE)])
def test_recordings_are_read_with_the_table_of_their_machine(tmp_path, name, about):
    """Whatever the events are called; beside them what perf calls alike everywhere."""
    url = recorded_on(tmp_path, about, about)
    table = study.event_table(url)
    pd.testing.assert_frame_equal(table.drop(index="cycles"), events.table(name))
    assert table.at["cycles", "description"] == events.general_events().at["cycles", "description"]
    assert known_sums(store.load(url, "app/ocoe-p1-00")) == events.umask_sums(events.table(name))


def test_recordings_of_a_machine_without_a_table_have_only_what_perf_names_everywhere(tmp_path):
    url = recorded_on(tmp_path, OTHER)
    table = study.event_table(url)
    assert list(table.index) == ["cycles"] and list(table.columns) == list(events.table().columns)
    assert known_sums(store.load(url, "app/ocoe-p0-00")) == []
    assert events.abbreviate(["ex_ret_brn"], table) == ["ex_ret_brn"]


def test_recordings_of_two_machines_are_read_with_both_tables(tmp_path):
    url = recorded_on(tmp_path, SKYLAKE, ZEN5, OTHER)
    table = study.event_table(url)
    zen5, skylake = events.table("amd_zen5"), events.table("intel_skylake")
    assert set(table.index) == {*zen5.index, *skylake.index, "cycles"}
    assert table.loc[zen5.index, "abbr"].equals(zen5["abbr"])
    assert table.loc[table["abbr"] != "", "abbr"].is_unique
    assert known_sums(store.load(url, "app/ocoe-p0-00")) == events.umask_sums(skylake)


def test_a_machine_that_counted_none_of_its_own_events_gives_no_table(tmp_path):
    url = recorded_on(tmp_path, SKYLAKE, counted=["page-faults"])
    assert set(study.event_table(url).index) == {"cycles", "page-faults"}


# --- the table of recordings whose machine is not known ----------------------------------------------


@every_table
def test_a_table_is_told_by_the_names_of_its_events(name):
    recognised = events.recognise([*events.table(name).index, "cycles", "page-faults", "nobody.knows"])
    assert recognised.tables == (name,)
    assert (recognised.matched, recognised.named) == (len(events.table(name)), len(events.table(name)) + 1)


def test_names_that_no_table_has_enough_of_tell_none():
    for names in ([], ["cycles", "sched:sched_switch"], ["ex_ret_brn"], ["ex_ret_brn", "ls_stlf", *"abc"]):
        assert events.recognise(names).tables == ()


def test_recordings_of_an_unknown_machine_are_read_with_the_table_that_the_names_tell(tmp_path):
    zen5 = events.table("amd_zen5")
    whole, parts = next(both for both in events.umask_sums(zen5) if both[0] == "l2_request_g1.all_dc")
    core = events.core_events(zen5)
    url = recorded_on(tmp_path, None, counted=[whole, *parts, *core])
    pd.testing.assert_frame_equal(study.event_table(url).drop(index="cycles"), zen5)
    assert (whole, parts) in known_sums(store.load(url, "app/ocoe-p0-00"))
    n = len({whole, *parts, *core})
    told = events.describe_recognised(events.recognise([whole, *parts, *core]))
    assert f"{n} of {n} event names are those of the event table `amd_zen5`" in told


def test_names_of_several_tables_tell_only_what_holds_in_all_of_them(tmp_path):
    """Zen 4 and 5 share names; of these, Zen 5's table alone claims a sum."""
    zen4, zen5 = (events.umask_sums(events.table(name)) for name in ("amd_zen4", "amd_zen5"))
    whole, parts = next(both for both in zen5 if both[0] == "l2_request_g1.all_dc")
    url = recorded_on(tmp_path, None, counted=[whole, *parts])
    assert events.recognise([whole, *parts]).tables == ("amd_zen5", "amd_zen4")
    told = events.describe_recognised(events.recognise([whole, *parts]))
    assert "`amd_zen5`, as many as of amd_zen4" in told
    sums = known_sums(store.load(url, "app/ocoe-p0-00"))
    assert sums and all(both in zen4 and both in zen5 for both in sums) and (whole, parts) not in sums


def test_names_of_no_table_are_said_to_be_none():
    told = events.describe_recognised(events.recognise(["a", "b"]))
    assert "no event table has their 2 event names" in told


def test_what_perf_calls_alike_everywhere_is_described_and_can_be_counted():
    general = events.general_events()
    assert general.index.is_unique and (general["description"].str.len() > 10).all()
    for name in general.index:
        assert events.base_name(events.encode(name, events.table().iloc[:0])) == name
    described = {*GENERAL, *HARDWARE_NAMES, *SOFTWARE_NAMES} - {"dummy", "bpf-output"}
    assert described <= set(general.index)
