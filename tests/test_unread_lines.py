"""Lines of a page that count something beside what was read are told, in one remark."""

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
        (f"{TOPLEV}RET            Retiring   % Slots   88.88\n", 1, "88.88"),
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
