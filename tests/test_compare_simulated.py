"""`cmlib compare --simulate`: what is told of counts, of functions, and by the command."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import assume, given
from hypothesis import strategies as st

from cmlib.cli import main
from cmlib.compare.report import write_text
from cmlib.compare.simulated import compare_simulated
from cmlib.compare.simulated_counts import blame, compare_counts, compare_estimates, withhold_verdict
from cmlib.errors import CmlibError
from cmlib.io import events
from tests.simulated_runs import CACHES, SOURCE, build

ROOT = Path(__file__).parents[1]
needs_valgrind = pytest.mark.needs("cc", "valgrind")
EVENTS = list(events.simulated_events().index)
KIND = events.simulated_events()["kind"]
TYPICAL = pd.Series([1e7, 2e6, 1e6, 1e3, 1e5, 1e4, 900, 5e3, 2e3, 1e6, 1e4, 1e3, 100], EVENTS, dtype=float)


def runs(counts, n=2):
    return pd.DataFrame([counts] * n)


def told(old, new):
    return compare_counts(old, new, events.simulated_events()).set_index("event")["verdict"]


@pytest.mark.slow
@given(st.sampled_from(EVENTS), st.floats(-0.2, 0.2))
def test_a_change_is_told_by_its_kind_and_its_cost(event, change):
    """The rules, spelled out, for runs that repeat."""
    new = TYPICAL.copy()
    new[event] *= 1 + change
    verdict = told(runs(TYPICAL), runs(new))
    smallest = 0.005 if KIND[event] == "exact" else 0.02
    charged = {"sim.l1": 10, "sim.ll": 100}.get(event[:6], 10)
    estimate = 1e7 + 10 * (1e3 + 1e5 + 1e4) + 100 * (900 + 5e3 + 2e3) + 10 * (1e4 + 100)
    relevant = abs(new[event] - TYPICAL[event]) >= smallest * TYPICAL[event] and change != 0
    if KIND[event] == "modelled":
        relevant = relevant and charged * abs(new[event] - TYPICAL[event]) >= 0.001 * estimate
    expected = ("more" if change > 0 else "fewer") if relevant else "no change"
    assert verdict[event] == expected
    assert (verdict.drop(event) == "no change").all()


@given(st.floats(-0.05, 0.05), st.floats(-0.5, 2.0), st.floats(0, 0.02))
def test_the_verdict_is_that_of_instructions_or_of_the_estimate(work, misses, apart):
    """The rules, spelled out; runs of the old version are `apart` in their misses."""
    table = events.simulated_events()
    new, old = TYPICAL.copy(), runs(TYPICAL)
    new["sim.instructions"] *= 1 + work
    new["sim.ll_load_misses"] *= 1 + misses
    old.loc[1, "sim.ll_load_misses"] *= 1 + apart
    new = runs(new)
    verdict, ratio, by_misses, threshold = compare_estimates(
        compare_counts(old, new, table), old, new, table["weight"]
    )
    cycles = [events.cycle_estimate(frame) for frame in (old, new)]
    noise = 5 * (cycles[0].max() / cycles[0].min() - 1)
    assert ratio == pytest.approx(cycles[1].mean() / cycles[0].mean()) and threshold == pytest.approx(
        max(0.05, noise)
    )
    added = 100 * (new["sim.ll_load_misses"].mean() - old["sim.ll_load_misses"].mean()) / cycles[0].mean()
    assert by_misses == pytest.approx(added)
    assume(
        all(abs(gap) > 1e-9 for gap in (abs(work) - 0.005, ratio - 1 - threshold, added - max(0.02, noise)))
    )
    if work >= 0.005 or ratio - 1 >= threshold:
        assert verdict == "slower"
    elif added >= max(0.02, noise):
        assert verdict == "may be slower"
    else:
        assert verdict == ("faster" if work <= -0.005 else "same")


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_runs_that_differ_among_themselves_raise_no_alarm(steps):
    """Runs of one version that are up to 3 % apart, in any order and division."""
    counts = pd.DataFrame([TYPICAL * (1 + 0.01 * step) for step in steps])
    apart = max(abs(steps[0] - steps[1]), abs(steps[2] - steps[3]))
    verdict = told(counts.iloc[:2], counts.iloc[2:])
    if apart:
        assert (verdict == "no change").all()


def test_what_was_never_counted_before_has_no_ratio():
    old = runs(TYPICAL.where(TYPICAL.index != "sim.ll_load_misses", 0.0))
    found = compare_counts(old, runs(TYPICAL), events.simulated_events()).set_index("event")
    assert found.at["sim.ll_load_misses", "verdict"] == "more" and np.isinf(
        found.at["sim.ll_load_misses", "ratio"]
    )


def test_functions_are_named_by_their_share_of_the_change():
    old = pd.DataFrame({"sim.loads": [100.0, 50.0, 10.0], "file": "a.c"}, ["f", "g", "gone"])
    new = pd.DataFrame({"sim.loads": [160.0, 52.0, 40.0], "file": "b.c"}, ["f", "g", "fresh"])
    found = blame(old, new, "sim.loads")
    assert found["function"].tolist() == ["f", "fresh"] and found["location"].tolist() == ["b.c", "b.c"]
    np.testing.assert_allclose(found["share"], [60 / 92, 40 / 92])
    np.testing.assert_allclose(found["times_usual"], [1.6, np.inf])


@pytest.mark.parametrize(
    ("verdict", "instructions", "repetitions", "n_threads", "expected"),
    [
        ("same", "no change", (1000, 1000), 1, ("same", [])),
        ("same", "no change", (1000, 1004), 1, ("same", [])),  # less than 0.5 % of the instructions
        ("same", "no change", (1000, 3000), 1, ("inconclusive", ["string instructions"])),
        ("faster", "fewer", (1000, 3000), 1, ("inconclusive", ["string instructions"])),
        ("slower", "more", (3000, 1000), 1, ("inconclusive", ["string instructions"])),
        ("slower", "more", (1000, 3000), 1, ("slower", ["string instructions"])),
        # only by the misses of the string instructions themselves
        ("slower", "no change", (1000, 3000), 1, ("inconclusive", ["string instructions"])),
        ("faster", "fewer", (3000, 1000), 1, ("faster", ["string instructions"])),
        ("same", "no change", (0, 0), 2, ("inconclusive", ["threads"])),
        ("slower", "more", (0, 0), 2, ("slower", ["threads"])),
    ],
)
def test_a_verdict_that_the_counts_cannot_support_is_withheld(
    verdict, instructions, repetitions, n_threads, expected
):
    assert withhold_verdict(verdict, repetitions, 1000, n_threads, instructions=instructions) == expected


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Commands of the planted program, and of one that does 5 % more in `fill`."""
    folder = tmp_path_factory.mktemp("versions")
    source = SOURCE.read_text(encoding="utf-8").replace("fill(n); return", "fill(n + n / 20); return")
    paths = build(folder / "old"), build(folder / "new", source=source)
    return tuple(f"{path} 100000" for path in paths)


def quiet(text):
    pass


@needs_valgrind
def test_planted_instructions_are_found_and_their_function_named(versions):
    said = []
    found = compare_simulated(*versions, caches=CACHES, notify=said.append)
    assert (found["verdict"], found["anomaly"], found["source"], found["settled"]) == (
        "slower", True, "valgrind", True,
    )  # fmt: skip
    first = found["counters"]["causes"][0]
    assert (first["counter"], first["function"], first["kind"]) == ("sim.instructions", "fill", "exact")
    assert first["share"] == pytest.approx(1, abs=0.01) and first["times_usual"] == pytest.approx(
        1.05, abs=1e-3
    )
    # Each store of `fill` misses the simulated 32 KiB: modelled, and told apart as that.
    missed = next(row for row in found["counts"] if row["event"] == "sim.l1d_store_misses")
    assert (missed["verdict"], missed["kind"]) == ("more", "modelled")
    assert len(said) == 2 and "4 simulations" in said[0] and "the other 3 take about" in said[1]
    assert found["simulator"]["caches"]["LL"] == "262144 B, 64 B, 8-way associative"


@needs_valgrind
def test_what_an_interpreter_executes_for_an_empty_script_is_left_out(tmp_path):
    commands = []
    for times in (4000, 4400):
        script = tmp_path / f"{times}.pl"
        script.write_text(f"my $sum = 0; for (my $i = 0; $i < {times}; $i++) {{ $sum += $i; }}\n")
        commands.append(f"perl {script}")
    said = []
    found = compare_simulated(*commands, caches=CACHES, n_runs=1, notify=said.append)
    assert "4 simulations, 2 of an empty script" in said[0]
    assert found["interpreter"] == {"old": "perl", "new": "perl"} and not found["names_script"]
    assert found["startup_share"]["old"] > found["startup_share"]["new"] > 0.2
    assert found["counts"][0]["ratio"] == pytest.approx(1.1, abs=0.01)


@needs_valgrind
def test_the_command_tells_the_same_and_ends_with_1_for_an_anomaly(versions):
    done = CliRunner().invoke(main, ["compare", "--simulate", *versions])
    assert done.exit_code == 1
    assert done.stdout.startswith("ANOMALY, slower: SIMULATED by Callgrind")
    assert "fill (" in done.stdout and "(modelled)" in done.stdout


@needs_valgrind
def test_a_program_is_no_anomaly_of_itself_and_json_says_what_hardware_says(versions):
    done = CliRunner().invoke(
        main, ["compare", "--simulate", "--json", "--any-change", versions[0], versions[0]]
    )
    found = json.loads(done.stdout)
    assert done.exit_code == 0 and found["verdict"] == "same" and found["counters"]["causes"] == []
    of_hardware = {
        "schema",
        "verdict",
        "anomaly",
        "refused",
        "settled",
        "p_value",
        "rules",
        "old",
        "new",
        "times",
    }
    assert of_hardware | {"source", "counters", "changed_functions"} <= found.keys()
    documented = set(re.findall(r"`([\w.]+)`", (ROOT / "docs/compare-method.md").read_text(encoding="utf-8")))
    keys = {*found, *found["counts"][0], *found["old"], *found["simulator"]}
    assert keys | {"rules.smallest_modelled_change", "rules.smallest_estimated_change"} <= documented
    assert found["source"] == "valgrind" and {row["ratio"] for row in found["counts"]} == {1.0}


@needs_valgrind
@pytest.mark.parametrize(("reached", "verdict", "code"), [(3_000, "may be slower", 0), (60_000, "slower", 1)])
def test_worse_locality_at_equal_instructions_is_named(tmp_path, reached, verdict, code):
    walk = "for (long i = 0; i < 120000; i++) sum += table[i * 8 & -(i < reached) & 0x3ffff];"
    source = f"""#include <stdlib.h>
volatile long table[1 << 18], sum;
__attribute__((noinline)) void walk(long reached) {{ {walk} }}
int main(int count, char **words) {{ walk(atol(words[1])); return 0; }}"""
    program = build(tmp_path, name="far", source=source)
    versions = f"{program} 2000", f"{program} {reached}"
    done = CliRunner().invoke(main, ["compare", "--simulate", "--json", *versions])
    found = json.loads(done.stdout)
    assert (found["verdict"], found["anomaly"], done.exit_code) == (verdict, code == 1, code)
    assert found["counts"][0]["ratio"] == pytest.approx(1, abs=1e-4) and found["cycles_by_misses"] >= 0.02
    assert {cause["function"] for cause in found["counters"]["causes"]} == {"walk"}
    strict = CliRunner().invoke(main, ["compare", "--simulate", "--any-change", *versions])
    assert strict.exit_code == 1 and strict.stdout.lower().split(":")[0].endswith(verdict)


@needs_valgrind
def test_a_program_whose_runs_differ_is_told(tmp_path):
    work = "for (long i = 0; i < 100000 + 5000 * (argv[1][0] - '0'); i++) sink += i;"
    source = f"volatile long sink; int main(int argc, char **argv) {{ {work} return 0; }}"
    command = f"{build(tmp_path, name='vary', source=source)} {{run}}"
    done = CliRunner().invoke(main, ["compare", "--simulate", command, command])
    assert done.exit_code == 0 and "runs of one version differ by" in done.stdout


@pytest.mark.parametrize("option", [["--events", "cycles"], ["--keep", "folder"], ["--alpha", "0.1"]])
def test_what_only_perf_can_do_is_refused(option):
    done = CliRunner().invoke(main, ["compare", "--simulate", *option, "true", "true"])
    assert done.exit_code == 2 and f"{option[0]} is not valid with --simulate" in done.stderr


@needs_valgrind
def test_what_can_not_be_compared_is_refused(versions):
    with pytest.raises(CmlibError, match="is a recording. --simulate compares two commands"):
        compare_simulated("old.json", "true", notify=quiet)
    slow = versions[0].replace("100000", "100000000")
    with pytest.raises(CmlibError, match="took longer than 0.3 s"):
        compare_simulated("true", slow, timeout=0.3, notify=quiet)
    done = CliRunner().invoke(main, ["compare", "--simulate", "--json", "true", "false"])
    refused = json.loads(done.stdout)
    assert done.exit_code == 2 and refused["verdict"] == "refused" and "exit code 1" in refused["refused"][0]


@needs_valgrind
@pytest.mark.slow
def test_a_loop_that_becomes_memcpy_is_no_slower_and_the_verdict_is_libcs(tmp_path):
    """glibc copies by `rep movsb` under Valgrind, where it may; Callgrind counts its repetitions."""
    source = (
        "#include <string.h>\nchar a[1 << 18], b[1 << 18];\nint main(int n) { a[9] = n; COPY; return *b; }"
    )
    loop, call = (
        "for (long i = 0; i < sizeof a / 8; i++) ((volatile long *)b)[i] = ((long *)a)[i]",
        "memcpy(b, a, sizeof a)",
    )
    paths = [
        build(tmp_path / name, source=source.replace("COPY", f"for (int k = 0; k < 4; k++) {{ {copy}; b[k] = k; }}"))
        for name, copy in (("old", loop), ("new", call))
    ]  # fmt: skip
    found = compare_simulated(*paths, n_runs=1, notify=quiet)
    assert found["verdict"] == "faster" and found["depends_on_libc"]
    assert found["libc_share"]["new"] > 0.3 > 0.1 > found["libc_share"]["old"]


TWO_THREADS = """#include <pthread.h>
struct {{ volatile long one; char between[{bytes}]; volatile long two; }} __attribute__((aligned(128))) counters;
static void *count(void *counter) {{
    for (int i = 0; i < 20000; i++) ++*(volatile long *)counter;
    return 0;
}}
int main(void) {{
    pthread_t threads[2];
    pthread_create(threads, 0, count, (void *)&counters.one);
    pthread_create(threads + 1, 0, count, (void *)&counters.two);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}}"""


@needs_valgrind
def test_false_sharing_is_not_called_the_same(tmp_path):
    apart, shared = (build(tmp_path, name=f"apart{n}", source=TWO_THREADS.format(bytes=n)) for n in (120, 8))
    done = CliRunner().invoke(
        main, ["compare", "--simulate", "--runs", "1", "--strict", "--json", apart, shared]
    )
    found = json.loads(done.stdout)
    assert (found["verdict"], done.exit_code) == ("inconclusive", 3)
    assert min(found["threads"].values()) > 1 and "threads" in found["limited_by"]  # 3, or 2 at a time
    shown = CliRunner().invoke(main, ["compare", "--simulate", "--runs", "1", apart, shared])
    assert "contention" in shown.stdout


COPIES = """static char from[1 << 12], to[1 << 12];
int main(void) {
    for (int k = 0; k < 100; k++) {
        from[k] = k;
        COPY
    }
    return to[3] == 3 ? 0 : 1;
}"""
BY_VECTORS = """for (long i = 0; i < sizeof to; i += 16)
    __asm__ volatile("movups (%0), %%xmm0; movups %%xmm0, (%1)" :: "r"(from + i), "r"(to + i) : "memory", "xmm0");"""
BY_STRING = """{ char *s = from, *d = to; long n = sizeof to;
    __asm__ volatile("rep movsb" : "+S"(s), "+D"(d), "+c"(n) :: "memory"); }"""


@needs_valgrind
def test_repetitions_of_a_string_instruction_decide_nothing(tmp_path):
    vectors, string = (
        build(tmp_path, name=name, source=COPIES.replace("COPY", copy))
        for name, copy in (("vectors", BY_VECTORS), ("string", BY_STRING))
    )
    for versions in ((vectors, string), (string, vectors)):
        found = compare_simulated(*versions, caches=CACHES, n_runs=1, notify=quiet)
        assert found["verdict"] == "inconclusive" and "string instructions" in found["limited_by"]
    counts = {row["event"]: row["old"] - row["new"] for row in found["counts"]}
    repetitions = found["string_repetitions"]
    assert repetitions["old"] - repetitions["new"] == 100 << 12
    # 25,600 loads and stores of the vectors against 100 of the string instruction.
    assert counts["sim.loads"] == pytest.approx(-25_500, rel=0.01)
    assert counts["sim.stores"] == pytest.approx(-25_500, rel=0.01)
    assert counts["sim.conditional_branches"] == pytest.approx(-25_600, rel=0.01)


@needs_valgrind
def test_a_python_script_repeats_and_its_functions_have_names_or_a_reason_is_given(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    script = tmp_path / "script.py"
    script.write_text("def busy(n):\n    return len({str(k) for k in range(n)})\n\n\nbusy(4000)\n")
    command = f"{sys.executable} -S {script}"
    found = compare_simulated(command, command, caches=CACHES, notify=quiet)
    assert found["verdict"] == "same" and found["settled"]
    assert "python" in found["interpreter"]["old"]
    assert found["names_script"] == (sys.version_info >= (3, 12))
    shown = write_text(found)
    assert "py::" in shown if found["names_script"] else "not those of the script" in shown
