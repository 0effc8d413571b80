"""Lines of a page that count something beside what was read are told, in one remark."""

from pathlib import Path

import pytest

from cmlib.io.sources import read_sources

PERF = """
 Performance counter stats for './a':

     1,700,000,000      instructions
     1,000,000,000      cycles

       0.50 seconds time elapsed
"""
TOPLEV = """# One
BE             Backend_Bound                % Slots    61.30
BE/Mem         Backend_Bound.Memory_Bound   % Slots    50.10

# Two
"""
LIKWID = """
# ThunderX2
| Runtime (RDTSC) [s] | 1.25 |
| CPI | 0.80 |

# ThunderX2, again
| Runtime (RDTSC) [s] | 1.35 |
| CPI | 0.90 |

# A64FX
| CPI STAT | 96.48 | 2.01 | 4.02 | 3.27 |
"""


def told(tmp_path, text):
    (file := tmp_path / "page.md").write_text(text)
    return {source.mark: source.remark for source in read_sources([file], {}, interval_ms=None, columns=None)}


@pytest.mark.parametrize(
    ("text", "n_lines", "first"),
    [
        (f"| Name | Value |\n|---|---|\n| cycles | 2,345,678 |\n| faults | 987 |\n{PERF}", 2, "2,345,678"),
        (f"# Page\n{PERF}\nrun     cycles     branches\n1     987,654,321     123,456\n", 1, "987,654,321"),
        (f"# Page\n{PERF}\n| cycles / node | 8,765.4 |\n| Back-End Bound: | 61.5 % |\n", 2, "8,765.4"),
        (f"{TOPLEV}FE/Lat         Frontend_Bound.Fetch_Latency   % Slots   88.88\n", 1, "88.88"),
        (LIKWID, 1, "96.48"),
    ],
)
def test_how_many_lines_were_not_read_is_told_and_the_first(tmp_path, text, n_lines, first):
    for remark in told(tmp_path, text).values():
        _, said = remark.split("Lines that ")
        assert f"not read: {n_lines};" in said and first in said


@pytest.mark.parametrize(
    "beside",
    [
        "| cycles | instructions |\n|---|---|\n| 1.0 G | 1,700,000,000 |\n",
        "| IPC | 1.70 |\n| time | 512 ms |\n",
        "void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE);\n",
        "| main.c | 12345 |\n  3.71   add        r9d,ecx\n",
        "It takes 1,234,567 cycles less.\n",
    ],
)
def test_what_was_read_or_counts_nothing_is_not_told(tmp_path, beside):
    assert not any("not read" in remark for remark in told(tmp_path, f"# Page\n{beside}\n{PERF}").values())


MISSES = "L1 Data Cache Misses | 1,234 | 1,734"


@pytest.mark.parametrize(
    "rows",
    [
        f"Metric | a | b\n{MISSES}\ncycles | 4,000 | 9,500 (host)\ntask-clock | 1.50 ms | 4.00 ms",
        f"Metric | a | b | +/-\n{MISSES} | +41 %\nTotal Cycles | 4,000 | 9,500 | +138 %\nIPC | 2 | 3 |",
    ],
)
def test_cells_with_a_unit_or_a_remark_behind_the_number_are_counts(tmp_path, rows):
    (file := tmp_path / "page.md").write_text("# A\n" + "".join(f"| {row} |\n" for row in rows.split("\n")))
    sources = read_sources([file], {}, interval_ms=None, columns=None)
    assert [source.counts["cycles"].iloc[0] for source in sources] == [4000, 9500]


def test_routes_are_programs_and_a_heading_per_request_is_of_one_operation(tmp_path):
    table = "| Metric (per request) | poll | ring |\n|---|---|---|\n| cycles | {}1,000 | {}2,000 |\n"
    table += "| i-cache misses | {}11.5 | {}12.5 |\n| instructions | {}1,500 | {}1,800 |\n"
    root, echo = (f"## Route {name}\n{table.format(*[n] * 6)}" for name, n in (("root", 1), ("echo", 2)))
    (file := tmp_path / "page.md").write_text(f"{root}\n{echo}")
    sources = read_sources([file], {}, interval_ms=None, columns=None)
    assert [source.counts["cycles"].tolist() for source in sources] == [[11000], [12000], [21000], [22000]]
    assert all("one operation" in source.remark and source.counts.shape[1] == 3 for source in sources)
    assert ["root" in source.mark for source in sources] == [True, True, False, False]


def test_an_event_of_a_kind_of_core_needs_no_closing_slash(tmp_path):
    rows = PERF.replace("instructions", "armv8_cortex_a55/instructions   #  1.70  insn per cycle")
    rows = rows.replace(
        "      cycles", "      armv8_cortex_a55/cycles/\n     2,000,000,000      armv8_cortex_a76/cycles/"
    )
    (file := tmp_path / "page.md").write_text(f"# Page\n{rows}")
    little, big = read_sources([file], {}, interval_ms=None, columns=None)
    assert little.counts["instructions"].tolist() == [1.7e9] and "instructions" not in big.counts


def test_an_amount_of_a_unit_is_told_with_it_and_means_have_decimals(tmp_path):
    rows = "              5.25 Joules power/energy-pkg/\n              7.25      cycles        ( +- 0.5 )\n"
    (remark,) = told(tmp_path, PERF.replace("     1,000,000,000      cycles\n", rows)).values()
    assert "power/energy-pkg/ is in Joules" in remark and "means of several runs" in remark


def test_what_toplev_says_of_taking_turns_is_the_running_share(tmp_path):
    text = TOPLEV.replace("# Two", "MUX                              %      6.50\n\n# Two") + TOPLEV[
        6:
    ].replace("61", "41")
    (file := tmp_path / "page.md").write_text(text)
    first, _ = read_sources([file], {}, interval_ms=None, columns=None)
    assert first.running["backend_bound"].tolist() == [0.065]


def test_stalled_cycles_that_perf_printed_are_told_where_no_cycles_are(tmp_path):
    file = Path(__file__).parent / "golden" / "transcribed" / "stalled-no-cycles.txt"
    (remark,) = told(tmp_path, file.read_text()).values()
    assert "1.64 % backend cycles idle, 0.25 stalled cycles" in remark
