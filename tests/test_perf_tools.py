"""What other tools write: intervals and tables of likwid, and lines of PAPI's events."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cmlib.io import perf
from cmlib.io.archive.programs import RecordError
from cmlib.io.imports import import_files
from tests.perf_output import golden

COUNT = st.integers(0, 10**12)


def series_of(text):
    found = perf.totals(text)
    return perf.series(perf.as_intervals(perf.joined(found)) if found else perf.parse_stat(text))


# --- likwid-perfctr -t


@st.composite
def timelines(draw):
    """Lines of two groups in turns, which both count instructions, and what each counted."""
    groups = {1: ["INSTR", "L1D"], 2: ["INSTR", "L2", "L3"]}
    n_threads, mark = draw(st.integers(1, 3)), draw(st.sampled_from([" ", ","]))
    heads = [f"# GID|EventCount|CpuCount|Total runtime [s]|{'|'.join(names)}\n" for names in groups.values()]
    lines, told, end = [], [], 0.0
    for number in range(2 * draw(st.integers(1, 4))):
        end += draw(st.sampled_from([0.25, 0.5, 1.0]))
        names = groups[number % 2 + 1]
        counts = draw(st.lists(COUNT, min_size=len(names) * n_threads, max_size=len(names) * n_threads))
        lines.append(mark.join(map(str, [number % 2 + 1, len(names), n_threads, end, *counts])) + "\n")
        sums = np.reshape(counts, (len(names), n_threads)).sum(axis=1)
        told.append((end, dict(zip(names, sums, strict=True))))
    return "".join(heads) + "the program says hello\n".join(lines), told


@given(timelines())
def test_a_turn_of_all_groups_is_an_interval_extrapolated_by_their_shares(timeline):
    text, told = timeline
    counts, running = perf.series(perf.parse_stat(text))
    begin = 0.0
    for (middle, first), (end, second) in zip(told[::2], told[1::2], strict=True):
        shares = (middle - begin) / (end - begin), (end - middle) / (end - begin)
        assert_allclose(running.loc[end, ["L1D", "L2"]], shares)
        assert_allclose(counts.loc[end, "L1D"], first["L1D"] / shares[0])
        assert_allclose(counts.loc[end, ["L2", "L3"]], [second[event] / shares[1] for event in ("L2", "L3")])
        assert_allclose(counts.loc[end, "INSTR"], first["INSTR"] + second["INSTR"])
        assert running.loc[end, "INSTR"] == 1
        begin = end
    assert len(counts) == len(told) / 2 and "2 groups take turns" in " ".join(perf.remarks(text))


@given(
    st.lists(st.tuples(st.integers(1, 10**9), st.floats(0.2, 9), st.integers(0, 500)), min_size=1, max_size=4)
)
def test_counts_come_out_of_metrics_as_they_went_in(threads):
    """Of one group of a cache, at a nominal 2 GHz."""
    instructions, cpi, requests = map(np.array, zip(*threads, strict=True))
    cycles, seconds, requests = instructions * cpi, 0.5, requests / 1000
    busy = cycles / 2e9
    metrics = [
        np.full(len(threads), seconds),
        busy,
        np.full(len(threads), 2400.0),
        cpi,
        requests,
        requests / 4,
    ]
    cells = [repr(float(value)) for metric in [*metrics, np.full(len(threads), 0.25)] for value in metric]
    names = [
        "Runtime (RDTSC) [s]",
        "Runtime unhalted [s]",
        "Clock [MHz]",
        "CPI",
        "L2 request rate",
        "L2 miss rate",
    ]
    heading = f"# GID|MetricsCount|CpuCount|Total runtime [s]|{'|'.join([*names, 'L2 miss ratio'])}\n"
    text = "CPU clock:\t2.00 GHz\n" + heading
    counts, running = perf.series(perf.parse_stat(f"{text}1 7 {len(threads)} 1.0 {' '.join(cells)}\n"))
    expected = [
        instructions.sum(),
        cycles.sum(),
        (requests * instructions).sum(),
        (requests * instructions).sum() / 4,
    ]
    assert_allclose(counts.iloc[0], np.array(expected) * 2, rtol=1e-9)  # counted for half of the interval
    assert (running == 0.5).all(axis=None) and counts.columns[:2].tolist() == ["instructions", "cycles"]
    assert counts.columns[2:].tolist() == ["l2_request", "l2_miss"]


def test_a_timeline_of_metrics_of_two_groups():
    """Two groups of four threads, one of them idle at first; the last line has no turn of the other group."""
    text = golden("elsewhere/likwid-timeline.txt")
    counts, running = perf.series(perf.parse_stat(text))
    assert counts.index.tolist() == [0.4578, 1.2806]
    assert_allclose(running.loc[1.2806, "l2_request"], 0.0502 / (1.2806 - 0.4578))
    assert_allclose(running.loc[1.2806, "cycles"], (0.0502 + 0.0501) / (1.2806 - 0.4578))
    ipc = counts["instructions"] / counts["cycles"]
    assert ipc[1.2806] == pytest.approx(0.5)
    assert_allclose(
        counts["l2_miss"] / counts["l2_request"], [(0.025 + 0.01 + 0.0375) / 0.225, 0.5], rtol=0.3
    )


# --- likwid's tables


@st.composite
def tables(draw):
    """Counts by region, event and thread, and the tables of them, with lines or as CSV."""
    n_threads, events = draw(st.integers(1, 3)), ["INSTR_RETIRED_ANY", "CAS_COUNT_RD"]
    runs = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["", "copy"]), st.lists(COUNT, min_size=2 * n_threads, max_size=2 * n_threads)
            ),
            min_size=1,
            max_size=4,
        )
    )
    as_csv = draw(st.booleans())
    text = ""
    for number, (region, counts) in enumerate(runs, 1):
        head = f"Region {region}, Group 1: MEM" if region else "Group 1: MEM"
        rows = [["Event", "Counter", *(f"HWThread {k}" for k in range(n_threads))]]
        rows += [[e, f"PMC{k}", *counts[k * n_threads : (k + 1) * n_threads]] for k, e in enumerate(events)]
        metric = ["Runtime (RDTSC) [s]", *[number / 4] * n_threads]
        if as_csv:
            text += f"TABLE,{head.replace(': ', ' Raw,')},2\n" + "".join(
                ",".join(map(str, row)) + "\n" for row in rows
            )
            text += f"TABLE,{head.replace(': ', ' Metric,')},1\n" + ",".join(map(str, metric)) + "\n"
        else:
            line = "+----+----+\n"
            body = ["| " + " | ".join(f"{cell:>9}" for cell in row) + " |\n" for row in rows]
            text += f"{head}\n{line}{body[0]}{line}{''.join(body[1:])}{line}\n"
            text += f"{line}| Metric |\n{line}| {' | '.join(map(str, metric))} |\n{line}\nthe program says, hello\n"
    return text, [
        (region, number / 4, np.reshape(counts, (2, -1))) for number, (region, counts) in enumerate(runs, 1)
    ]


@given(tables())
def test_counts_of_likwids_tables_are_added_up_over_threads(table):
    text, runs = table
    for one in perf.totals(text):
        counts, running = perf.series(perf.as_intervals(one))
        own = [(seconds, cells) for region, seconds, cells in runs if region == one.command]
        assert_allclose(
            counts[["INSTR_RETIRED_ANY", "CAS_COUNT_RD"]], [cells.sum(axis=1) for _, cells in own]
        )
        assert_allclose(one.seconds, [seconds for seconds, _ in own])
        assert (running == 1).all(axis=None)


def test_tables_of_likwid_are_recordings(tmp_path):
    folder = tmp_path / "in"
    files = [tmp_path / name for name in ("likwid-mpi.txt", "likwid-regions.csv")]
    for file in files:
        file.write_text(golden(f"elsewhere/{file.name}"))
    counts, _ = series_of(files[0].read_text())
    assert counts.iloc[0].to_dict() == {
        "INSTR_RETIRED_ANY": 15150079461,
        "CPU_CLK_UNHALTED_CORE": 59820652777,
        "PWR_PKG_ENERGY": 521.7896,
        "CAS_COUNT_RD": 74028742 + 74034137,
        "duration_time": 12.17e9,
    }
    made = import_files("app", files, folder=folder)
    assert [file.parent.name for file in made] == ["app-unnamed", "app-copy", "app-store"]


# --- PAPI


@given(st.lists(st.tuples(COUNT, COUNT), min_size=1, max_size=5), st.sampled_from([" : ", "=", "\t", ": "]))
def test_lines_of_papi_are_runs(runs, mark):
    text = "".join(
        f"Filled 80 Kbytes\nPAPI_L1_LDM{mark}{first}\nModel : 0.04\nPAPI_TOT_INS{mark}{second}\n"
        for first, second in runs
    )
    counts, running = series_of(text)
    assert counts[["PAPI_L1_LDM", "PAPI_TOT_INS"]].to_numpy().tolist() == [list(run) for run in runs]
    assert running.isna().all(axis=None)


def test_papis_lines_amid_a_programs_are_read():
    counts, _ = series_of(golden("elsewhere/papi-lines.txt"))
    assert counts["PAPI_L1_LDM"].tolist() == [159958, 2554855]


@pytest.mark.parametrize(
    "text, told",
    [
        (
            "# GID|EventCount|CpuCount|Total runtime [s]|A|B\n1 2 2 0.5 1 2 3\n",
            "has not the counts of a group",
        ),
        ("# GID|MetricsCount|CpuCount|Total runtime [s]|CPI\n1 1 1 0.5 1\n", "holds metrics without clock"),
        (
            golden("elsewhere/likwid-mpi.txt").replace("7575039731", "75_39731", 1),
            "has '75_39731' for a count",
        ),
        ("ERROR - [./src/access_client.c:210] No such file or directory\n", "holds errors of likwid"),
        ("PAPI_L1_LDM : 7\nPAPI_L1_LDM : -5\n", "line 2, .* has '-5' for a count"),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(tmp_path, text, told):
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(RecordError, match=told):
        import_files("app", [tmp_path / "x.txt"], folder=tmp_path / "in")
