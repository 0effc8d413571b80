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
OUTPUT = "all {k} files were built again in no time\n"


def n_runs_of_programs(tmp_path, pieces):
    file = tmp_path / "mail.txt"
    file.write_text("".join(piece.replace("{k}", str(k)) for k, piece in enumerate(pieces, 1)))
    sources = read_sources([file], {}, interval_ms=None, columns=None)
    return [len(source.counts) for source in sources]


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
    ],
)
def test_prose_between_outputs_tells_programs_apart_and_a_programs_own_output_does_not(
    tmp_path, pieces, n_runs
):
    assert n_runs_of_programs(tmp_path, pieces) == n_runs


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
