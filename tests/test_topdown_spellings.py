"""Accounts from files as other machines' perf writes them: every spelling, what the tool printed, user and kernel."""

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmlib import topdown
from cmlib.experiments.summary import summarize_runs
from cmlib.io import events
from cmlib.io.archive import read_content
from cmlib.io.archive.runs import read_run_metadata as read_meta
from cmlib.io.imports import import_files
from cmlib.io.meaning.stored import read_stored
from cmlib.io.sources import read_recordings
from cmlib.spelling import NAMES, PINNED, preference, spelling
from tests.perf_output import GOLDEN

SLOTS = {"slots": 2.75, "topdown-retiring": 0.605, "topdown-bad-spec": 0.1375, "topdown-fe-bound": 1.32,
         "topdown-be-bound": 0.6875}  # fmt: skip
ARM = {"stall_frontend": 0.38, "stall_backend": 0.25}
AMD = {"stalled-cycles-frontend": 0.02, "stalled-cycles-backend": 0.6}
PREFIXES = ["", "cpu/", "cpu_core/", "armv8_pmuv3_0/"]


def made(rates, n=30):
    index = pd.Index(np.arange(1.0, n + 1), name="time_s")
    counts = pd.DataFrame({"cycles": 3e9, **{event: rate * 3e9 for event, rate in rates.items()}}, index)
    return counts, counts * 0 + 1.0


def told(text, folder):
    """What is said of each program and kind of core of a file."""
    file = folder / "perf.txt"
    file.write_text(text)
    sources = read_recordings([file], {})
    return [
        summarize_runs("x", [one.facts | {"imported": True}], [(one.counts, one.running)])["account"]
        for one in sources
    ]


def level_1(account):
    return {row["name"]: (row["low"] + row["high"]) / 2 for row in account["categories"] if not row["parent"]}


def respell(data, event):
    name = data.draw(st.sampled_from([event, event.upper(), event.lower(), event.replace("_", "-")]))
    if event == "slots":
        name = data.draw(st.sampled_from(["slots", "topdown.slots", "TOPDOWN.SLOTS"]))
    prefix = data.draw(st.sampled_from(PREFIXES))
    modifier = data.draw(st.sampled_from(["", "u", "uk", "D", "uD"]))
    if prefix:
        return f"{prefix}{name}/{modifier}"
    return f"{name}:{modifier}" if modifier else name


@pytest.mark.parametrize("name", topdown.tables())
@settings(max_examples=2)
@given(data=st.data())
def test_any_spelling_of_a_tables_events_gives_the_same_account(name, data):
    table = topdown.read_table(name)
    events = [event for event in dict.fromkeys(["slots", *table.events()]) if spelling(event) != "cycles"]
    events = list({spelling(event): event for event in reversed(events)}.values())
    rates = pd.DataFrame([{event: 0.1 + 0.01 * k for k, event in enumerate(events)}])
    expected = topdown.account(rates, table).shares
    spelled = {event: respell(data, event) for event in rates}
    pd.testing.assert_frame_equal(topdown.account(rates.rename(columns=spelled), table).shares, expected)
    assert set(table.select_events(spelled.values())) == {
        spelled[event] for event in table.select_events(events)
    }


@settings(max_examples=10)
@given(data=st.data())
def test_any_spelling_in_a_file_gives_the_same_answer(data):
    spelled = {respell(data, event): rate for event, rate in SLOTS.items()}
    account = topdown.summarize("x", [made(spelled | {"instructions": 1.0})])["account"]
    assert account["how"] == "counted" and account["limits"] == ["front end"]
    npt.assert_allclose([*level_1(account).values()], [22.0, 5.0, 48.0, 25.0], atol=1e-6)


def test_what_is_another_event_is_not_the_same():
    assert spelling("cycles:k") != spelling("cycles") == spelling("cpu_core/cycles:u/")
    assert spelling("cpu/UOPS_DECODED.DEC0,cmask=1/") != spelling("UOPS_DECODED.DEC0")
    assert spelling("cpu/event=0x0,umask=0x4,name=TOPDOWN.SLOTS/") == "slots"


def test_level_1_that_does_not_add_up_is_said_and_is_no_verdict():
    rates = SLOTS | {"slots": 5.0, "instructions": 1.0}
    account = topdown.summarize("x", [made(rates)])["account"]
    assert account["how"] == "open" and set(account["limits"]) == set(topdown.LOSSES)
    assert account["adds_up_to"] == pytest.approx(55) and "55 %" in account["text"] and not account["advice"]


@pytest.mark.parametrize("rates", [AMD, ARM, SLOTS], ids=["AMD", "Arm", "Ice Lake"])
def test_the_account_of_every_default_list_is_one_on_both_pages(rates):
    """The shares that notebook 00 computes from counted events lie within the bounds of the first page."""
    run = made(rates | {"instructions": 1.1})
    account = topdown.summarize("x", [run])["account"]
    totals = topdown.totals([run])["rate"]
    table = topdown.choose_table(totals.index, None, totals)
    whole = topdown.account(totals.to_frame().T, table)
    shown = {row["name"]: row for row in account["categories"]}
    for name, share in whole.level().iloc[0].items():
        if name in shown:
            assert shown[name]["low"] - 0.01 <= 100 * share <= shown[name]["high"] + 0.01


def test_stalls_tell_what_is_likely():
    arm, amd = (
        topdown.summarize("x", [made(rates | {"instructions": 1.1})])["account"] for rates in (ARM, AMD)
    )
    assert (arm["how"], arm["limits"]) == ("likely", ["front end"]) and level_1(arm)["front end"] > 38
    assert (amd["how"], amd["limits"]) == ("likely", ["back end"])
    zen4 = {"stalled-cycles-frontend": 0.03, "instructions": 1.0}  # nothing counts the back end
    assert topdown.summarize("x", [made(zen4)])["account"]["how"] == "open"


TABLE = """ Performance counter stats for './x':

     10,000,000,000      cycles                    #    3.0 GHz
     {instructions}      instructions              #    {ipc}  insn per cycle
             TopdownL1                 #     {back} %  tma_backend_bound
                                       #     {bad} %  tma_bad_speculation
                                       #     {front} %  tma_frontend_bound
                                       #     {retired} %  tma_retiring

       3.000000000 seconds time elapsed
"""


def test_what_perf_printed_is_the_account_unless_the_counts_contradict_it(tmp_path):
    values = {"instructions": "10,000,000,000", "ipc": "1.00"}
    shares = {"back": 30.6, "bad": 7.8, "front": 42.0, "retired": 19.6}
    (account,) = told(TABLE.format(**values, **shares), tmp_path)
    assert account["how"] == "counted" and account["printed"] and account["limits"] == ["front end"]
    values = {"instructions": "26,000,000,000", "ipc": "2.60"}
    shares = {"back": 10.0, "bad": 75.7, "front": 9.3, "retired": 5.0}
    (account,) = told(TABLE.format(**values, **shares), tmp_path)
    assert not account["printed"] and account["disputed"]["retired"] == pytest.approx(5.0)
    assert account["limits"] != ["bad speculation"]


FORMS = {
    "--topdown": """#           time             retiring      bad speculation       frontend bound        backend bound
     1.001000000 S0-D0-C0           2       19.6%                  7.8%                 42.0%                30.6%
""",
    "-x, --metric-only": """time,%  tma_backend_bound,%  tma_bad_speculation,%  tma_frontend_bound,%  tma_retiring,
1.000103288,30.6,7.8,42.0,19.6,
""",
    "-j": """{"event" : "TOPDOWN.SLOTS", "metric-value" : "30.6", "metric-unit" : "%  tma_backend_bound"}
{"metric-value" : "7.8", "metric-unit" : "%  tma_bad_speculation"}
{"metric-value" : "42.0", "metric-unit" : "%  tma_frontend_bound"}
{"metric-value" : "19.6", "metric-unit" : "%  tma_retiring"}
""",
    "-j --metric-only": '{"interval" : 1.0, "%  tma_backend_bound" : "30.6", "%  tma_bad_speculation" : "7.8", '
    '"%  tma_frontend_bound" : "42.0", "%  tma_retiring" : "19.6"}',
}


@pytest.mark.parametrize("form", FORMS)
def test_printed_shares_are_read_in_every_form(form, tmp_path):
    file = tmp_path / "perf.txt"
    file.write_text(FORMS[form])
    (recording,) = read_recordings([file], {})
    shares = recording.facts["printed"]
    expected = {"back end": 0.306, "bad speculation": 0.078, "front end": 0.42, "retired": 0.196}
    assert {name: shares[name] for name in expected} == pytest.approx(expected)


def test_a_printed_sum_that_is_not_100_is_said(tmp_path):
    text = FORMS["-x, --metric-only"].replace("42.0", "30.0")
    (account,) = told(text, tmp_path)
    assert (
        account["how"] == "open"
        and account["printed_adds_up_to"] == pytest.approx(88)
        and not account["printed"]
    )
    assert "88 %" in account["text"]


def test_user_and_kernel_counted_apart_are_added_and_both_shown(tmp_path):
    file = tmp_path / "perf.csv"
    rows = {"cpu-cycles:u": 5.7e9, "cpu-cycles:k": 68.9e9, "instructions:u": 1.2e9, "instructions:k": 40e9}
    file.write_text("".join(f"{value:.0f},,{event},1000000,100.00,,\n" for event, value in rows.items()))
    (source,) = read_recordings([file], {})
    answer = summarize_runs("x", [source.facts], [(source.counts, source.running)])
    levels = answer["levels"]
    assert levels["instructions a cycle"] == pytest.approx(41.2 / 74.6)
    assert levels["kernel cycles"] == pytest.approx(100 * 68.9 / 74.6)
    assert levels["user instructions a cycle"] == pytest.approx(1.2 / 5.7)
    assert answer["levels_text"].startswith("92")


def test_each_kind_of_core_has_what_was_printed_of_it(tmp_path):
    text = """ Performance counter stats for 'system wide':

         5,653,347      cpu_core/cycles/                 #    0.000 GHz
         4,164,114      cpu_atom/cycles/                 #    0.000 GHz
         3,921,839      cpu_core/instructions/           #    0.69  insn per cycle
         2,142,800      cpu_atom/instructions/           #    0.38  insn per cycle
             TopdownL1 (cpu_core)                 #     32.0 %  tma_backend_bound
                                                  #      8.0 %  tma_bad_speculation
                                                  #     45.5 %  tma_frontend_bound
                                                  #     14.5 %  tma_retiring

       1.000000000 seconds time elapsed
"""
    core, atom = told(text, tmp_path)
    assert core["limits"] == ["front end"] and core["printed"] and not atom["printed"]


FOUR = {"retiring": 3, "bad-spec": 11, "fe-bound": 52, "be-bound": 34}


def test_the_four_counts_of_slots_are_an_account_where_slots_were_not_counted(tmp_path):
    rows = "".join(f"  {n}00000      cpu_atom/topdown-{name}/\n" for name, n in FOUR.items())
    rows += "  2,000      cpu_core/cycles/\n"
    atom, _ = told(f" Performance counter stats for 'system wide':\n\n{rows}", tmp_path)
    assert atom["how"] == "counted" and [*level_1(atom).values()] == pytest.approx([*FOUR.values()])


@pytest.mark.parametrize(
    ("name", "limit", "is_printed"),
    [
        ("n1-raw.csv", "back end", False),
        ("icl-cgroup.txt", "back end", False),
        ("icl-per-core.json", "back end", False),
        ("spr-metric-only.txt", "back end", True),
        ("skl-topdown.txt", "front end", True),
        ("skl-toplev.csv", "front end", True),
    ],
)
def test_what_holds_an_account_is_answered_by_it_however_it_comes(name, limit, is_printed, tmp_path):
    """Written by hand, as perf, mails, pages and other tools write it; again from what is imported."""
    for account in told((GOLDEN / "accounts" / name).read_text(), tmp_path):
        assert account["limits"] == [limit] and account["printed"] == is_printed
    for meta_file in import_files("x", [GOLDEN / "accounts" / name], folder=tmp_path):
        meta = read_meta(meta_file)
        run = read_stored(read_content(meta_file, meta["sha256"]), meta)
        assert summarize_runs("x", [meta], [(run.counts, run.running)])["account"]["limits"] == [limit]


@pytest.mark.parametrize("name", PINNED)
def test_all_names_of_an_event_are_one_when_files_are_read_and_when_slots_are_computed(name):
    names = NAMES[name]
    assert {spelling(other) for other in names} == {name}
    assert all(events.translate([other], {}) == {other: name} for other in names)
    assert events.translate(names[::-1], {}) == {names[0]: name}
    assert [preference(other) for other in (name, *names)] == list(range(len(names) + 1))
