"""Event tables, names as perf takes them, sums between events; on the recordings where there are some."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.collect.machine.event_names import countable
from cmlib.errors import CmlibError
from cmlib.io import events
from tests.naive import events as naive

RECORDINGS = Path(__file__).resolve().parents[1] / "data/recordings"
ZEN5 = events.table()
ENCODED = re.compile(r"cpu/event=(0x[0-9a-f]+),umask=(0x[0-9a-f]+),name=([^,/]+)/(\w*)")
HEADER = "event,code,umask,bits,counters,unit,abbr,core,description\n"


@pytest.fixture(scope="module")
def recorded():
    """Metadata and counts (interval x event) of every run recorded on Zen 5."""
    metadata = [(path, json.loads(path.read_text())) for path in sorted(RECORDINGS.glob("*/*.json"))]
    runs = [
        (meta, counts(path)) for path, meta in metadata if meta["machine"]["microarchitecture"] == "amd_zen5"
    ]
    assert runs
    return runs


def counts(metadata):
    with gzip.open(metadata.with_suffix(".csv.gz"), "rt") as stream:
        cells = [line.split(",")[:4] for line in stream if line.count(",") > 3]
    frame = pd.DataFrame(cells, columns=["time_s", "value", "unit", "event"])
    frame["value"] = pd.to_numeric(frame["value"], errors="coerce")
    frame["event"] = frame["event"].map(events.base_name)
    return frame.pivot(index="time_s", columns="event", values="value")


@st.composite
def tables(draw):
    """Event tables of up to nine events of two codes, on few bits, so that sums are frequent."""
    pairs = st.tuples(st.sampled_from([0x43, 0x44]), st.sampled_from([*range(16), 0x30, 0x3F]))
    drawn = draw(st.lists(pairs, min_size=1, max_size=9))
    names = [f"e{i}" for i in range(len(drawn))]
    return pd.DataFrame(drawn, columns=["code", "bits"], index=pd.Index(names, name="event"))


# --- the table of Zen 5 -------------------------------------------------------------------------


@pytest.mark.slow
def test_the_core_events_are_those_recorded_without_multiplexing(recorded):
    for program in {meta["program"] for meta, _ in recorded}:
        groups = [
            group
            for meta, _ in recorded
            if (meta["program"], meta["set"], meta["pass"]) == (program, "ocoe", 0)
            for group in meta["groups"]
        ]
        assert events.core_events(ZEN5) == [event for group in groups for event in group]


def test_every_recorded_event_is_encoded_as_it_was(recorded):
    seen = set()
    for meta, _ in recorded:
        assert {event for group in meta["groups"] for event in group} == set(meta["encodings"])
        for event, encoding in meta["encodings"].items():
            assert events.encode(event, ZEN5, meta["modifier"]) == encoding
            seen.add(event)
    assert len(seen) >= 237


def test_bits_are_those_of_the_umask_where_no_bit_is_reserved():
    claimed = ZEN5[ZEN5["bits"] > 0]
    differing = claimed[claimed["bits"] != claimed["umask"]]
    assert set(differing.index) == {
        "ls_dmnd_fills_from_sys.all",
        "ls_any_fills_from_sys.all",
        "bp_redirects.all",
        "de_src_op_disp.all",
    }
    assert not set(claimed["code"]) & {0x0A, 0x0B, 0x0C, 0x0D}


def test_a_group_that_needs_more_counters_than_there_are_never_counted(recorded):
    never = 0
    for meta, values in recorded:
        for group in meta["groups"]:
            needed = ZEN5.loc[list(group), "counters"].sum() + len(meta["pinned"])
            too_many = needed > meta["counters"]["offered"]
            assert values[list(group)].isna().all(axis=None) == too_many, group
            never += too_many
    assert never >= 8


# --- sums ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_sums_hold_to_the_last_count_where_whole_and_parts_shared_a_group(recorded):
    checked, sums = Counter(), events.umask_sums(ZEN5)
    for meta, values in recorded:
        for group in meta["groups"]:
            for whole, parts in sums:
                if {whole, *parts} <= set(group):
                    difference = (values[whole] - values[list(parts)].sum(axis=1)).dropna()
                    # perf rounds every count it has scaled
                    assert difference.abs().max() <= (len(parts) + 1) / 2, (meta["program"], whole)
                    checked[whole] += len(difference)
    together = [
        "bp_redirects.all",
        "de_src_op_disp.all",
        "l2_pf_hit_l2.l1_dc_l2_hwpf",
        "l2_pf_miss_l2_hit_l3.l1_dc_l2_hwpf",
        "l2_pf_miss_l2_l3.l1_dc_l2_hwpf",
        "ls_hw_pf_dc_fills.local_all",
    ]
    assert min(checked[whole] for whole in together) > 400


def test_sums_hold_on_average_where_whole_and_parts_took_turns(recorded):
    ratios = []
    for program in {meta["program"] for meta, _ in recorded}:
        per_instruction = {}
        for meta, values in recorded:
            if meta["program"] == program and meta["set"] in ("ocoe", "sweep"):
                plausible = values.mask(values > 1e12)
                instructions = plausible.notna().mul(plausible["instructions"], axis=0)
                per_instruction |= (plausible.sum() / instructions.sum()).dropna().to_dict()
        ratios += [
            sum(per_instruction[part] for part in parts) / per_instruction[whole]
            for whole, parts in events.umask_sums(ZEN5)
            if {whole, *parts} <= set(per_instruction) and per_instruction[whole] > 1e-6
        ]
    assert len(ratios) > 60
    assert abs(np.median(ratios) - 1) < 0.002
    assert np.mean(np.abs(np.array(ratios) - 1) < 0.05) > 0.85


@pytest.mark.slow
@given(tables())
def test_sums_are_their_definition(table):
    found = events.umask_sums(table)
    expected = naive.umask_sums(table["code"].to_dict(), table["bits"].to_dict())
    assert {(whole, frozenset(parts)) for whole, parts in found} == expected
    assert len(found) == len(expected)


@given(tables(), st.lists(st.integers(0, 10**9), min_size=8, max_size=8))
def test_sums_hold_for_any_counts_of_the_single_bits(table, per_bit):
    count = {
        event: sum(n for bit, n in enumerate(per_bit) if bits >> bit & 1)
        for event, bits in table["bits"].items()
    }
    for whole, parts in events.umask_sums(table):
        assert count[whole] == sum(count[part] for part in parts)
        assert table.loc[[whole, *parts], "code"].nunique() == 1


def test_a_sum_of_sums_is_listed_once_and_all_ways_to_cut_a_whole_are():
    sums = events.umask_sums(ZEN5)
    l2 = "l2_cache_req_stat."
    assert [parts for whole, parts in sums if whole == l2 + "all"] == [
        (l2 + "ic_access_in_l2", l2 + "dc_access_in_l2"),
        (l2 + "ic_dc_miss_in_l2", l2 + "ic_dc_hit_in_l2"),
    ]


# --- names --------------------------------------------------------------------------------------


@given(st.sampled_from(list(ZEN5.index)), st.sampled_from(["", "u", "k", "uD", "upp"]))
def test_an_encoded_event_can_be_read_back(event, modifier):
    encoded = events.encode(event, ZEN5, modifier)
    code, umask, name, written = ENCODED.fullmatch(encoded).groups()
    assert (int(code, 0), int(umask, 0)) == tuple(ZEN5.loc[event, ["code", "umask"]])
    assert (name, written) == (event, modifier)
    assert events.base_name(encoded) == event
    assert events.encode(encoded, ZEN5, "k") == (encoded if modifier else encoded + "k")


@pytest.mark.parametrize(
    ("event", "modifier", "encoded"),
    [
        ("instructions", "uD", "instructions:uD"),
        ("instructions:uD", "k", "instructions:uD"),
        ("cycles", "", "cycles"),
        ("L1-dcache-load-misses", "u", "L1-dcache-load-misses:u"),
        ("r1c2", "u", "r1c2:u"),
        ("task-clock", "u", "task-clock"),
        ("duration_time", "u", "duration_time"),
        ("context-switches", "uD", "context-switches:D"),
        ("sched:sched_switch", "u", "sched:sched_switch"),
        ("cpu/event=0xc2/", "u", "cpu/event=0xc2/u"),
    ],
)
def test_what_perf_knows_by_itself_passes_through(event, modifier, encoded):
    assert events.encode(event, ZEN5, modifier) == encoded


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("instructions:uD", "instructions"),
        ("instructions", "instructions"),
        ("cycles:upp", "cycles"),
        ("sched:sched_switch", "sched:sched_switch"),
        ("sched:sched_switch:u", "sched:sched_switch"),
        ("cpu/event=0xc2,umask=0x0,name=ex_ret_brn/u", "ex_ret_brn"),
        ("cpu/name=ex_ret_brn,event=0xc2/", "ex_ret_brn"),
        ("cpu/cache-misses/u", "cpu/cache-misses/"),
        ("L1-dcache-loads:u", "L1-dcache-loads"),
        ("ls_dmnd_fills_from_sys.all", "ls_dmnd_fills_from_sys.all"),
    ],
)
def test_base_name(written, name):
    assert events.base_name(written) == name
    assert events.base_name(name) == name


def test_an_unknown_event_is_refused_with_the_nearest_names():
    with pytest.raises(events.EventError, match=r"'ex_ret_brn_mips'.*Did you mean ex_ret_brn_misp"):
        events.encode("ex_ret_brn_mips", ZEN5)
    with pytest.raises(ValueError, match="first column"):
        events.encode("0123456789", ZEN5)


def test_abbreviations_come_from_the_table_and_else_from_the_name():
    names = ["ex_ret_brn_misp", "ic_tag_hit_miss.instruction_cache_miss", "instructions:uD"]
    assert events.abbreviate(names, ZEN5) == ["BRM", "ICM", "instructions"]
    assert events.abbreviate([events.encode("ex_ret_brn", ZEN5)], ZEN5) == ["BRB"]


# --- tables as files ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("event,code,umask\na,1,1\n", r"line 1: column 'bits' is missing"),
        (HEADER + "a,1,0,,1,x,AAA,,A.\nb,2,-,,1,x,BBB,,B.\n", "column umask: .*'-'"),
        (HEADER + "a,0x1,0,,1,x,AAA,,A.\nb,0xg,0,,1,x,BBB,,B.\n", r"column code: .*'0xg'"),
        (
            HEADER + "a,1,0,,1,x,AAA,,A.\nb,2,0,,1,x,BBB,,B.\nc,3,0,,1,x,AAA,,C.\n",
            "line 4: abbr 'AAA'",
        ),
        (HEADER + "a,1,0,,1,x,,,A.\na,2,0,,1,x,,,B.\n", "line 3: event 'a'"),
    ],
)
def test_a_faulty_table_is_refused(tmp_path, content, complaint):
    path = tmp_path / "faulty.csv"
    path.write_text(content)
    with pytest.raises(events.EventError, match=complaint):
        events.read_table(path)


def test_a_table_without_abbreviations_is_read(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text(HEADER + "a,0x1d6,0x1f,,1,x,,,A.\nb,2,0,,1,x,,,B.\n")
    table = events.read_table(path)
    assert events.encode("a", table, "") == "cpu/event=0x1d6,umask=0x1f,name=a/"
    assert events.abbreviate(["a", "b"], table) == ["a", "b"]
    assert events.core_events(table) == events.umask_sums(table) == []


def test_a_missing_table_is_named_with_those_there_are():
    with pytest.raises(events.EventError, match=r"'intel_x'.*amd_zen5"):
        events.table("intel_x")


# --- perf's own list ----------------------------------------------------------------------------

AS_TEXT = """
List of pre-defined events (to be used in -e or -M):

  branch-instructions OR branches                    [Hardware event]
  cpu/branch-misses/                                 [Kernel PMU event]

branch:
  ex_ret_brn                                        \n\
       [Retired branch instructions [all kinds]
        and more. Unit: cpu]
        cpu/event=0xc2/ \n\
  ex_ret_brn_misp
       [Mispredicted]
        cpu/event=0xc3,period=100003,umask=0x1/

l3 cache:
  l3_lookup_state.l3_miss
       [L3 misses. Unit: amd_l3]
        amd_l3/event=0x4,umask=0x1/

Metrics:

  branch_misprediction_rate
       [Mispredictions]
       [ex_ret_brn_misp / ex_ret_brn]
"""
AS_JSON = json.dumps(
    [
        {
            "Unit": "cpu",
            "EventName": "branches",
            "EventType": "Hardware event",
            "Encoding": "cpu/event=0xc4/",
        },
        {
            "Unit": "cpu",
            "Topic": "branch",
            "EventName": "ex_ret_brn",
            "BriefDescription": "Retired branch instructions [all kinds] and more. Unit: cpu",
            "Encoding": "cpu/event=0xc2/",
        },
        {
            "Unit": "cpu",
            "Topic": "branch",
            "EventName": "ex_ret_brn_misp",
            "BriefDescription": "Mispredicted",
            "Encoding": "cpu/event=0xc3,period=100003,umask=0x1/",
        },
        {"Topic": "branch", "EventName": "old", "Deprecated": "1", "Encoding": "cpu/event=0x1/"},
        {"Unit": "amd_l3", "Topic": "l3 cache", "EventName": "l3_miss", "Encoding": "amd_l3/event=0x4/"},
        {"MetricName": "branch_misprediction_rate", "MetricExpr": "ex_ret_brn_misp / ex_ret_brn"},
    ]
)


@pytest.mark.parametrize("text", [AS_TEXT, AS_JSON], ids=["text", "json"])
def test_perf_s_own_list_becomes_a_table(text):
    table = events.parse_perf_list(text)
    assert list(table.index) == ["ex_ret_brn", "ex_ret_brn_misp"]
    assert table[["code", "umask"]].to_numpy().tolist() == [[0xC2, 0], [0xC3, 1]]
    assert table["description"].iloc[0] == "Retired branch instructions [all kinds] and more. Unit: cpu"
    assert set(table["unit"]) == {"branch"}
    assert set(table.columns) == set(ZEN5.columns)
    assert events.abbreviate(["ex_ret_brn"], table) == ["ex_ret_brn"]
    assert events.encode("ex_ret_brn_misp", table) == "ex_ret_brn_misp:u"
    assert events.umask_sums(table) == []


def test_a_name_that_hybrid_processors_list_twice_is_taken_once():
    entries = [
        {"Topic": "cache", "EventName": "inst_retired.any", "Encoding": f"{pmu}/event=0xc0/"}
        for pmu in ("cpu_atom", "cpu_core", "cpu_core")
    ]
    assert list(events.parse_perf_list(json.dumps(entries)).index) == ["inst_retired.any"]


@pytest.mark.parametrize("more", ["cmask=0x4", "edge", "ldlat=0x3"])
def test_an_event_of_more_than_code_and_umask_is_told_from_the_others(more):
    entries = [
        {"Topic": "t", "EventName": name, "Encoding": f"cpu/event=0xa3,umask=0x4,period=9{terms}/"}
        for name, terms in (("all.of_it", ""), ("some.of_it", f",{more}"))
    ]
    table = events.parse_perf_list(json.dumps(entries))
    assert table["whole"].to_dict() == {"all.of_it": True, "some.of_it": False}
    assert countable("all.of_it", table)[0].config == "0x4a3"
    with pytest.raises(CmlibError, match="NAME=CODE"):
        countable("some.of_it", table)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("", "0 lines"), ("  task-clock   [Software event]\n", "1 lines"), ('[{"EventName": ', "malformed")],
)
def test_a_list_without_events_of_the_cores_is_refused(text, complaint):
    with pytest.raises(events.EventError, match=complaint):
        events.parse_perf_list(text)
