"""`cmlib summarize`: what it says of a file and of a program, and that it stores nothing."""

import functools
import html
import json
import re
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cmlib import places, processors, topdown
from cmlib.cli import main
from cmlib.experiments.summary import summarize_recordings
from cmlib.io import events, store
from cmlib.io.imports import import_files
from cmlib.topdown import summarize
from tests.perf_output import GOLDEN

GCC = places.recordings_dir() / "gcc" / "mlpx12-p0-00.csv.gz"


def said(*arguments):
    result = CliRunner().invoke(main, ["summarize", *map(str, arguments)])
    return result.exit_code, result.stdout or result.output


def made(n=100, **rates):
    """A run of a hundred seconds at 3 GHz: cycles and what happens in each, always counted."""
    index = pd.Index(np.arange(1.0, n + 1), name="time_s")
    counts = pd.DataFrame({"cycles": 3e9, **{event: rate * 3e9 for event, rate in rates.items()}}, index)
    return counts, counts * 0 + 1.0


@functools.cache
def told(file):
    """What it prints of a file, as JSON."""
    code, text = said(file, "--json")
    assert code == 0
    return text


@pytest.fixture
def answer():
    return json.loads(told(GCC))


def test_a_file_alone_is_summarized(answer):
    assert answer["processor"] == "amd_zen5" and answer["intervals"] == 183
    assert answer["account"]["how"] == "open" and "front end" in answer["account"]["limits"]
    assert answer["levels"]["instructions a cycle"] == pytest.approx(1.684, abs=1e-3)
    level_1 = {row["name"]: row for row in answer["account"]["categories"] if not row["parent"]}
    assert 35 < level_1["front end"]["low"] < 38 and level_1["front end"]["high"] < 85
    named = {row["name"] for row in answer["account"]["categories"]}
    assert all(row["parent"] in {"", *named} for row in answer["account"]["categories"])


def test_what_would_decide_it_is_spelt_for_the_recorded_processor(answer):
    line = answer["account"]["decide"]
    names = re.findall(r"name=([\w.]+)/u\b", line)
    assert len(names) == 2 and set(names) <= set(events.table("amd_zen5").index)
    assert line.startswith("perf stat -I") and "instructions:u,cycles:u" in line
    counts, running = made(instructions=1.0)
    other = summarize("x", [(counts, running)], processor="intel_sapphirerapids")["account"]["decide"]
    assert "'{slots,topdown-fe-bound,topdown-be-bound}'" in other and "name=" not in other
    assert summarize("x", [(counts, running)], processor="arm_cortex_a15")["account"]["decide"] == ""


def test_stalls_that_were_counted_under_perf_s_names_are_not_asked_for_again():
    counted = {"stalled-cycles-frontend": 0.1, "stalled-cycles-backend": 0.3}
    account = summarize("x", [made(instructions=1.0, **counted)], processor="arm_neoverse_n1")["account"]
    assert account["how"] == "likely" and account["limits"] == ["back end"] and account["decide"] == ""


def test_the_share_of_the_time_is_that_of_the_events_that_took_turns():
    counts, running = made(instructions=1.0, branches=0.2, **{"task-clock": 0.1})
    shared = summarize("x", [(counts, running.assign(branches=0.25, instructions=0.5))])
    assert (shared["took_turns"], shared["counted"]) == (2, 0.375)
    untold = summarize("x", [(counts, running * float("nan"))])
    assert untold["took_turns"] is untold["counted"] is None


@functools.cache
def events_of_tables():
    tables = {processor: set(events.table(processor).index) for processor in events.known_tables()}
    return tables, set().union(*tables.values())


@pytest.mark.parametrize("processor", topdown.known_costs())
def test_every_processor_s_events_are_its_own(processor):
    counts, running = made(instructions=0.5)
    account = summarize("x", [(counts, running)], processor=processor)["account"]
    assert account["how"] == "open"
    tables, listed = events_of_tables()
    known = tables.get(processor, set())
    for name in re.findall(r"name=([\w.]+)/", account["decide"]):
        assert name in known or not known and name not in listed - known or processor.startswith("intel")


def test_what_is_tried_first_is_the_part_that_surely_loses_most():
    run = made(instructions=1.0, de_op_queue_empty=0.6)
    account = summarize("x", [run], processor="amd_zen5")["account"]
    (advised,) = account["advice"]
    shares = {row["name"]: row for row in account["categories"]}
    assert advised["category"] == "front-end latency" and shares["front-end latency"]["parent"] == "front end"
    assert advised["at_most"] == shares["front-end latency"]["high"]
    assert "instruction-cache" in advised["text"] and f"{advised['at_most']:.0f} %" in advised["text"]


def test_what_surely_is_lost_has_its_advice_and_what_may_be_nothing_has_none():
    account = summarize("x", [made(**{"instructions": 1.0, "branch-misses": 1e-4})])["account"]
    assert account["limits"] == ["front end", "back end"] and account["advice"] == []
    account = summarize("x", [made(instructions=1.0)])["account"]
    assert len(account["limits"]) == 3 and account["advice"] == []
    (little,) = summarize("x", [made(instructions=6.0, ex_ret_ops=7.0)], processor="amd_zen5")["account"][
        "advice"
    ]
    assert little["category"] == "retired" and little["at_most"] is None


def test_a_bound_that_only_the_retired_set_is_said_once_and_promises_nothing():
    rates = {"instructions": 1.0, "stalled-cycles-backend": 0.8, "stalled-cycles-frontend": 0.01}
    for told in (summarize("x", [made(**rates)]), summarize("x", [made(instructions=1.0)])):
        lost = max(row["high"] for row in told["account"]["categories"] if row["name"] == "back end")
        assert told["account"]["text"].count(f"{lost:.0f} %") == 1
        assert all(f"{lost:.0f} %" not in one["text"] for one in told["account"]["advice"])
    (advised,) = summarize("x", [made(**rates)])["account"]["advice"]
    assert advised["category"] == "back end" and advised["at_most"] is None


def test_without_a_sure_loss_advice_is_on_the_misses_that_cost_most():
    counts, running = made(200, instructions=1.0, **{"LLC-load-misses": 3e-3})
    rng = np.random.default_rng(0)
    counts["LLC-load-misses"] *= rng.uniform(0.4, 1.6, 200)
    counts["instructions"] -= 100 * counts["LLC-load-misses"]
    told = summarize("x", [(counts, running)])
    (advised,), (saved,) = told["account"]["advice"], told["misses"]
    assert told["account"]["how"] == "open" and saved["percent"] >= 5
    assert advised["category"] == "memory" and advised["at_most"] == saved["high"]
    assert f"{saved['percent']:.0f} %" in advised["text"]


def test_advice_on_a_sure_loss_names_what_may_be_larger(answer):
    (advised,) = answer["account"]["advice"]
    assert advised["category"] == "front-end latency"
    assert "bad speculation" in advised["text"] and "back end" in advised["text"]


def test_of_a_likely_limit_and_another_sure_loss_the_limit_is_advised_first():
    rates = {"instructions": 1.5, "stall_frontend": 0.2, "stall_backend": 0.3}
    advised = summarize("x", [made(**rates)], processor="arm")["account"]["advice"]
    assert [one["category"] for one in advised] == ["back end", "front end"]


def test_a_fall_of_the_clock_is_told_in_a_sentence():
    counts, running = made(300, instructions=1.0, **{"task-clock": 1000 / 3e9})
    slow = (counts.index > 100) & (counts.index <= 130)
    counts.loc[slow, ["cycles", "instructions"]] *= 2 / 3
    told = summarize("x", [(counts, running)])["phases_text"]
    assert told.startswith("From 100 to 130 s") and "-33 % (3 to 2)" in told and "governor" in told
    assert summarize("x", [made(300, instructions=1.0)])["phases_text"] == ""


@pytest.mark.parametrize("n_slow", [140, 260])
def test_phases_are_compared_in_the_order_of_time(n_slow):
    counts, running = made(300, instructions=2.5)
    changes_at = 300 - n_slow
    counts.loc[counts.index > changes_at, "instructions"] *= 0.4
    told = summarize("x", [(counts, running)])["phases_text"]
    assert told.startswith(f"From {changes_at} to 300 s, compared with 0 to {changes_at} s: ")
    assert "IPC -60 % (2.5 to 1)" in told


def test_phases_have_an_account_each_and_name_the_events_that_changed_most():
    rates = {"LLC-load-misses": 1e-4, "branch-misses": 1e-3, "stall_backend": 0.1, "stall_frontend": 0.1}
    counts, running = made(300, instructions=1.0, **rates)
    slow = (counts.index > 100) & (counts.index <= 130)
    counts.loc[slow, "instructions"] *= 0.5
    counts.loc[slow, "LLC-load-misses"] *= 14
    counts.loc[slow, "stall_backend"] *= 7
    told = summarize("x", [(counts, running)], processor="arm_neoverse_n1")
    assert [row["event"] for row in told["phases_changed"]] == ["LLC-load-misses", "stall_backend"]
    assert told["phases_changed"][0]["times"] == pytest.approx(14)
    assert "`LLC-load-misses` × 14, `stall_backend` × 7" in told["phases_text"]
    ranges = [tuple(map(int, row["back end [%]"].split("–"))) for row in told["phases"]]
    least, most = ranges[1]
    inside = (counts[slow], running[slow])
    whole = summarize("x", [inside], processor="arm_neoverse_n1")["account"]["categories"]
    alone = next(row for row in whole if row["name"] == "back end")
    assert (least, most) == pytest.approx((alone["low"], alone["high"]), abs=0.6)
    assert least > max(low for k, (low, _) in enumerate(ranges) if k != 1)


def test_without_cycles_nothing_limits_it():
    counts, running = made(instructions=1.0, **{"page-faults": 1e-7})
    told = summarize("x", [(counts.drop(columns="cycles"), running.drop(columns="cycles"))])
    assert told["account"] is None and told["levels"]["faults"] == pytest.approx(300)


def test_off_core_events_that_count_nothing_bound_nothing():
    rates = {"instructions": 0.8, "L1-dcache-load-misses": 0.03}
    failing = rates | {"LLC-loads": 2e-5, "LLC-load-misses": 1e-5}
    whole = rates | {"LLC-loads": 5e-3, "LLC-load-misses": 1e-5}
    told = summarize("x", [made(**failing)], processor="intel_sandybridge")["account"]
    assert told["doubtful"] == ["LLC-loads", "LLC-load-misses"]
    assert "memory and other caches" not in {row["name"] for row in told["categories"]}
    told = summarize("x", [made(**whole)], processor="intel_sandybridge")["account"]
    assert told["doubtful"] == []
    high = {row["name"]: row["high"] for row in told["categories"]}
    assert high["memory and other caches"] < 1 < high["L3 hits"] < 30


def test_misses_that_another_event_of_them_counts_two_hundred_times_bound_nothing():
    rates = {"instructions": 0.8, "cache-misses": 2e-3, "LLC-load-misses": 3e-9}
    told = summarize("x", [made(**rates)])["account"]
    assert told["doubtful"] == ["LLC-load-misses"]
    high = {row["name"]: row["high"] for row in told["categories"]}
    assert "LLC-load-misses" not in {event for row in told["categories"] for event in row["events"]}
    assert high.get("memory and other caches", 100) > 5


def test_what_is_no_recording_is_refused():
    code, text = said("gc")
    assert code == 2 and "See cmlib list" in text
    code, text = said("simulated-bzip2")
    assert code == 2 and "simulated" in text
    code, text = said(GCC, "--processor", "z80")
    assert code == 2 and "amd_zen5" in text


@pytest.mark.slow
def test_a_processor_whose_events_were_not_counted_is_questioned_and_nothing_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_RESULTS", str(tmp_path / "results"))
    monkeypatch.chdir(tmp_path)
    assert "fit the account of amd_zen5: check --processor" in said("gcc", "--processor", "haswell")[1]
    code, text = said(GCC, "--processor", "zen5")
    assert code == 0 and "check --processor" not in text
    assert not list(tmp_path.iterdir())


def test_a_recorded_name_is_taken_before_a_file_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path / "data"))
    (tmp_path / "spr").write_bytes(b"\x7fELF\x02\x01\x01")
    import_files("spr", [GOLDEN / "accounts/spr-metric-only.txt"])
    assert said("spr")[0] == 0 and said("./spr")[0] == 2


def test_a_processor_is_told_by_names_only_where_these_are_its_own():
    assert events.processor_by_names(["cycles", "bus-cycles", "ref-cycles", "LLC-loads"]) == "intel"
    assert events.processor_by_names(["cpu-cycles", "L1-dcache-stores", "RETIRED_UOPS"]) is None
    assert events.processor_by_names(["ex_ret_brn_misp", "de_op_queue_empty", "ls_stlf"]) == "amd_zen5"
    assert (
        events.find_microarchitecture({"vendor": "GenuineIntel", "family": 6, "model": 63}) == "intel_haswell"
    )
    assert events.find_microarchitecture({"vendor": "ARM", "family": 7, "model": 0xC0F}) == "arm_cortex_a15"
    assert events.find_microarchitecture({}) is None


def test_totals_take_their_seconds_and_many_programs_one_after_the_other(tmp_path):
    sandmark = (GOLDEN / "elsewhere/sandmark-navajo.txt").read_text()
    (tmp_path / "one.txt").write_text(sandmark[: sandmark.rindex("# started on")])
    code, text = said(tmp_path / "one.txt")
    assert code == 0 and "5.86 s" in text and "IPC 2.33" in text
    code, text = said(GOLDEN / "elsewhere/sandmark-navajo.txt")
    assert code == 0 and text.count("5.86 s") == 1 and len(re.findall(r" IPC \d", text)) == 2
    code, text = said(GOLDEN / "elsewhere/sandmark-navajo.txt", "--json")
    first, other = json.loads(text)
    assert first["runs"] == other["runs"] == 1 and first["name"] != other["name"]


def test_totals_of_runs_have_medians_and_no_phases_and_no_seconds_that_nobody_measured():
    """Runs of which the later ones are slower: in a file with times they would be phases."""
    seconds = np.repeat([1.0, 21.0, 41.0], [20, 1, 20])
    counts = pd.DataFrame({"cycles": 3e9 * seconds, "instructions": 1e9, "task-clock": 1e3 * seconds})
    running = counts * 0 + 1.0
    untimed = [(counts.set_axis(seconds.cumsum()), running.set_axis(seconds.cumsum()))]
    timed = [tuple(frame.assign(duration_time=1.0) for frame in untimed[0])]
    told = summarize("x", timed, whole_runs=True)
    assert told["runs"] == 41 and told["phases"] == [] and told["levels"]["seconds"] == 21
    assert told["levels"]["CPUs"] == pytest.approx(1) and told["levels"]["instructions"] == 1e9
    bare = summarize("x", untimed, whole_runs=True)
    assert set(bare["levels"]) == {"CPU seconds", "instructions", "cycles", "instructions a cycle", "GHz"}
    assert summarize("x", timed)["phases"]


def test_each_kind_of_core_has_its_account():
    code, text = said(GOLDEN / "elsewhere/hybrid-r5.txt", "--json")
    assert code == 0
    big, little = json.loads(text)  # what ran most is first
    assert [little["core"], big["core"]] == ["cpu_atom", "cpu_core"]
    assert big["levels"]["instructions a cycle"] == pytest.approx(13.148396527 / 15.433140732)
    assert big["account"]["how"] == "open" and "not known" in big["remarks"][1]
    assert little["account"] is None and little["counted"] < 0.05


@pytest.mark.parametrize(
    "file",
    [GCC, *(GOLDEN / "elsewhere" / name for name in ("hybrid-r5.txt", "google-benchmark.json"))],
    ids=lambda file: file.name,
)
def test_a_file_tells_what_its_programs_tell_once_they_are_imported(file, tmp_path, monkeypatch):
    alone = json.loads(told(file))
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    made = import_files("app", [file])
    programs = dict.fromkeys(meta.parent.name for meta in made)
    imported = [json.loads(said(name, "--json")[1]) for name in programs]
    for one, other in zip([alone] if isinstance(alone, dict) else alone, imported, strict=True):
        assert one.pop("name").removeprefix(file.name).strip() == other.pop("name").removeprefix("app")[1:]
        assert one == other


_ALDER_LAKE = """
     8,000,000,000      cpu_core/cycles/
     4,000,000,000      cpu_atom/cycles/
     6,000,000,000      cpu_core/instructions/
     2,000,000,000      cpu_atom/instructions/
"""
_PLAIN = """
     8,000,000,000      cycles
     6,000,000,000      instructions
"""
_GRAVITON = _PLAIN + "     2,500,000,000      stall_frontend\n     3,000,000,000      stall_backend\n"


_TOTALS = f" Performance counter stats for './x':\n{_PLAIN}\n       1.0 seconds time elapsed\n\n"


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ((GOLDEN / "accounts/spr-metric-only.txt").read_text(encoding="utf-8"), "back end"),
        (2 * _TOTALS, None),
    ],
    ids=["shares that the tool printed", "totals of two runs"],
)
def test_a_finished_report_of_a_file_says_what_summarize_says_of_it(text, limit, tmp_path, monkeypatch):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    monkeypatch.setenv("CMLIB_RESULTS", str(tmp_path / "results"))
    file = tmp_path / "perf.txt"
    file.write_text(text)
    import_files("app", [file])
    code = "from cmlib.cli import main; main()"
    line = [sys.executable, "-c", code, "run", "live", "00_first_look", "-p", "program=app"]
    subprocess.run(line, check=True, capture_output=True, timeout=300)
    results = tmp_path / "results/live/app"
    page = json.loads((results / "answers.json").read_text(encoding="utf-8"))["programs"]["app"]
    alone = json.loads(said(file, "--json")[1])
    assert alone["limited_by"] == limit and {key: page[key] for key in alone} == alone | {"name": "app"}
    headline = html.escape(alone["first"]["headline"].split("**")[-1]).replace(" %", "&nbsp;%")
    assert headline in (results / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "called", "names", "deciding"),
    [
        (_ALDER_LAKE, "i7-1260P", ["intel_gracemont", "intel_goldencove"], "cpu_core/topdown-fe-bound/"),
        (_PLAIN, "zen2", ["amd_zen2"], "name=de_dis_uop_queue_empty_di0/"),
        (_GRAVITON, "graviton3", ["arm_neoverse_v1"], "stall_slot_backend"),
    ],
    ids=["Alder Lake", "Zen 2", "Graviton 3"],
)
def test_a_processor_that_is_told_is_kept_and_recordings_have_the_same_summary(
    text, called, names, deciding, tmp_path, monkeypatch
):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    file = tmp_path / "perf.txt"
    file.write_text(_TOTALS.replace(_PLAIN, text))
    expected = json.loads(said(file, "--processor", called, "--json")[1])
    expected = expected if isinstance(expected, list) else [expected]
    assert sorted(one["processor"] for one in expected) == sorted(names)
    assert any(deciding in one["account"]["decide"] for one in expected)
    for name, options in (("kept", ["--processor", called]), ("asked", [])):
        assert CliRunner().invoke(main, ["import", name, str(file), *options]).exit_code == 0
    url = store.refresh(tmp_path / "recordings", f"sqlite:///{tmp_path}/store.sqlite")
    for name, told in (("kept", ""), ("asked", processors.find(called))):
        for one in expected:
            program = f"{name}-{one['core']}".rstrip("-")
            runs = [store.load(url, run) for run in store.runs(url, program=program)["run_id"]]
            answer = json.loads(json.dumps(summarize_recordings(one["name"], runs, processor=told)))
            assert answer == one


def test_each_kind_of_core_is_counted_by_its_own_pmu():
    counts, running = made(instructions=1.0)
    for processor, pmu in (("intel_skymont", "cpu_atom"), ("intel_lioncove", "cpu_core")):
        line = summarize("x", [(counts, running)], processor=processor)["account"]["decide"]
        assert f"{pmu}/instructions/,{pmu}/cycles/" in line and " cpu/" not in line and "'cpu/" not in line


@pytest.mark.parametrize("command", [["import", "app"], ["run", "live"], ["summarize"]])
def test_an_unknown_processor_is_refused_with_near_names(command):
    files = [] if command[0] == "run" else [str(GCC)]
    result = CliRunner().invoke(main, [*command, *files, "--processor", "hasswel"])
    assert result.exit_code == 2 and "Did you mean" in result.output and "haswell" in result.output


def test_a_file_that_is_no_recording_is_named_and_called_what_it_is(tmp_path):
    (tmp_path / "perf.data").write_bytes(b"PERFILE2")
    code, text = said(tmp_path / "perf.data")
    assert (
        code == 2 and f"{tmp_path / 'perf.data'} cannot be read: the file is perf's own binary format" in text
    )


def test_levels_are_of_the_intervals_in_which_their_events_were_counted():
    counts, _ = made(instructions=2.0)
    counts.loc[50:, "instructions"] = np.nan
    told = topdown.levels(counts)
    assert told["instructions a cycle"] == 2 and told["instructions a second"] == 6e9


@pytest.mark.parametrize("missing", [[1], [0, 2], [1, 3], [0, 1, 2, 3]])
def test_a_short_run_in_which_every_other_count_is_missing_has_bounds(missing):
    counts, _ = made(n=4, instructions=2.0)
    counts.iloc[missing, 0] = np.nan
    told = summarize("short", [(counts, counts * np.nan)])
    rows = told["account"]["categories"] if told["account"] else []
    assert all(0 <= row["low"] <= row["high"] <= 100 for row in rows)
    assert bool(rows) == (len(missing) < 4)


def test_zeros_of_events_without_a_turn_are_left_out_and_named():
    names = ["cycles", "instructions", "branches", "branch-misses", "cache-misses"]
    counts = pd.DataFrame(np.full((40, 5), 1e6), np.arange(1.0, 41), names)
    for row in range(30):  # programs that were over before the last of the list had their turn
        counts.iloc[row, 2 + row % 3 :] = 0.0
    told = summarize("many", [(counts, 0 * counts + np.nan)])
    (said, *_) = told["remarks"]
    assert said.endswith("left out: branch-misses, branches, cache-misses.")
    known = summarize("many", [(counts, 0 * counts + 0.5)])
    assert not any("no turn" in remark for remark in known["remarks"])


def test_a_terminal_shows_what_takes_long_and_a_file_too_large_is_refused(tmp_path, monkeypatch, capsys):
    slow = threading.Event()
    command = sys.modules["cmlib.cli.summarize"]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(command, "_DELAY_S", 0.0)
    with command._progress("summarizing x"):
        slow.wait(0.2)
    assert "summarizing x: 00:0" in capsys.readouterr().err
    large = tmp_path / "large.csv"
    large.write_text(
        "elapsed_s,cycles," + ",".join(f"r{k:03x}" for k in range(479)) + "\n" + ("1," * 480 + "1\n") * 4200
    )
    code, text = said(large)
    assert code == 2 and "2,000,000" in text, text
