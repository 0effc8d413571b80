"""Callgrind's output: totals, functions, what is refused, and which caches are asked for."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.collect.simulate import CallgrindError, read_functions, read_parts, read_series
from cmlib.collect.simulate.valgrind import cache_options, machine_caches, second_level_options
from cmlib.errors import CmlibError
from cmlib.io import events
from cmlib.io.callgrind import join_levels, measure_difference, read_intervals

GOLDEN = (Path(__file__).parent / "golden/callgrind-3.19/planted.out").read_text(encoding="utf-8")
NAMES = list(events.simulated_events()["callgrind"])


def test_parts_of_a_real_run_have_its_planted_counts():
    """Twice 90,000 stores by `fill` and loads by `sum`, each of whose returns loads its address."""
    parts = read_parts(GOLDEN)
    assert parts.version == "3.19.0" and parts.caches["LL"] == "1048576 B, 64 B, 8-way associative"
    assert len(parts.totals) == len(parts.blocks) > 3 and parts.blocks[:-1].min() >= 100_000
    by_function = read_functions(GOLDEN).groupby("function").sum()
    assert by_function.loc["sum", ["Dr", "Dw"]].tolist() == [180_002, 0]
    assert by_function.loc["fill", ["Dr", "Dw"]].tolist() == [2, 180_000]


def test_functions_add_up_to_the_totals_of_every_part():
    functions = read_functions(GOLDEN)
    pd.testing.assert_frame_equal(
        functions.groupby("part").sum(), read_parts(GOLDEN).totals, check_names=False
    )
    assert not functions.index.duplicated().any()


def test_inlined_code_belongs_to_the_function_it_was_inlined_into():
    functions = read_functions(GOLDEN).reset_index()
    assert set(functions.loc[functions["function"] == "sum", "file"]) == {"./planted.c"}
    assert "mix" not in set(functions["function"])


def test_a_series_has_progress_instead_of_time_and_nothing_is_extrapolated():
    counts, running = read_series(GOLDEN)
    assert list(counts) == list(events.simulated_events().index)
    assert counts.index[-1] == pytest.approx(counts["sim.instructions"].sum() / 1e9)
    assert (running == 1).all(axis=None) and counts.shape == running.shape


def test_a_second_simulation_tells_the_middle_level():
    smaller = GOLDEN.replace("LL cache: 1048576 B", "LL cache: 65536 B")
    counts, running = read_series(GOLDEN + smaller)
    alone, _ = read_series(GOLDEN)
    pd.testing.assert_frame_equal(counts[alone.columns], alone)
    added = events.second_level_events()
    assert list(counts) == [*alone, *added.index] and (running == 1).all(axis=None)
    for event, short in added["callgrind"].items():
        np.testing.assert_array_equal(counts[event], read_parts(GOLDEN).totals[short])
    # Totals and functions are those of the first one.
    pd.testing.assert_frame_equal(read_functions(GOLDEN + smaller), read_functions(GOLDEN))
    assert read_parts(GOLDEN + smaller).caches["LL"].startswith("1048576 B")
    with pytest.raises(CallgrindError, match="did not execute the same: their instructions differ by"):
        read_series(GOLDEN + smaller[: smaller.rindex("desc: Timerange")])


def test_simulations_that_are_nearly_the_same_are_joined_at_equal_progress():
    last, _ = read_series(GOLDEN)
    second = last.assign(**{"sim.ll_load_misses": last["sim.ll_load_misses"] + 5})
    joined = join_levels(last, second)
    np.testing.assert_array_equal(joined["sim.l2_load_misses"] - joined["sim.ll_load_misses"], 5)
    np.testing.assert_array_equal(joined["sim.l2_store_misses"], joined["sim.ll_store_misses"])
    assert measure_difference(last, second) == 0
    # Not all intervals begin and end where those of the first do; no miss is lost.
    executed = second["sim.instructions"].to_numpy().copy()
    executed[0] += 50
    other = second.assign(**{"sim.instructions": executed})
    assert 0 < measure_difference(last, other) < 1e-4
    read = join_levels(last, other)["sim.l2_load_misses"]
    assert read.sum() == pytest.approx(joined["sim.l2_load_misses"].sum())
    np.testing.assert_allclose(read, joined["sim.l2_load_misses"], atol=0.01 * read.max())
    with pytest.raises(CallgrindError, match="did not execute the same"):
        join_levels(last, second.iloc[:2])


costs = st.lists(st.integers(0, 10**12), min_size=len(NAMES), max_size=len(NAMES))
parts_of_a_process = st.lists(
    st.dictionaries(
        st.tuples(st.sampled_from(["main", "f(int, char)", "operator new"]), st.sampled_from(["a.c", "b.c"])),
        st.lists(costs, min_size=1, max_size=3),
        min_size=1,
    ),
    min_size=1,
    max_size=3,
)


@given(st.lists(parts_of_a_process, min_size=1, max_size=2))
def test_what_is_written_is_read(processes):
    """Names come whole the first time, then by number; zeros at the end of a row are left out."""
    text = "".join(map(_written, processes))
    expected = {
        (number, function, file, "prog"): np.sum(rows, axis=0)
        for number, part in enumerate(part for process in processes for part in process)
        for (function, file), rows in part.items()
    }
    functions = read_functions(text)
    assert {key: list(row) for key, row in expected.items()} == {
        key: list(row) for key, row in zip(functions.index, functions.to_numpy(), strict=True)
    }
    totals = read_parts(text).totals
    assert totals.to_numpy().sum() == sum(row.sum() for row in expected.values())


def _written(parts):
    known = {}

    def name(kind, text):
        if (kind, text) in known:
            return f"({known[kind, text]})"
        known[kind, text] = len(known) + 1
        return f"({known[kind, text]}) {text}"

    lines = ["# callgrind format", "version: 1", "creator: callgrind-3.19.0", "positions: line"]
    lines.append(f"events: {' '.join(NAMES)}")
    for k, part in enumerate(parts):
        lines += [f"part: {k + 1}", f"desc: Timerange: Basic block {k} - {k + 1}", ""]
        lines += [f"ob={name('ob', 'prog')}"]
        for (function, file), rows in part.items():
            lines += [f"fl={name('file', file)}", f"fn={name('fn', function)}"]
            for row in rows:
                lines += [f"+3 {_trimmed(row)}", f"fi={name('file', 'inlined.h')}"]
                lines += [f"cfn={name('fn', 'called')}", "calls=1 7", f"* {_trimmed([1] * len(row))}"]
        total = np.sum([row for rows in part.values() for row in rows], axis=0).tolist()
        lines += ["", f"totals: {_trimmed(total)}", ""]
    return "\n".join(lines) + "\n"


def _trimmed(row):
    """At least one cost is written."""
    while len(row) > 1 and row[-1] == 0:
        row = row[:-1]
    return " ".join(map(str, row))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1.0,5,,cycles,1,100.00\n", "was not written by Callgrind"),
        (GOLDEN[: GOLDEN.rindex("totals:")], "is cut off: .* have totals"),
        ("version: 1\nevents: Ir\n", "0 have totals. Did the program run"),
        ("version: 1\n", "has no line `events:`"),
        (GOLDEN.replace("totals: ", f"totals: {20 * '5 '}", 1), "totals for .* events"),
        (GOLDEN.replace("totals: ", f"totals: {'5' * 5000} ", 1), "more than 18 digits"),
    ],
)
def test_what_is_not_callgrinds_is_refused(text, complaint):
    with pytest.raises(CallgrindError, match=complaint):
        read_parts(text)


@pytest.mark.parametrize("cost", ["-5", "9" * 19, "9" * 400, "9" * 5000, "nan", "1e5"])
def test_costs_of_functions_that_nothing_counted_are_refused(cost):
    with pytest.raises(CallgrindError, match="function's costs|line of costs that cannot be read"):
        read_functions(GOLDEN.replace("\n10 624565 ", f"\n10 {cost} ", 1))


def test_a_line_of_costs_that_can_t_be_read_is_told():
    text = GOLDEN.replace("\n10 624565 ", "\n10 12.5 ", 1)
    assert text != GOLDEN
    with pytest.raises(CallgrindError, match=r"cannot be read: '10 12\.5 "):
        read_functions(text)


def _forged(costs="fn=(1) f\n1 5\n", blocks=9, totals=("5 " * 13,)):
    """What Callgrind writes of a program that hardly did anything, as a stranger may change it."""
    events = " ".join(read_parts(GOLDEN).totals)
    header = f"version: 1\npositions: line\nevents: {events}\n{costs}"
    return header + "".join(f"desc: Timerange: Basic block 0 - {blocks}\ntotals: {row}\n" for row in totals)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (_forged(blocks="9" * 5000), "0 parts begin, 1 have totals"),
        (_forged(totals=["0 0", "0"]), "no part executed an instruction"),
        (_forged("cfn=(1) f\ncalls=1 1\n1 5\n"), "no costs of functions"),
        (_forged("".join(f"fn=({k}) f{k}\n1 5\n" for k in range(100_001))), "of more than 100,000"),
    ],
    ids=["digits", "nothing", "no function", "functions"],
)
def test_a_forged_run_is_refused_in_words(text, complaint):
    with pytest.raises(CallgrindError, match=complaint):
        read_intervals(text)


def test_parts_that_tell_of_too_many_functions_are_refused_before_they_fill_memory(monkeypatch):
    monkeypatch.setattr("cmlib.io.callgrind.functions._MOST_ROWS", 20)
    with pytest.raises(CallgrindError, match="--every-blocks"):
        read_functions(GOLDEN)


def test_a_part_without_instructions_belongs_to_the_one_before():
    counts, _ = read_intervals(_forged(totals=["5 " * 13, "0", "0", "5 " * 13, "0"]))
    assert counts["sim.instructions"].tolist() == [5, 5]


def test_a_run_without_simulated_caches_is_no_series():
    with pytest.raises(CallgrindError, match="did not simulate Dr, .*--cache-sim=yes"):
        read_series("version: 1\nevents: Ir\ndesc: Timerange: Basic block 0 - 1\ntotals: 5\n")


def test_every_simulated_event_is_described_and_its_name_is_no_processors():
    table = events.simulated_events(levels=3)
    assert table.index.is_unique and all(map(events.is_simulated, table.index))
    assert table["description"].is_unique and table["description"].str.fullmatch(r"[A-Z].*\.").all()
    assert list(table.index[table["kind"] == "exact"]) == [
        *("sim.instructions", "sim.loads", "sim.stores"),
        *("sim.conditional_branches", "sim.indirect_branches"),
    ]
    assert set(table["kind"]) == {"exact", "modelled"}
    for name in events.known_tables():
        assert not any(map(events.is_simulated, events.table(name).index))


def test_the_cycle_estimate_is_kcachegrinds():
    counts = pd.DataFrame([range(1, 14)], columns=events.simulated_events().index)
    assert events.cycle_estimate(counts).tolist() == [
        1 + 10 * (4 + 5 + 6) + 100 * (7 + 8 + 9) + 10 * (11 + 13)
    ]


def _cache(root, number, level, kind, size, ways):
    folder = root / f"sys/devices/system/cpu/cpu0/cache/index{number}"
    folder.mkdir(parents=True)
    told = {"level": level, "type": kind, "size": size, "ways_of_associativity": ways}
    for name, value in (told | {"coherency_line_size": 64}).items():
        (folder / name).write_text(f"{value}\n")


def test_the_caches_are_this_machines_unless_they_are_given(tmp_path):
    _cache(tmp_path, 0, 1, "Data", "48K", 12)
    _cache(tmp_path, 1, 1, "Instruction", "32K", 8)
    _cache(tmp_path, 2, 2, "Unified", "2M", 16)
    _cache(tmp_path, 3, 3, "Unified", "36864K", 12)
    assert machine_caches(tmp_path)["LL"] == (36 << 20, 12, 64)
    # 49,152 sets of the last level are no power of two: left to Valgrind.
    assert cache_options({}, root=tmp_path) == ["--I1=32768,8,64", "--D1=49152,12,64"]
    given = {"D1": "64K,4,64", "LL": "1M,16,64", "I1": None}
    expected = ["--I1=32768,8,64", "--D1=65536,4,64", "--LL=1048576,16,64"]
    assert cache_options(given, root=tmp_path) == expected
    assert cache_options({}, root=tmp_path / "elsewhere") == []
    # Fetched in pairs of lines, the last level has lines of twice the length.
    expected = ["--I1=32768,8,64", "--D1=65536,4,64", "--LL=1048576,16,128", "--simulate-hwpref=yes"]
    assert cache_options(given, prefetch=True, root=tmp_path) == expected


def test_a_second_simulation_has_the_second_level_as_its_last(tmp_path):
    _cache(tmp_path, 0, 1, "Data", "32K", 8)
    _cache(tmp_path, 1, 2, "Unified", "1M", 16)
    assert second_level_options({}, root=tmp_path) == []  # it is the last one
    _cache(tmp_path, 2, 3, "Unified", "36864K", 12)
    assert second_level_options({}, root=tmp_path) == ["--D1=32768,8,64", "--LL=1048576,16,64"]
    assert second_level_options({"LL": "1M,16,64"}, root=tmp_path) == []
    assert second_level_options({"L2": "512K,8,64"}, root=tmp_path)[-1] == "--LL=524288,8,64"
    assert second_level_options({"L2": "512K,8,64"}, root=tmp_path / "elsewhere") == []


@pytest.mark.parametrize("text", ["32K", "big,8,64", "33K,8,64", "32K,0,64", "32K,8,64,1"])
def test_caches_that_can_not_be_simulated_are_refused(text):
    with pytest.raises(CmlibError, match="D1 cache .*power of two"):
        cache_options({"D1": text})
