"""Regions, for real: software events count here, hardware ones where there is a PMU; files of regions."""

import io
import os
import subprocess
import sys

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib import anomaly
from cmlib.compare.instrument import include_dir
from cmlib.io.regions import merge_executions, normalize, read_executions, read_regions, read_runs

PAGES = 200
C_PROGRAM = """
#include "cmlib_region.h"
#include <sys/mman.h>
static void *touch(void *pages) {
    long n = *(long *)pages;
    char *memory = (char *)mmap(0, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < n; i++) memory[i * 4096] = 1;
    munmap(memory, n * 4096);
    return 0;
}
int second_file(void);
int main(void) {
    long one = PAGES, two = 2 * one;
    pthread_t threads[2];
    cmlib_region_start();
    touch(&two);
    CMLIB_REGION_BEGIN("one"); touch(&one); CMLIB_REGION_END("one");
    CMLIB_REGION_BEGIN("outer");
    touch(&one);
    CMLIB_REGION_BEGIN("a<b, \\"c\\">"); touch(&two); CMLIB_REGION_END("a<b, \\"c\\">");
    CMLIB_REGION_END("outer");
    cmlib_region_threads(2);
    cmlib_region_work(500);
    CMLIB_REGION_BEGIN("parallel");
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, touch, &one);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    CMLIB_REGION_END("parallel");
    CMLIB_REGION_END("never begun");
    second_file();
    puts("done");
    return 0;
}
"""
SECOND_FILE = """
#include "cmlib_region.h"
int second_file(void) { CMLIB_REGION_BEGIN("second file"); CMLIB_REGION_END("second file"); return 0; }
"""
PYTHON_PROGRAM = f"""
import mmap
from cmlib.compare.instrument import region
def touch(pages):
    with mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE) as memory:
        for i in range(pages):
            memory[i * 4096] = 1
for factor in (1, 2):
    with region("touch", threads=factor, work=7):
        touch(factor * {PAGES})
try:
    with region("raises"):
        raise KeyError("still written")
except KeyError:
    print("done")
"""


@pytest.fixture(scope="module")
def c_program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("regions")
    for name, source in (("main.c", C_PROGRAM), ("second.c", SECOND_FILE)):
        (folder / name).write_text(source)
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", f"-DPAGES={PAGES}", f"-I{include_dir()}"]
    subprocess.run(["cc", *flags, "-o", "program", "main.c", "second.c"], cwd=folder, check=True)
    return [str(folder / "program")]


@pytest.fixture(params=["c", "python"])
def program(request):
    if request.param == "c":
        return request.getfixturevalue("c_program")
    return [sys.executable, "-c", PYTHON_PROGRAM]


def run(program, **environment):
    bare = {key: value for key, value in os.environ.items() if not key.startswith("CMLIB_")}
    done = subprocess.run(program, env={**bare, **environment}, capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"
    return done.stderr


def test_counting_loads_nothing_that_learns():
    loaded = "cmlib.compare.instrument"
    listing = f"import sys, {loaded}; print(sorted({{'numpy', 'pandas', 'sklearn'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert all(hasattr(anomaly, name) for name in anomaly.__all__) and not hasattr(anomaly, "nonesuch")


@pytest.mark.needs("cc")
def test_without_a_file_nothing_happens(program):
    assert run(program, CMLIB_EVENTS="page_faults=1:2") == ""


@pytest.mark.needs("cc")
def test_uncountable_events_leave_the_program_running_and_say_so_once(program, tmp_path):
    file = tmp_path / "regions.csv"
    # PMU type 4095 exists nowhere; instructions do where there is a PMU.
    complaint = run(program, CMLIB_REGIONS=str(file), CMLIB_EVENTS="nowhere=4095:1")
    assert complaint.count("cmlib") == 1 and "not" in complaint and "counted" in complaint
    frame = read_regions(file)
    assert len(frame) >= 3 and frame["nowhere"].isna().all() and (frame["seconds"] > 0).all()
    with pytest.raises(ValueError, match="nowhere"):
        normalize(frame)


@pytest.mark.needs("cc")
def test_page_faults_are_counted_region_by_region(c_program, tmp_path):
    run(c_program, CMLIB_REGIONS=str(tmp_path / "r.csv"), CMLIB_EVENTS="page_faults=1:2,minor=1:5")
    frame = read_regions(tmp_path / "r.csv").set_index("function")
    assert list(frame.index) == ["one", 'a<b, "c">', "outer", "parallel", "second file"]
    faults = frame["page_faults"]
    npt.assert_allclose(faults[:3], [PAGES, 2 * PAGES, 3 * PAGES], atol=5)
    # Threads are included; each brings a few faults of its own.
    assert 2 * PAGES <= faults["parallel"] <= 2 * PAGES + 40
    assert faults["second file"] <= 2
    assert (frame["running"] == 1).all()
    npt.assert_array_equal(frame["threads"], [1, 1, 1, 2, 2])
    npt.assert_array_equal(frame["work"], [1, 1, 1, 500, 500])
    assert frame["location"].str.fullmatch(r"(main|second)\.c:\d+").all()
    npt.assert_array_equal(frame["minor"], faults)


@pytest.mark.needs("cc")
def test_python_regions_count_as_the_header_does(tmp_path):
    program = [sys.executable, "-c", PYTHON_PROGRAM]
    run(program, CMLIB_REGIONS=str(tmp_path / "r.csv"), CMLIB_EVENTS="page_faults=1:2")
    frame = read_regions(tmp_path / "r.csv")
    assert list(frame["function"]) == ["touch", "touch", "raises"]
    assert 0 <= frame["page_faults"][0] - PAGES < 40 and 0 <= frame["page_faults"][1] - 2 * PAGES < 40
    npt.assert_array_equal(frame["threads"], [1, 2, 1])
    npt.assert_array_equal(frame["work"], [7, 7, 1])
    assert frame["location"].str.fullmatch(r"<string>:\d+").all()


@pytest.mark.needs("cc")
@pytest.mark.parametrize(
    "wrong", ["0x443", "a=abc", "a=", "a=0x443z", "a=1:x", "a=1:", "a=-1", f"a={'9' * 30}"]
)
def test_events_that_cannot_be_read_are_named_once(c_program, tmp_path, wrong):
    bad = {"CMLIB_REGIONS": str(tmp_path / "r.csv"), "CMLIB_EVENTS": f"page_faults=1:2,{wrong}"}
    said = run(c_program, **bad)
    assert said.count("cmlib_region:") == 1 and f"NAME=CONFIG; the rest isn't counted, from ({wrong})" in said
    assert list(read_regions(tmp_path / "r.csv"))[-1] == "page_faults"


@pytest.mark.parametrize(
    ("lacking", "reason"),
    [({"CC": "none"}, "no compiler (none)"), ({"CMLIB_RESULTS": "/dev/null"}, "[Errno")],
)
def test_without_a_compiler_or_a_folder_a_python_program_runs_on(tmp_path, lacking, reason):
    lacking = {"CMLIB_REGIONS": str(tmp_path / "r.csv"), "CMLIB_RESULTS": str(tmp_path), **lacking}
    done = subprocess.run(
        [sys.executable, "-c", PYTHON_PROGRAM], env={**os.environ, **lacking}, capture_output=True, text=True
    )
    assert done.stdout == "done\n" and done.stderr.count(f"nothing is counted: {reason}") == 1


@pytest.mark.needs("c++")
def test_the_header_serves_cpp(tmp_path):
    source = (
        '#include "cmlib_region.h"\nint main() { { cmlib::Region region("scope"); } std::puts("done"); }\n'
    )
    (tmp_path / "scope.cpp").write_text("#include <cstdio>\n" + source)
    flags = ["-Wall", "-Wextra", "-Werror", "-pthread", f"-I{include_dir()}"]
    subprocess.run(["c++", *flags, "-o", "scope", "scope.cpp"], cwd=tmp_path, check=True)
    run([str(tmp_path / "scope")], CMLIB_REGIONS=str(tmp_path / "r.csv"), CMLIB_EVENTS="page_faults=1:2")
    frame = read_regions(tmp_path / "r.csv")
    assert list(frame["function"]) == ["scope"] and list(frame["location"]) == ["scope.cpp:3"]


def regions(counts, *, threads=1, functions="f", running=1.0):
    counts = pd.DataFrame(counts)
    about = {
        "function": functions,
        "location": "x.c:1",
        "thread": 1.0,
        "threads": threads,
        "work": 4.0,
        "seconds": 0.1,
    }
    return pd.concat([pd.DataFrame(about, index=counts.index).assign(running=running), counts], axis=1)


@given(st.integers(1, 1000), st.integers(1, 16))
def test_longer_input_and_more_threads_change_no_rate(factor, threads):
    small = normalize(regions({"instructions": [1e6, 2e6], "misses": [10.0, 40.0]}))
    counts = {"instructions": [1e6 * factor, 2e6 * factor], "misses": [10.0 * factor, 40.0 * factor]}
    large = normalize(regions(counts, threads=threads))
    npt.assert_allclose(large["misses"] * threads, small["misses"], rtol=1e-12)
    npt.assert_allclose(small["misses"], [1e-5, 2e-5], rtol=1e-12)


def test_without_instructions_counts_are_divided_by_the_work():
    rates = normalize(regions({"instructions": [np.nan], "faults": [10.0]}, threads=3), per="work")
    npt.assert_array_equal(rates["faults"], [2.5])


def test_samples_off_the_counters_are_refused():
    with pytest.raises(ValueError, match="running < 1"):
        normalize(regions({"instructions": [1.0], "misses": [1.0]}, running=0.7))


def test_runs_with_other_counters_merge_by_invocation():
    functions = ["f", "g", "f", "f"]
    one = normalize(
        regions({"instructions": np.ones(4), "a": [1.0, 2, 3, 4], "c": [1.0, 1, 1, 1]}, functions=functions)
    )
    other = normalize(
        regions(
            {"instructions": np.full(3, 2.0), "b": [10.0, 20, 30], "c": [6.0, 6, 6]},
            functions=["g", "f", "f"],
        )
    )
    merged = merge_executions([one, other])
    assert list(merged.columns) == ["function", "location", "a", "c", "b"]
    assert list(merged["function"]) == ["f", "g", "f"]
    npt.assert_array_equal(merged[["a", "b"]], [[1, 10], [2, 5], [3, 15]])
    npt.assert_array_equal(merged["c"], [2, 2, 2])
    with pytest.raises(ValueError, match="in common"):
        merge_executions([one, other.assign(function="h")])


def test_a_recording_splits_into_its_runs():
    text = ""
    for run_name in ("good-00", "good-01"):
        for part, event in enumerate(("a", "b")):
            rows = regions({"instructions": [10.0, 10.0], event: [part + 1.0, 5.0]}).to_csv(index=False)
            text += f"# run={run_name} part={part} threads=1\n{rows}"
    runs = read_runs(text)
    assert list(runs) == ["good-00", "good-01"]
    npt.assert_allclose(runs["good-01"][["a", "b"]], [[0.1, 0.2], [0.5, 0.5]])


def test_several_headers_must_agree():
    rows = regions({"instructions": [10.0], "a": [1.0]}).to_csv(index=False)
    assert len(read_regions(io.StringIO(rows + rows))) == 2
    with pytest.raises(ValueError, match="different events"):
        read_regions(io.StringIO(rows + rows.replace(",a\n", ",b\n")))
    with pytest.raises(ValueError, match="missing"):
        read_regions(io.StringIO("function,a\nf,1\n"))


def test_a_word_late_in_a_long_file_is_refused_and_no_warning_of_pandas():
    heading, row = regions({"instructions": [10.0], "a": [1.0]}).to_csv(index=False).split()
    with pytest.raises(ValueError, match="could not convert string to float"):
        read_regions(io.StringIO("\n".join([heading, *[row] * 12_000, row.replace("10.0", "x")])))


@pytest.mark.parametrize(
    ("n_columns", "n_lists", "n_executions"), [(700, 1, 1), (1, 101, 101), (1, 1, 5001), (1, 1, 1)]
)
def test_more_than_a_recording_of_regions_has_is_refused_before_pandas_reads_it(
    n_columns, n_lists, n_executions
):
    heading, row = regions({"instructions": [10.0], "a": [1.0]}).to_csv(index=False).split()
    more = ",a" * n_columns, ",1" * n_columns
    text = "".join(
        f"# run={run} part=0\n{heading}{more[0]}{run % n_lists}\n{row}{more[1]}\n"
        for run in range(n_executions)
    )
    if n_columns == n_executions == 1:
        assert len(read_executions(text)) == len(read_runs(text)) == 1
    else:
        with pytest.raises(ValueError, match=r"names 7\d\d columns|executions that counted"):
            read_runs(text)


def test_a_sample_over_two_lines_is_refused_and_moves_no_other():
    rows = regions({"instructions": [10.0, 10.0], "a": [1.0, 2.0]}).to_csv(index=False)
    with pytest.raises(ValueError, match="3 lines contain 2 samples"):
        read_runs("# run=0 part=0\n" + rows.replace("f,", '"f\n2",', 1))
