"""Outputs of one command in a text are runs of one program, unless people wrote something between them."""

import pytest

from cmlib.io.perf.blocks import heads
from cmlib.io.sources import read_sources

TABLE = """ Performance counter stats for 'make -j4':

     2,00{k},000,000      instructions
     1,000,000,000      cycles

       1.0{k} seconds time elapsed

"""
INTERVAL = """     1.00{k}000000      2,000,000,00{k}      instructions
     1.00{k}000000      1,000,000,00{k}      cycles
"""
ROWS = TABLE.partition("\n\n")[2]
PROSE = "That is what came out of it, and with the patch it is this.\n\n"
BENCH = """# Running 'mem/memset' benchmark:
# 30 sender and receiver threads per group
# Executed 2,000 pipe operations

     Total time: 1.0{k}0 [sec]

"""
OUTPUT = "all 2,00{k} files were built again in no time\n"


FIELDS = "2000{k}00000,,instructions,100,100.00,,\n1000000000,,cycles,100,100.00,,\n"
COUNT = (
    '{"counter-value" : "%s.0", "unit" : "", "event" : "%s", "event-runtime" : 9, "pcnt-running" : 100.00}\n'
)
OBJECTS = COUNT % ("2000{k}00000", "instructions") + COUNT % ("1000000000", "cycles")
TYPED = "$ perf stat make -j4\n"


def programs_of(tmp_path, pieces):
    file = tmp_path / "mail.txt"
    file.write_text("".join(piece.replace("{k}", str(k)) for k, piece in enumerate(pieces, 1)))
    return read_sources([file], {}, interval_ms=None, columns=None)


def n_runs_of_programs(tmp_path, pieces):
    return [len(source.counts) for source in programs_of(tmp_path, pieces)]


@pytest.mark.parametrize(
    ("pieces", "n_runs"),
    [
        ([TABLE, PROSE + TABLE], [1, 1]),
        (["Before:\n\n" + TABLE, "Output after:\n" + TABLE], [1, 1]),
        (["- old code:\n\n" + TABLE, "- the patch:\n" + TABLE], [1, 1]),
        (["On metal:\n\n" + BENCH + TABLE, "In the VM:\n\n" + BENCH + TABLE], [1, 1]),
        ([BENCH + TABLE, BENCH + TABLE], [2]),
        (["$ perf stat make\n\nold\n" + ROWS, "new-unlikely\n" + ROWS], [1, 1]),
        ([TABLE, TABLE], [2]),
        ([OUTPUT + TABLE, OUTPUT + TABLE], [2]),
        (["$ perf stat make -j4\n" + OUTPUT + TABLE, "$ perf stat make -j4\n" + PROSE + TABLE], [2]),
        ([PROSE + INTERVAL, PROSE + INTERVAL.replace("1.00{k}000000", "0.99{k}000000")], [1, 1]),
        ([f"$ perf stat -I 1000 -e cycles sleep 1\n{INTERVAL}\n{PROSE}"] * 3, [1, 1, 1]),
        ([TYPED + TABLE, "$ git checkout new\n" + TYPED + TABLE], [1, 1]),
        (["$ J={k} perf stat make -j4\n" + TABLE] * 2, [1, 1]),
        (["$ taskset -c {k} perf stat make -j4\n" + TABLE] * 2, [1, 1]),
        (["Grid of {k} nodes\nDone in 0.{k}52 s\n" + TABLE] * 2, [1, 1]),
        ([PROSE + TABLE, ROWS], [1, 1]),
        (["=== run {k} ===\n" + BENCH + TABLE + "done\n"] * 4, [4]),
        (["old build\n\n" + TABLE] * 2 + ["new build\n\n" + TABLE] * 2, [2, 2]),
        (["old:\n" + TABLE, "new:\n" + TABLE] * 2, [2, 2]),
        (["old:\n" + TABLE, "new:\n" + TABLE, PROSE + "old:\n" + TABLE, "new:\n" + TABLE], [1, 1, 1, 1]),
        ([TYPED.replace("stat", "stat -x,") + FIELDS] * 3, [3]),
        (["$ perf stat -x, ./a\n" + FIELDS, "$ perf stat -x, ./b\n" + FIELDS], [1, 1]),
        (["It says this.\n" + OBJECTS, PROSE + OBJECTS], [1, 1]),
    ],
)
def test_prose_between_outputs_tells_programs_apart_and_a_programs_own_output_does_not(
    tmp_path, pieces, n_runs
):
    assert n_runs_of_programs(tmp_path, pieces) == n_runs


@pytest.mark.parametrize(
    ("pieces", "names"),
    [
        (["old:\n" + TYPED + TABLE, "With the fix,\n\n" + TYPED + TABLE], ["old-make", "With_the_fix-make"]),
        (["[me@i7 ~]# " + TYPED[2:] + TABLE, "[me@epyc ~]# " + TYPED[2:] + TABLE], ["i7-make", "epyc-make"]),
        (["In the guest:\n" + TABLE, PROSE + TABLE], ["In_the_guest-make", "table_2-make"]),
        (["before:\n" + TYPED + FIELDS, "after:\n" + TYPED + FIELDS], ["before-make", "after-make"]),
        (["Output with 6.1:\n" + OBJECTS, "Output with 6.2:\n" + OBJECTS], ["Output_with_6.1", "Output_with_6.2"]),
        (["without:\n" + INTERVAL, INTERVAL.replace("1.00", "0.99")], ["without-1", "without-2"]),
        (["f(int a);\n\n" + TABLE, "int g() {{\n\n" + PROSE + TABLE], ["make", "table_2-make"]),
        (["[1] Rome\n" + TYPED + TABLE, "[2] Milan\n" + TYPED + TABLE], ["1_Rome-make", "2_Milan-make"]),
    ],
)  # fmt: skip
def test_programs_are_called_by_the_nearest_title_and_their_command(tmp_path, pieces, names):
    assert [source.mark for source in programs_of(tmp_path, pieces)] == names


def test_what_ends_a_sentence_of_several_lines_is_no_title():
    lines = [
        "With the patch on my machine it makes things",
        "substantially better:",
        "",
        "Somebody wrote:",
        "",
        "And then:",
    ]
    assert heads(lines)[-1].titles == ()
