"""Files in the forms that people have, written by hand, against the shares that they were written of."""

import functools
import re
from pathlib import Path

import pandas as pd
import pytest

from cmlib.cli.summarize import read_programs, summarize
from cmlib.experiments.summary import summarize_runs
from cmlib.io import perf
from cmlib.io.archive import read_content
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import read_run_metadata
from cmlib.io.imports import import_files
from cmlib.io.named_processors import named_processors
from cmlib.io.perf.core_kinds import by_kind_of_core

FOLDER = Path(__file__).parent / "golden" / "transcribed"
TRUTH = pd.read_csv(FOLDER / "truth.csv", keep_default_na=False)
SHARES = ["front end", "back end", "bad speculation", "retired"]
ROUNDED, WIDEST = 2.5, 20.0  # points
HOLDING = sorted(set(TRUTH.loc[TRUTH["answer"] != "refused", "file"]))
# `make test` reads every sixth, `make test-all` all of them.
ANSWERS = [pytest.param(name, marks=[pytest.mark.full] * (n % 6 > 0)) for n, name in enumerate(HOLDING)]
ANSWERED = ("counted", "decided", "likely")


@functools.cache
def summaries(name):
    return [
        summarize_runs(program, metas, runs, machines=[{}])
        for program, metas, runs in read_programs(str(FOLDER / name), {})
    ]


def is_of(answer, program):
    return not program or program == answer["core"] or program in answer["name"]


@pytest.mark.parametrize("name", sorted(set(TRUTH.loc[TRUTH["answer"] == "refused", "file"])))
def test_other_tools_lists_are_refused_in_words(name):
    with pytest.raises(RecordError, match=name):
        summaries(name)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_file_that_holds_its_account_is_answered_by_it(name):
    answers = summaries(name)
    for truth in TRUTH[TRUTH["file"] == name].to_dict("records"):
        (answer,) = [answer for answer in answers if is_of(answer, truth["program"])]
        if truth["IPC"]:
            assert answer["levels"]["instructions a cycle"] == pytest.approx(float(truth["IPC"]), rel=0.03)
        account = answer["account"]
        if not account or not truth["front end"]:
            continue
        shares = {row["name"]: (row["low"], row["high"]) for row in account["categories"]}
        shares = {share: shares[share] for share in SHARES}
        for share, (low, high) in shares.items():
            assert low - ROUNDED <= float(truth[share]) <= high + ROUNDED, share
        if truth["answer"] == "counted":
            assert max(high - low for low, high in shares.values()) < WIDEST
        if truth["answer"] in ANSWERED:
            lost = max(SHARES[:3], key=lambda share: float(truth[share]))
            assert account["how"] in ANSWERED and lost in account["limits"]


@pytest.mark.parametrize(
    ("name", "processor"),
    [
        ("n2-errata.csv", "arm_neoverse_n2"),
        ("v1-A.txt", "arm_neoverse_v1"),
        ("v2-x-semicolon.csv", "arm_neoverse_v2"),
    ],
)
def test_arms_slots_are_the_account_of_a_processor_that_is_told(name, processor):
    """Also by the erratum's counts, and where the events are fewer than its own formulas take."""
    ((program, metas, runs),) = read_programs(str(FOLDER / name), {})
    account = summarize_runs(program, metas, runs, processor=processor)["account"]
    shares = {row["name"]: (row["low"] + row["high"]) / 2 for row in account["categories"]}
    (truth,) = TRUTH[TRUTH["file"] == name].to_dict("records")
    assert account["how"] == "counted"
    assert [shares[name] for name in SHARES] == pytest.approx(
        [float(truth[name]) for name in SHARES], abs=ROUNDED
    )


@pytest.mark.parametrize(
    ("name", "processor"),
    [
        ("likwid-tma-8360Y.txt", "intel_icelake"),
        ("papi-hl.json", "intel_skylake"),
        ("graviton2-default.txt", "arm"),
        ("neoverse-prose.md", "arm_neoverse_v2"),
        ("likwid-westmere.md", "intel_westmere"),
        ("vtune-cpu.txt", "intel_sapphirerapids"),
    ],
)
def test_a_processor_is_told_by_the_file(name, processor):
    """By a line that names it, or by what only Arm's cores count."""
    assert summaries(name)[0]["processor"] == processor


def test_a_program_is_of_the_processor_that_is_named_below_its_title():
    answers = {
        answer["name"].partition(" ")[2]: answer["processor"] for answer in summaries("cpuinfo-each.md")
    }
    assert answers == {
        "Old_box-sum": "intel_haswell",
        "New_box-sum": "intel_skylake",
        "Elsewhere-sum": None,
    }


def test_a_processor_amid_the_text_is_of_no_run_where_prompts_name_several_hosts():
    text = "me@{}:~ $ perf stat make\nme@box:~ $ perf stat make\n\nThe one is a Neoverse-N1.\n"
    assert named_processors(text.format("box")).only == "arm_neoverse_n1"
    assert named_processors(text.format("pi")).only is None


def test_a_kind_of_core_that_counted_nothing_is_left_out():
    rows = [
        "1,000,000 cpu_core/cycles/",
        "<not counted> cpu_atom/cycles/",
        "TopdownL1 (cpu_atom)  #  nan %  tma_retiring",
    ]
    table = "\n".join([" Performance counter stats for 'make':", "", *rows, "", " 1.0 seconds time elapsed"])
    assert [*by_kind_of_core(table)] == [""]


def test_it_is_said_where_kinds_of_core_have_no_names():
    assert all("which is which" in " ".join(answer["remarks"]) for answer in summaries("rpl-metric-only.txt"))


def test_arms_stalls_tell_as_much_where_the_core_is_known():
    """What limits it is not less sure of Neoverse N1 than of any Arm core."""
    ((program, metas, runs),) = read_programs(str(FOLDER / "graviton2-default.txt"), {})
    accounts = [
        summarize_runs(program, metas, runs, processor=name)["account"] for name in ("arm", "arm_neoverse_n1")
    ]
    assert [(account["how"], account["limits"]) for account in accounts] == [("likely", ["front end"])] * 2


@pytest.mark.parametrize(
    "name",
    ["zen2-github-issue.md", "epyc7763-per-socket.txt", "epyc9654-no-aggr.txt", "graviton2-r5-append.csv"],
)
def test_an_ipc_printed_for_a_place_or_another_machine_contradicts_nothing(name):
    assert not any("printed" in remark for answer in summaries(name) for remark in answer["remarks"])


def test_what_was_not_supported_is_no_event_that_was_hardly_counted():
    (answer,) = summaries("cascadelake-ddd.typescript")
    assert answer["events"] == 18 and not any("5 %" in remark for remark in answer["remarks"])
    assert any("L1-icache-loads" in remark for remark in answer["remarks"])


def test_how_long_runs_took_are_no_times_of_intervals():
    answers = [*summaries("xz-scaling-pandas.csv"), *summaries("hybrid-runs.csv")]
    assert [(answer["runs"], round(answer["levels"]["seconds"], 2)) for answer in answers] == [
        (3, 12.89),  # by number of threads
        (3, 6.8),
        (3, 3.77),
        (3, 2.24),
        (3, 4.5),
        (3, 4.9),
        (3, 6.44),
        (3, 4.9),
    ]


@pytest.mark.parametrize(
    ("name", "n_programs"),
    [
        ("toplev-two-notes.md", 2),
        ("toplev-and-table.md", 2),
        ("topdown-cores.txt", 2),
        ("topdown-and-counts.md", 2),
        ("vtune-three.md", 3),
        ("emon-sockets.md", 2),
        ("pcm-sockets.csv", 2),
        ("adl-remark-between.eml.txt", 2),
        ("spr-old-new-perf.txt", 2),
        ("modes.md", 4),
        ("quoted-cores.eml.txt", 3),
    ],
)
def test_blocks_of_shares_are_kept_apart_and_come_once(name, n_programs, tmp_path):
    """Also in what is imported of them."""
    assert len(summaries(name)) == n_programs
    files = import_files("x", [FOLDER / name], folder=tmp_path)
    assert len({file.parent for file in files}) == n_programs
    for file in files:
        meta = read_run_metadata(file)
        counts, _ = perf.read_run(read_content(file, meta["sha256"]).decode(), meta)
        assert not counts.empty


def test_shares_of_a_place_are_imported_alone_and_others_are_not_averaged_in(tmp_path):
    (file,) = import_files("x", [FOLDER / "topdown-cores.txt"], place="S0-C1", folder=tmp_path)
    assert read_run_metadata(file)["printed"]["bad speculation"] == pytest.approx(0.355)
    with pytest.raises(RecordError):
        import_files("x", [FOLDER / "topdown-cores.txt"], place="S0-C9", folder=tmp_path)


def test_rows_without_a_kind_of_core_are_of_the_one_that_was_counted_for_as_long():
    core, atom = summaries("adl-remark-between.eml.txt")
    assert [answer["account"]["limits"] for answer in (core, atom)] == [["back end"], ["front end"]]
    kinds = perf.by_kind_of_core((FOLDER / "lnl-three-kinds.txt").read_text())
    assert {kind: [*re.findall(r"\S+(?= +L1-dcache-load)", part)] for kind, part in kinds.items()} == {
        "cpu_atom": ["100,000,000"],
        "cpu_core": ["700,000,000", "9,000,000"],
    }
    kinds = perf.by_kind_of_core(perf.extract((FOLDER / "kinds-plain-row.eml.txt").read_text()))
    assert "(0.00%)" not in kinds["armv8_cortex_a53"]


def test_shares_without_a_name_are_not_those_of_the_row_above():
    rows = "5,,cpu_core/cycles/,9,98.00,,\n7,,cpu_atom/cycles/,1,2.00,,\n,,,,,,30.0,%  tma_retiring\n"
    assert not any("tma" in part for part in perf.by_kind_of_core(rows).values())
    assert "shares of the slots" in perf.without_kind(rows)[0]


def test_rows_whose_kind_of_core_nothing_tells_are_named_and_left_out(tmp_path):
    text = re.sub(r"\([0-9.]+%\)", "", (FOLDER / "lnl-three-kinds.txt").read_text())
    (tmp_path / "x.txt").write_text(text)
    for _, (meta,), _ in read_programs(str(tmp_path / "x.txt"), {}):
        assert "shares of the slots, L1-dcache-loads:u, L1-dcache-load-misses:u." in meta["note"]
        assert "printed" not in meta or meta["printed"].keys() <= {"instructions a cycle", "CPUs"}


def test_it_is_said_where_a_table_was_cut_off():
    (core,) = summaries("likwid-metrics-cut.md")
    assert "14.25 s" in " ".join(core["remarks"])


def test_it_is_said_where_shares_are_of_the_kernel_alone():
    assert all("kernel" in " ".join(answer["remarks"]) for answer in summaries("topdown-kernel.txt"))


def test_a_file_of_thousands_of_tables_is_refused_in_words(tmp_path):
    row = "FE  Frontend_Bound  % Slots  {}\nBE  Backend_Bound  % Slots  40.0\n"
    (tmp_path / "many.txt").write_text("".join(row.format(k) for k in range(1001)))
    with pytest.raises(RecordError, match="1,000 programs"):
        import_files("x", [tmp_path / "many.txt"], folder=tmp_path)


def test_the_share_behind_an_events_last_metric_is_its_own():
    """An event whose metrics take several lines has its running share in the last of them."""
    (alt, _) = read_programs(str(FOLDER / "perf-3.2-de.md"), {})
    assert alt[2][0][1]["instructions"].tolist() == [pytest.approx(0.751)]


def test_tables_of_one_command_below_titles_are_programs():
    answers = summaries("titles-mail.txt")
    assert [answer["levels"]["instructions a cycle"] for answer in answers] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("nanobench.md", [4e-7, 2e-7]),
        ("go-bench.txt", [123456e-9, 223456e-9]),
        ("poop.txt", [1.2, 1.4]),
        ("poop-markdown.md", [2.5e-3, 20e-3]),
        ("likwid-metrics-cut.md", [12.5]),
        ("vtune-levels.log", [3.25]),
        ("time-l.md", [2.5, 1.25]),
        ("simpleperf-time.txt", [2.001417]),
        ("poop-and-perf.md", [2.5e-3, 7.5e-4]),
        ("labels-2009.txt", [0.25]),
    ],
)
def test_how_long_it_took_is_told_as_the_tool_prints_it(name, seconds):
    assert [answer["levels"]["seconds"] for answer in summaries(name)] == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("name", "n_programs"),
    [
        ("per-lookup.md", 3),
        ("two-versions.md", 4),
        ("stages.md", 2),
        ("two-machines.md", 2),
        ("jmh-versions.txt", 2),
        ("titled-tables.md", 4),
    ],
)
def test_rows_and_columns_that_words_tell_apart_are_programs(name, n_programs):
    answers = summaries(name)
    assert len(answers) == n_programs and {answer["runs"] for answer in answers} == {1}


@pytest.mark.parametrize("name", ["per-lookup.md", "two-versions.md", "jmh-table.md"])
def test_counts_with_decimals_are_of_an_operation(name):
    """They are no totals of a run, and whole numbers beside them are of something else."""
    for answer in summaries(name):
        assert "one operation" in " ".join(answer["remarks"])
        assert "seconds" not in answer["levels"] and answer["events"] <= 3
        assert answer["levels"].get("GHz", 4.0) == pytest.approx(4.0, rel=0.01)  # as it is printed, if at all


def test_events_of_a_table_go_by_the_names_that_people_give_them():
    (answer,) = summaries("peoples-names.md")
    assert answer["miss_ratios"] == {"cache references": pytest.approx(4.0), "branches": 0.2}
    told = " ".join(answer["remarks"])
    assert "LLC misses is taken for cache-misses" in told and answer["events"] == 5


@pytest.mark.parametrize(
    ("name", "levels", "misses"),
    [
        ("levels-in-rows.md", {"seconds": 8.0, "instructions": 40e9, "GHz": 3.0}, {"branches": 0.9}),
        ("levels-in-columns.md", {"seconds": 0.8125}, {}),
        ("levels-alone.md", {"seconds": 3.75, "GHz": 3.2}, {"LLC loads": 32.5}),
        ("jmh-cpi.md", {"seconds": 1.2505e-3}, {}),
        ("region-times.txt", {"seconds": 1.25}, {}),
        ("threads-times.md", {"seconds": 6.5}, {}),
    ],
)
def test_levels_of_tables_are_those_of_their_program(name, levels, misses):
    """Also without counts; the second program of each."""
    answer = summaries(name)[1]
    assert {level: answer["levels"].get(level) for level in levels} == pytest.approx(levels, rel=1e-3)
    assert answer["miss_ratios"] == misses


def test_a_count_beside_levels_is_told():
    assert summaries("levels-in-columns.md")[0]["counts"] == {"L1-dcache-load-misses": 512345678.0}


def test_levels_alone_are_no_intervals():
    text = perf.extract((FOLDER / "levels-alone.md").read_text(encoding="utf-8"))
    assert perf.parse_stat(text.replace("wall [s]", "remark"), interval_ms=100).empty


def test_of_one_category_that_was_printed_the_others_are_open():
    (answer,) = summaries("vtune-one-bullet.md")
    categories = {row["name"]: (row["low"], row["high"]) for row in answer["account"]["categories"]}
    assert answer["levels"] == {"seconds": 41.7} and categories["back end"] == (
        0.0,
        pytest.approx(33.8, abs=0.1),
    )
    assert "memory" not in categories


def test_of_a_piece_of_perfs_json_whole_objects_are_read():
    (answer,) = summaries("cut-j.json")
    assert answer["levels"]["cycles"] == 2e9 and answer["counted"] == 0.75
    assert not answer["account"]["printed"]


def test_running_shares_in_a_column_are_told():
    (answer,) = summaries("power-shares.md")
    assert answer["counted"] == pytest.approx(0.464, abs=1e-3)
    assert any("PM_CMPLU_STALL 60 %" in remark for remark in answer["remarks"])


def test_shares_alone_tell_for_how_long_they_were_counted():
    (trimmed,) = summaries("zen4-metrics-trimmed.md")
    assert trimmed["counted"] == pytest.approx(0.25)


def test_parts_that_do_not_add_up_are_told_and_no_contradiction():
    (answer,) = summaries("kunpeng-resources.md")
    assert answer["account"]["contradiction"] == 0
    assert "memory" not in {row["name"] for row in answer["account"]["categories"]}
    assert any("add up to 95.0 %" in remark for remark in answer["remarks"])


def test_what_an_efficient_core_calls_resources_is_no_memory_and_what_toplev_ran_again_is_told():
    core, atom = summaries("toplev-rerun.md")
    assert "memory" in {row["name"] for row in core["account"]["categories"]}
    assert not {"memory", "core"} & {row["name"] for row in atom["account"]["categories"]}
    assert [advised["category"] for advised in atom["account"]["advice"]] == ["back end"]
    for answer, told, untold in ((core, "DRAM_Bound 71.2 %", "Register"), (atom, "Register 62.3 %", "DRAM")):
        assert told in " ".join(answer["remarks"]) and untold not in " ".join(answer["remarks"])


def test_what_was_printed_and_does_not_add_up_is_told():
    (odd,) = [answer for answer in summaries("vtune-three-tabs.md") if answer["name"].endswith("odd")]
    assert odd["account"]["printed_adds_up_to"] == pytest.approx(110)
    assert odd["account"]["disputed"]["back end"] == pytest.approx(45)


def test_a_summary_of_what_two_tools_printed_is_no_account_and_one_category_of_toplev_s_is():
    answers = summaries("two-tools-and-summary.md")
    sure = [
        {
            row["name"]: row["low"]
            for row in answer["account"]["categories"]
            if not row["parent"] and row["low"]
        }
        for answer in answers
    ]
    assert [len(shares) for shares in sure] == [4, 4, 1]
    assert [shares["front end"] for shares in sure] == pytest.approx(
        [25.0, 20.5, 19.5], abs=0.1
    )  # the second in whole percent


def test_what_two_threads_of_a_core_counted_is_of_the_core_s_slots():
    (answer,) = summaries("vtune-tree-and-events.md")
    assert answer["account"]["printed"] and not answer["account"]["disputed"]
    assert answer["account"]["contradiction"] == 0


def test_means_over_intervals_tell_from_where_to_where():
    (answer,) = summaries("topdown-I.md")
    assert "8.0 to 34.0 % front end, 50.0 to 70.0 % back end" in " ".join(answer["remarks"])


def test_user_mode_alone_is_said_and_tells_no_clock():
    (answer,) = summaries("user-only.txt")
    assert not {"GHz", "switches"} & answer["levels"].keys()
    assert sum("user mode" in remark for remark in answer["remarks"]) == 1


def test_stalled_cycles_are_told_also_where_they_decide_nothing():
    answers = summaries("zen2-github-issue.md")
    assert any("stalled-cycles-frontend" in remark for answer in answers for remark in answer["remarks"])


def test_simpleperfs_counts_are_of_one_time():
    app, *_ = summaries("simpleperf-app-cores.md")
    assert app["levels"]["GHz"] == pytest.approx(1.2) and app["took_turns"] == 2


def test_what_is_a_mean_of_several_runs_is_not_called_one_run(capsys):
    summarize.main([str(FOLDER / "zen4-r5-smt.txt")], standalone_mode=False)
    page = capsys.readouterr().out
    assert "means of 5 runs" in page and "1 run" not in page
