"""What rows of counts mean: laws of sums, modes, kinds of core, readings, shares of slots and doubts."""

from math import nan

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from cmlib.io.formats.readings import FormatError, Program, Readings, Run, make_counts, make_metrics
from cmlib.io.meaning.doubts import Measured, find_doubtful
from cmlib.io.meaning.event_names import EventInMode, find_mode, is_latency, map_events, normalize_event
from cmlib.io.meaning.processors import find_machine
from cmlib.io.meaning.program_names import name_programs
from cmlib.io.meaning.selection import Selection, find_kinds, select, selection_of
from cmlib.io.meaning.stored import derive_series, join_programs
from cmlib.io.meaning.tool_metrics import collect_metrics, find_category


def program(runs=(), metrics=None, **columns):
    none = make_metrics({"value": [], "name": []})
    return Program(make_counts(columns), runs=runs, metrics=none if metrics is None else metrics)


def test_modifiers_within_slashes_are_those_behind_them():
    assert normalize_event("cpu_core/cpu-cycles:u/") == "cpu_core/cpu-cycles/u"
    assert normalize_event("cpu/event=0x43,umask=0x4/u") == "cpu/event=0x43,umask=0x4/u"
    assert normalize_event("raw_syscalls:sys_enter") == "raw_syscalls:sys_enter"


@pytest.mark.parametrize("event", ["mem_load_retired.l3_hit:R", "cpu/mem_load/R", "x:uR"])
def test_a_retirement_latency_is_no_count(event):
    assert is_latency(event)
    assert not is_latency(event.replace("R", "u"))
    rows = program(event=["cycles", event], value=[1e9, 84.0])
    assert list(derive_series(rows).counts) == ["cycles"]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("cycles:u", EventInMode("cycles", "u")),
        ("cpu_core/cycles/k", EventInMode("cpu_core/cycles/", "k")),
        ("cpu_core/cycles:upp/", EventInMode("cpu_core/cycles/", "u")),
        ("cycles", None),
        ("cycles:uk", None),
        ("raw_syscalls:sys_enter", None),
    ],
)
def test_an_event_of_one_mode_is_split_into_name_and_mode(event, expected):
    assert find_mode(event) == expected


def test_a_function_is_applied_to_each_event_and_a_missing_event_is_refused():
    events = pd.Series(["a", "b", "a"], dtype="category", name="event")
    assert map_events(events, str.upper).tolist() == ["A", "B", "A"]
    with pytest.raises(ValueError, match="missing in row 1 of the column 'event'"):
        map_events(events.where(events != "b"), str.upper)


def assert_filled(expected, **columns):
    """Select rows of one program, and compare their values with those expected."""
    selected = select(Readings((program(**columns),)), Selection())
    np.testing.assert_array_equal(selected.counts["value"], expected)


def test_a_process_that_slept_counted_zero():
    assert_filled(
        [0.0, 5.0, nan],
        event=["cycles"] * 3,
        value=[nan, 5.0, nan],
        time_s=[1.0, 2.0, 3.0],
        running=[1.0, 1.0, 0.4],
        on_counter_s=[0.0, 1.0, 0.0],
    )


@pytest.mark.parametrize(
    ("event", "value", "running", "on_counter_s", "expected"),
    [
        ("instructions", 7.0, 1.0, 1e-3, nan),  # another event was counted: the program ran
        ("page-faults", 0.0, 1.0, 1e-3, nan),
        ("instructions", nan, 0.0, 0.0, nan),  # another event waited for a counter: the program ran
        ("power/energy-pkg/", 7.0, 1.0, 1.0, 0.0),  # counted whether the program runs or not
        ("duration_time", 1e9, 1.0, 1.0, 0.0),
    ],
)
def test_a_count_is_zero_only_if_no_event_shows_that_the_program_ran(
    event, value, running, on_counter_s, expected
):
    assert_filled(
        [expected, value],
        event=["cycles", event],
        value=[nan, value],
        time_s=[1.0, 1.0],
        running=[1.0, running],
        on_counter_s=[0.0, on_counter_s],
    )


def test_a_cpu_that_idled_counted_zero_beside_one_that_did_not():
    assert_filled(
        [0.0, 5.0],
        event=["cycles"] * 2,
        value=[nan, 5.0],
        place=["CPU0", "CPU1"],
        time_s=[1.0, 1.0],
        on_counter_s=[0.0, 1.0],
        running=[1.0, 1.0],
    )


@pytest.mark.parametrize("value", [1.844674e19, 1.84467e19, 2.0**64 - 3])
def test_counts_just_below_2_64_are_unknown_and_so_is_their_sum(value):
    rows = program(
        event=["instructions", "instructions", "cycles", "cycles"],
        value=[value, 9.8e8, 1.0, 2.0],
        place=["Core 3", "Core 4"] * 2,
    )
    derived = derive_series(rows)
    assert np.isnan(derived.counts["instructions"].item())
    assert derived.counts["cycles"].item() == 3.0
    assert any("2^64" in note for note in derived.table.notes)


def test_a_unit_that_does_not_exist_at_a_place_leaves_the_sum():
    rows = program(
        event=["CAS_COUNT_RD"] * 3,
        value=[5.0, nan, 7.0],
        place=["Core 0/MBOX0C0", "Core 1/MBOX0C0", "Core 0/MBOX1C0"],
        supported=[True, False, True],
    )
    assert derive_series(rows).counts["CAS_COUNT_RD"].item() == 12.0


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=6))
def test_sums_over_places_do_not_depend_on_their_order(values):
    places = [f"CPU{k}" for k in range(len(values))]

    def total(order):
        rows = program(
            event=["cycles"] * len(values), value=[values[k] for k in order], place=[places[k] for k in order]
        )
        return derive_series(rows).counts["cycles"].item()

    assert total(range(len(values))) == total(range(len(values))[::-1]) == sum(values)


def test_second_readings_at_each_place_are_second_readings_of_the_sum():
    rows = program(
        event=["branches"] * 8,
        value=[1.0, 2.0, 10.0, 20.0, 3.0, 4.0, 30.0, 40.0],
        place=["CPU0", "CPU1"] * 4,
        time_s=[1.0] * 4 + [2.0] * 4,
    )
    counts = derive_series(rows).counts
    assert counts["branches"].tolist() == [3.0, 7.0]
    assert counts["branches#2"].tolist() == [30.0, 70.0]


def test_user_mode_and_kernel_add_up_however_they_are_written():
    rows = program(
        event=["cpu_core/cpu-cycles:u/", "cpu_core/cpu-cycles:k/", "instructions:u", "instructions:k"],
        value=[3e9, 30e9, 1e9, 2e9],
    )
    chosen = select(Readings((rows,)), Selection())
    counts = derive_series(chosen).counts.iloc[0]
    assert counts["cpu_core/cpu-cycles/"] == 33e9
    assert counts["instructions"] == 3e9


def test_kinds_of_core_are_apart_and_what_names_none_is_left_out():
    rows = program(
        event=["cpu_core/cycles/", "cpu_atom/cycles/", "L1-dcache-loads", "task-clock", "power/energy-pkg/"],
        value=[9.0, 8.0, 7.0, 6.0, 5.0],
        running=[0.9, 0.8, 1.0, 1.0, 1.0],
    )
    readings = Readings((rows,))
    assert find_kinds(rows.counts) == ("cpu_core", "cpu_atom")
    atom = select(readings, Selection(kind="cpu_atom"))
    assert atom.counts["event"].tolist() == ["cpu_atom/cycles/", "task-clock", "power/energy-pkg/"]
    with pytest.raises(FormatError, match="cpu_lowpower"):
        select(readings, Selection(kind="cpu_lowpower"))


@given(
    st.builds(
        Selection,
        program=st.integers(0, 9),
        runs=st.lists(st.integers(1, 9), max_size=3).map(tuple),
        kind=st.sampled_from(["", "cpu_atom"]),
        place=st.sampled_from(["", "CPU3"]),
        start_s=st.none() | st.floats(0, 9),
        end_s=st.none() | st.just(0.0) | st.floats(10, 19),
    )
)
def test_a_selection_survives_its_metadata(selection):
    assert selection_of(selection.as_metadata()) == selection


def test_intervals_within_marks_are_whole():
    rows = program(event=["cycles"] * 4, value=[1.0, 2.0, 3.0, 4.0], time_s=[1.0, 2.0, 3.0, 4.0])
    chosen = select(Readings((rows,)), Selection(start_s=1.0, end_s=3.5))
    assert chosen.counts["value"].tolist() == [2.0, 3.0]
    from_start = select(Readings((rows,)), Selection(end_s=3.5))
    assert from_start.counts["value"].tolist() == [1.0, 2.0, 3.0]
    to_end = select(Readings((rows,)), Selection(start_s=1.0))
    assert to_end.counts["value"].tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(FormatError, match="CPU7"):
        select(Readings((rows,)), Selection(place="CPU7"))


def test_whole_runs_lie_behind_one_another_and_know_their_lengths():
    one = program(runs=(Run(2.0),), event=["cycles"], value=[4.0])
    other = program(runs=(Run(3.0),), event=["cycles"], value=[5.0])
    derived = derive_series(join_programs([one, other]))
    assert derived.counts.index.tolist() == [2.0, 5.0]
    assert derived.counts["duration_time"].tolist() == [2e9, 3e9]
    assert derived.table.of_whole_runs and derived.table.are_lengths_known


def test_a_level_is_its_own_rate():
    rows = program(event=["power"] * 2, value=[30.0, 40.0], time_s=[0.5, 2.5])
    counts = derive_series(rows, frozenset(["power"])).counts["power"]
    assert (counts / [0.5, 2.0]).tolist() == [30.0, 40.0]


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("%  tma_backend_bound", "back end"),
        ("% tma_frontend_bound", "front end"),
        ("Retiring (cpu_core)", "retired"),
        ("% backend_bound_memory", "memory"),
        ("insn per cycle", "instructions a cycle"),
        ("CPUs utilized", "CPUs"),
        ("GHz", None),
        ("of all branches", None),
        ("stalled cycles per insn", None),
    ],
)
def test_metrics_have_one_name(name, category):
    assert find_category(name) == category


def test_shares_are_means_and_parts_add_up():
    names = ["% tma_backend_bound_memory", "% backend_bound_cpu", "% backend_bound_memory", "insn per cycle"]
    metrics = make_metrics({"name": names[1:] * 2, "value": [10.0, 30.0, 1.5, 20.0, 40.0, 2.5]})
    shares = collect_metrics(metrics)
    assert shares == pytest.approx(
        {"core": 0.15, "memory": 0.35, "back end": 0.5, "instructions a cycle": 2.0}
    )


def test_shares_without_counts_are_rows_of_percent():
    names = ["% retiring", "% frontend_bound"]
    derived = derive_series(
        program(metrics=make_metrics({"name": names, "value": [40.0, 60.0]}), event=[], value=[])
    )
    assert derived.counts.iloc[0].to_dict() == {"retiring": 40.0, "frontend_bound": 60.0}


def test_programs_have_short_unique_names():
    assert name_programs(["./job --fast"]) == [""]
    assert name_programs(["./a/job 1", "/b/other 2"]) == ["job", "other"]
    assert name_programs(["./job 1", "./job 2"]) == ["job-1", "job-2"]
    assert name_programs(["", "", "#!"]) == ["unnamed-1", "unnamed-2", "x"]
    assert name_programs(["a", "a", "a 1"]) == ["a-2", "a-3", "a-1"]


@given(st.lists(st.text("ab12-#/ .", max_size=6), min_size=2, max_size=12))
def test_no_two_programs_have_the_same_name(commands):
    names = name_programs(commands)
    assert len(set(names)) == len(commands)


def test_a_processor_without_a_table_is_named_and_nothing_is_guessed():
    assert (
        find_machine({}, "Intel Xeon Platinum 8380 (Icelake)").description["processor"].startswith("intel_")
    )
    unknown = find_machine({}, "Elbrus 8C")
    assert unknown.description == {"model_name": "Elbrus 8C"}
    assert "Elbrus 8C" in unknown.notes[0]


def measured(cycles, instructions, share, seconds):
    counts = pd.DataFrame({"cycles": [cycles], "instructions": [instructions]}, index=[seconds])
    return Measured(counts, counts * 0 + share, True, seconds)


def test_counts_of_two_milliseconds_and_of_half_the_clock_are_doubtful():
    usual, short, slow = find_doubtful(
        [measured(1.8e9, 2.5e9, 0.5, 0.4), measured(9e7, 3e7, 0.1, 0.02), measured(1.8e9, 2.5e9, 0.5, 0.9)]
    )
    assert not usual
    assert short.keys() == {"cycles", "instructions"}
    assert slow.keys() == {"cycles"}
