"""Totals of whole runs: one table or many, for people, in fields or JSON, and tables of a row a run."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cmlib import experiments
from cmlib.cli import main
from cmlib.errors import UnfitRecordingError
from cmlib.io import events, perf, store
from cmlib.io.archive import read_object
from cmlib.io.archive.programs import RecordError
from cmlib.io.imports import import_files
from cmlib.io.perf.core_kinds import by_kind_of_core
from tests.perf_output import golden

SANDMARK = golden("elsewhere/sandmark-navajo.txt")
EVENTS = ("cycles", "instructions", "branch-misses:u")


def table(command, counts, shares, seconds):
    rows = "".join(
        f"{count:>18,}      {event:<24} # 1.00 of something"
        + ("\n" if share == 100 else f"   ({share:.2f}%)\n")
        for event, count, share in zip(EVENTS, counts, shares, strict=True)
    )
    return f"\n Performance counter stats for '{command}':\n\n{rows}\n {seconds:.9f} seconds time elapsed\n\n"


def series_of(found):
    return perf.series(perf.as_intervals(perf.joined(found)))


def put(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return [folder / f"{name}.txt" for name in texts]


def stored(made):
    url = f"sqlite:///{made[0].parents[1]}/s.sqlite"
    store.rebuild(made[0].parents[1], url)
    return url


def test_a_file_of_many_programs_is_as_many_recordings(tmp_path):
    """Two of the fifty tables in a file of Sandmark's, below a line of JSON."""
    files = put(tmp_path, sandmark=SANDMARK)
    made = import_files("sand", files, folder=tmp_path / "in")
    assert [file.parent.name for file in made] == ["sand-nbody", "sand-spectralnorm2"]
    meta = read_object(made[0], "", "")
    assert meta["axis"] == "runs" and meta["mode"] == "mlpx" and "totals of 1 run." in meta["note"]
    run = store.load(stored(made), f"sand-nbody/{made[0].stem}")
    assert run.counts["cycles"].tolist() == [17518129939] and run.running["cycles"].iloc[0] == pytest.approx(
        0.8329
    )
    assert run.counts["task-clock"].tolist() == [5860.32] and run.running["task-clock"].tolist() == [1]
    assert run.interval_s.tolist() == [5.863993791] and run.counts["duration_time"].tolist() == [5863993791]


def test_runs_of_several_files_are_put_together_by_program(tmp_path):
    files = put(tmp_path, a=SANDMARK, b=SANDMARK.replace("17,518,", "18,518,"), copy=SANDMARK)
    made = import_files("sand", files, folder=tmp_path / "in")
    run = store.load(stored(made), f"sand-nbody/{made[0].stem}")
    assert run.counts["cycles"].tolist() == [17518129939, 18518129939]


counts_and_shares = st.tuples(
    st.lists(st.integers(0, 10**15), min_size=3, max_size=3),
    st.lists(st.integers(1, 10000).map(lambda share: share / 100), min_size=3, max_size=3),
    st.integers(1, 10**13).map(lambda ns: ns / 1e9),
)


@given(
    st.lists(counts_and_shares, min_size=1, max_size=5),
    st.sampled_from(["", "Error:\n", "the program's own\n"]),
)
def test_what_stands_in_tables_is_what_is_read(runs, above):
    """Runs of a command are of one program if their cycles, instructions and times are alike."""
    runs = [([*runs[0][0][:2], misses], shares, runs[0][2]) for (_, _, misses), shares, _ in runs]
    text = "".join(above + table("./app 5", *run) for run in runs)
    (found,) = perf.totals(text)
    counts, running = series_of([found])
    assert counts.columns.tolist() == ["cycles", "instructions", "branch-misses", "duration_time"]
    assert_allclose(counts.to_numpy()[:, :3], [run[0] for run in runs])
    assert_allclose(running.to_numpy()[:, :3], np.array([run[1] for run in runs]) / 100)
    assert_allclose(np.diff(counts.index, prepend=0.0), [run[2] for run in runs], atol=1e-6)
    assert found.text.strip() == text.removeprefix(above).strip()


@given(st.lists(counts_and_shares, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_what_stands_in_fields_or_json_is_what_is_read(runs, in_json, told_apart):
    """Runs begin where perf says that it started, and are of several programs if their IPC is far apart; without that,
    where the list of events begins anew."""

    def line(event, count, share):
        if not in_json:
            return f"{count},,{event},1234,{share:.2f},,\n"
        told = {"counter-value": f"{count}.000000", "unit": "", "event": event, "event-runtime": 1234}
        return json.dumps(told | {"pcnt-running": share}) + "\n"

    heading = "# started on Sat Nov 21 03:00:46 2026\n\n" if told_apart else ""
    text = "".join(heading + "".join(map(line, EVENTS, *run[:2])) for run in runs)
    found = perf.totals(text)
    assert len(found) == 1 or told_apart and len({one.titles for one in found}) == len(found)
    counts, running = series_of(found)
    expected = [[*run[0], *(share / 100 for share in run[1])] for run in runs]
    assert_allclose(sorted(np.hstack([counts, running]).tolist()), sorted(expected))
    assert counts.index.tolist() == list(range(1, len(runs) + 1))


@given(st.lists(counts_and_shares, min_size=1, max_size=5), st.booleans())
def test_old_perfs_fields_are_read_and_their_shares_unknown(runs, has_units):
    """Before 3.13: count and event, or count, unit and event."""
    comma = ",," if has_units else ","
    text = "".join(f"{n}{comma}{event}\n" for run in runs for n, event in zip(run[0], EVENTS, strict=True))
    (found,) = perf.totals(text)
    counts, running = series_of([found])
    assert_allclose(counts.to_numpy(), [run[0] for run in runs])
    assert running.isna().all(axis=None) and any("shares" in said for said in found.remarks)
    with pytest.raises(perf.ParseError, match="line 1, "):
        perf.totals(text.replace("cycles", "oranges"))


@given(st.lists(st.tuples(st.sampled_from("ab"), *[st.integers(0, 10**12)] * 2), min_size=1, max_size=9))
def test_rows_of_a_table_without_times_are_runs_of_the_program_that_they_name(rows):
    text = "benchmark,cycles,LLC-loads,host\n" + "".join(f"{','.join(map(str, row))},x\n" for row in rows)
    found = {one.command: series_of([one])[0] for one in perf.totals(text)}
    for name, counts in found.items():
        assert counts.to_numpy().tolist() == [list(row[1:]) for row in rows if row[0] == name]
    assert set(found) == {row[0] for row in rows} and perf.totals(text, rows_are_runs=False) == []


def test_tables_of_places_and_of_several_runs_say_so(tmp_path):
    places = " Performance counter stats for 'system wide':\n\n" + "".join(
        f"CPU{cpu}   {5 + cpu}    cycles   (50.00%)\n" for cpu in range(3)
    )
    means = table("./app", (5, 6, 7), (100, 100, 100), 2.0).replace("./app':", "./app' (7 runs):")
    means = means.replace("something\n", "something  ( +-  0.06% )\n").replace(
        "000 seconds", "000 +- 0.1 seconds"
    )
    for text, told, total in (
        (places, "Counts of 3 places, CPU0 to CPU2, are added up.", 18),
        (means, "Counts are means of 7 runs.", 5),
    ):
        (found,) = perf.totals(text)
        assert told in found.remarks and series_of([found])[0]["cycles"].tolist() == [total]


@pytest.mark.parametrize(
    "text, told",
    [
        (table("x", (5, 6, 7), (9, 9, 9), 1).replace("5  ", "5,5"), "line 4, .*has '5,5' for a count"),
        (
            table("x", (5, 6, 7), (9, 9, 9), 1).replace("cycles", "cycles of all five"),
            "line 4, .* is no line of the table",
        ),
        ("3654388\t3175144\t4715919\n", "begins with a row of numbers: put a line above it that names"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(tmp_path, text, told):
    with pytest.raises(RecordError, match=told):
        import_files("app", put(tmp_path, x=text), folder=tmp_path / "in")


@pytest.mark.parametrize("heading", ["", "# started on Sat Nov 21 03:00:46 2026\n\n"])
def test_how_long_a_single_interval_was_is_known_only_where_its_recording_begins(heading):
    """A page that shows one interval of a long recording does not tell when that began."""
    rows = "    61.500123456      9,000,000      cycles\n    61.500123456      4,000,000      instructions\n"
    assert bool(perf.totals(heading + rows)) == (not heading)
    for totals in perf.totals(heading + rows):
        assert np.isnan(totals.seconds).all() and "not tell how long" in totals.remarks[-1]


def test_counts_that_a_text_quotes_again_are_no_run():
    """Nor is a sentence that ends in a colon a program's name."""
    rows = ("9 000 000 cycles", "4 000 000 instructions", "70 000 branches")
    quoted = "The number of cycles of your program:\n{}\nInstructions are:\n{}\n".format(*rows)
    (run,) = perf.totals(perf.extract("\n".join(("I got", *rows, "", quoted))))
    assert run.titles == () and run.seconds == pytest.approx((np.nan,), nan_ok=True)


def test_rows_above_the_first_heading_are_a_program_of_their_own():
    rest = "     7,000      branches\n     30      branch-misses\n\n"
    runs = perf.totals(perf.extract(rest + table("./app", (9, 4, 1), (100, 100, 100), 1.0)))
    assert [run.command for run in runs] == ["", "./app"] and "branches" in runs[0].text


@pytest.mark.parametrize("times", ["", " (4 runs)"])
def test_variation_tells_that_counts_are_means(times):
    heading = f" Performance counter stats for './x'{times}:\n\n" if times else ""
    rows = "   9,000,000      cycles   ( +-  0.10% )  (60.00%) -- fewer\n   70,000      branches   ( +-  0.2% )\n"
    (run,) = perf.totals(perf.extract(f"Before:\n{heading}{rows}"))
    assert run.remarks[-1] == f"Counts are means of {'4' if times else 'several'} runs."
    assert run.table["running"].to_pylist() == [0.6, 1.0]


def test_kinds_of_core_are_programs_of_their_own(tmp_path):
    """A table with decimal commas of five runs, their single times below."""
    files = put(tmp_path, hybrid=golden("elsewhere/hybrid-r5.txt"))
    made = import_files("app", files, folder=tmp_path / "in")
    assert [file.parent.name for file in made] == ["app-cpu_core", "app-cpu_atom"]  # what ran most is first
    url = stored(made)
    run = store.load(url, f"app-cpu_core/{made[0].stem}")
    assert run.counts[["instructions", "cycles"]].to_numpy().tolist() == [[13148396527, 15433140732]]
    assert run.counts["context-switches"].tolist() == [856] and run.interval_s.tolist() == [3.4814]
    assert run.running["cycles"].iloc[0] == pytest.approx(0.9963)
    one = import_files("other", files, place="cpu_atom", folder=tmp_path / "in")
    assert [file.parent.name for file in one] == ["other-cpu_atom"]


PMUS = st.lists(st.sampled_from(["cpu_core", "cpu_atom", "armv8_cortex_a53"]), min_size=1, unique=True)


@given(PMUS, st.sets(st.integers(0, 2)), st.lists(st.integers(0, 10**12), min_size=2, max_size=2))
def test_lines_of_each_kind_of_core_are_read_as_if_they_stood_alone(pmus, silent, counts):
    def lines(pmu, counted):
        values = counts if counted else ["<not counted>"] * 2
        return [f"{n},,{pmu}/{event}/,9,50.00,,\n" for n, event in zip(values, EVENTS, strict=False)]

    both = "7,,context-switches,9,100.00,,\n"
    own = {pmu: "".join(lines(pmu, k not in silent)) + both for k, pmu in enumerate(pmus)}
    text = "".join(
        map("".join, zip(*(lines(pmu, k not in silent) for k, pmu in enumerate(pmus)), strict=True))
    )
    found = perf.by_kind_of_core(text + both)
    counting = [pmu for k, pmu in enumerate(pmus) if k not in silent]
    if len(pmus) == 1 or not counting:
        assert found == {"": text + both}
    elif len(counting) == 1:
        assert found == {"": own[counting[0]]}
    else:
        assert found == {pmu: own[pmu] for pmu in counting}


def test_programs_are_named_by_what_was_run():
    given = [
        "taskset --cpu-list 5 ./a.exe 9",
        "numactl -N 0 dir/b x",
        "b 'y z'",
        "CPU(s) 0-1",
        "",
        "A=5 sh -c 'x",
        "nice -n 5 /bin/dd if=x",
    ]
    named = ["a", "b-x", "b-y_z", "CPU_s", "unnamed", "A_5", "dd"]
    assert list(perf.program_names([(command, ()) for command in given]).values()) == named


def test_counts_in_user_mode_stand_for_all_where_those_of_the_kernel_are_apart():
    names = [f"cpu_core/{event}:{mode}/" for event in ("cpu-cycles", "instructions") for mode in "uk"]
    assert events.translate(names, {}) == {names[0]: "cycles", names[2]: "instructions"}
    assert "cycles:u" not in events.translate(["instructions", "cycles:u", "cycles:k"], {})


@pytest.mark.slow
def test_from_twenty_runs_on_what_varies_over_runs_is_studied(tmp_path, monkeypatch):
    """A program whose misses decide its IPC, and another with a run less."""
    rng = np.random.default_rng(1)
    misses = rng.integers(1, 9, 40) * 10**6
    runs = [
        table("./app", (10**9 + 100 * n, 10**9, n), (100, 100, 50), (10**9 + 100 * n) / 1e9)
        for n in misses.tolist()
    ]
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    (tmp_path / "app.txt").write_text("".join(runs))
    (tmp_path / "few.txt").write_text("".join(runs[:19]))
    for name in ("app", "few"):
        done = CliRunner().invoke(main, ["import", name, str(tmp_path / f"{name}.txt")])
        assert done.exit_code == 0 and "Counts are totals of" in done.output
    url = f"sqlite:///{tmp_path}/s.sqlite"
    listed = store.rebuild(tmp_path / "recordings", url).set_index("program")
    run = store.load(url, listed.at["app", "run_id"])
    assert run.axis == ("run", "per second") and run.counts.index.tolist() == list(
        range(1, len(run.counts) + 1)
    )
    names, target = experiments.choose_target(url, "app")
    data = experiments.recorded_matrix(url, "app", target)
    assert data.X.index.name == "run" and len(data.X) == 40
    assert abs(data.X["branch-misses"].corr(data.ipc)) > 0.99
    with pytest.raises(UnfitRecordingError, match="at most 19 totals .* and a model takes 20: import more"):
        experiments.choose_target(url, "few")
    with pytest.raises(UnfitRecordingError, match="totals of whole runs, and this takes intervals"):
        experiments.programs(url, "app", modes=["ocoe", "mlpx"])
    with pytest.raises(UnfitRecordingError, match="totals of whole runs, and this takes intervals"):
        experiments.cleaned_steps(url, "app", {"instructions", "cycles"})


def test_a_stored_run_whose_totals_are_gone_is_refused():
    with pytest.raises(perf.ParseError, match="no totals of a run"):
        perf.read_run("nothing that was counted\n", {"axis": "runs"})


def test_a_clock_without_a_unit_is_in_nanoseconds():
    rows = [" 9,285,941,030      task-clock:u      #    0.995 CPUs utilized", " 2,151      page-faults:u"]
    (run,) = perf.totals("\n".join([" Performance counter stats for './a':", "", *rows]))
    assert run.table.select(["value", "unit"]).to_pylist() == [
        {"value": 9285.94103, "unit": "msec"},
        {"value": 2151.0, "unit": ""},
    ]


def test_long_commands_tell_programs_apart():
    table = " Performance counter stats for './{} {}':\n\n {} cycles\n\n 1.0 seconds time elapsed\n\n"
    runs = perf.totals(
        "".join(table.format(name, "x" * 400, count) for name, count in {"a": 1, "b": 2}.items())
    )
    assert [(run.command[:3], run.table["value"].to_pylist()) for run in runs] == [("./a", [1]), ("./b", [2])]


def test_words_beside_times_that_rise_make_no_runs_of_intervals():
    rows = "".join(f"{k}.0,{comm},2000000,3000000\n" for k in (1, 2) for comm in ("old", "new"))
    assert perf.totals("time,comm,cycles,instructions\n" + rows) == []
    assert len(perf.totals("build,comm,cycles,instructions\n" + rows)) == 2


def test_as_few_cycles_as_an_operation_takes_are_no_runs():
    (run,) = perf.totals("name,cycles,instructions,cache misses\nf,12,30,40598\ng,10,30,0\n")[:1]
    assert run.table["event"].to_pylist() == ["cycles", "instructions"]
    assert any("one operation" in remark for remark in run.remarks)
    (run,) = perf.totals("name,cycles,instructions\nf,,3000000\n")
    assert run.table["value"].to_pylist()[-1] == 3e6


def test_names_with_blanks_are_those_of_events():
    (run,) = perf.totals("name,cache misses,CPU cycles [Mio]\nf,12000,30\n")
    assert dict(zip(*(run.table[name].to_pylist() for name in ("event", "value")), strict=True)) == {
        "cache-misses": 12000,
        "CPU-cycles": 30e6,
    }


def test_few_runs_of_other_cycles_or_cpus_are_told_apart():
    """As of other builds, or numbers of threads, which only the text around them tells."""
    built = [table("./a", (cycles, 4 * 10**9, 9), (100, 100, 100), 1.0) for cycles in (10**9, 2 * 10**9)]
    assert len(perf.totals("".join(built))) == 2
    clock = " 4,000.00 msec task-clock # {} CPUs utilized\n"
    threads = [built[0].replace("\n\n", "\n\n" + clock, 1).replace("1.0", s) for s in ("1.0", "2.0")]
    assert len(perf.totals("".join(threads))) == 2 and len(perf.totals(threads[0] * 2)) == 1
    waits = [built[0].replace(" 1.0", f" {seconds}") for seconds in ("1.0", "1.3", "2.4")]
    assert [len(run.seconds) for run in perf.totals("".join(waits))] == [2, 1]


def test_a_table_goes_on_behind_what_somebody_says_between_its_rows():
    rows = [
        " 4,000,000 LLC-loads:u # 3.0 M/sec",
        "much",
        " 400 LLC-load-misses:u",
        "~0.1 %",
        " 7 dTLB-loads:u",
    ]
    (run,) = perf.totals(perf.extract("\n".join(["# bt", *rows])))
    assert events_in(run) == ["LLC-loads:u", "LLC-load-misses:u", "dTLB-loads:u"]


def test_rows_that_a_mail_indents_by_tabs_or_points_at_are_read():
    heading = "I see:\n\n\tPerformance counter stats for './a' (4 runs):\n\n"
    rows = "\t\t5,000,000 cycles:u\n\t\t\t 3 faults\t<--- few\n\t\t7,000,000 L1-dcache-loads:u\n"
    (run,) = perf.totals(perf.extract(f"{heading}{rows}\n\t\t 1.5 seconds time elapsed\n"))
    assert run.table["value"].to_pylist() == [5e6, 3, 7e6] and "4 runs" in run.remarks[0]


def test_a_kind_of_core_behind_an_event_is_its_own():
    text = " Performance counter stats for './a':\n\n 5,000 cycles:u [cpu_core]\n 70 faults\n"
    (run,) = perf.totals(perf.extract(text))
    assert events_in(run) == ["cpu_core/cycles/u", "faults"]


def test_places_of_a_quoted_table_are_added_up_and_what_is_repeated_of_them_once():
    cores = [f"> S0-D0-C{k}      2      {k}00,000      cycles [cpu_core]" for k in (1, 2, 3)]
    asked = [
        "",
        "Rather call it, e.g.:",
        "",
        cores[0][2:].replace("cycles [cpu_core]", "cpu_core/cycles/"),
        "",
    ]
    lines = ["> Performance counter stats for 'system wide':", ">", cores[0], *asked, *cores[1:]]
    for text in ("\n".join(lines), "\n".join(lines[:3] + cores[1:])):
        (run,) = perf.totals(perf.extract(f"{text}\n>\n>  2.5 seconds time elapsed\n"))
        assert run.table["value"].to_pylist() == [600_000] and run.seconds == (2.5,)


def events_in(run):
    return run.table["event"].to_pylist()


def test_tables_that_a_mail_quotes_behind_bars_are_read():
    rows = [
        " 7.683 context-switches # 0,017 M/sec",
        " 1.104.727 cycles # 2,3 GHz",
        " 3,5 seconds time elapsed",
    ]
    (run,) = perf.totals(perf.extract("\n".join(["New:", *[f"> | {row}" for row in rows]])))
    assert events_in(run) == ["context-switches", "cycles"] and run.seconds == (3.5,)


def test_another_machines_table_is_not_of_a_kind_of_core():
    head, shares = "# started on Mon", ",9,100.00,,,,TopdownL1\n,,,,,{},%  tma_retiring\n"
    one = f"{head}\n77,,cycles,9,100.00,0.000,GHz\n{shares.format(1.5)}"
    core, atom = (f"{n},,cpu_{kind}/cycles/,9,{n}.00,," for n, kind in ((60, "core"), (50, "atom")))
    two = f"{head}\n{core}\n{atom}\n,9,50.00,,,,TopdownL1 (cpu_atom)\n,9,51.00,,,40.5,%  tma_retiring\n"
    parts = by_kind_of_core(one + two)
    assert {kind: "77," in part for kind, part in parts.items()} == {
        "": True,
        "cpu_core": False,
        "cpu_atom": False,
    }
    assert {kind for kind, part in parts.items() if "40.5" in part} == {"cpu_atom"}
