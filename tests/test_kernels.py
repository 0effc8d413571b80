"""The fifteen programs: both forms compute the same, and recording them is all or nothing."""

import gzip
import json
import re
import subprocess
from dataclasses import replace

import pandas as pd
import pytest
from click.testing import CliRunner

from cmlib.cli import main
from cmlib.collect import machine
from cmlib.collect.machine.event_names import countable
from cmlib.compare import usual_events as counters
from cmlib.compare.usual_events import list_events, list_usual_events
from cmlib.errors import CmlibError
from cmlib.experiments.kernels.programs import kernels
from cmlib.io.events import counters_with_role
from cmlib.io.regions import load_recording, read_regions
from cmlib_workloads import campaign
from cmlib_workloads.kernels import argv_of, build, execute, executions, numa_nodes
from cmlib_workloads.kernels import executions as overhead

pytestmark = pytest.mark.needs("c++")
# Each kernel with what its own source needs; one of them is compiled in `make test`.
KERNELS = [
    pytest.param(
        program,
        id=program.name,
        marks={"parallel_scalar_sum": (), "spinlock_pool": pytest.mark.needs("boost")}.get(
            program.name, pytest.mark.full
        ),
    )
    for program in kernels()
]

SMALL = {"parallel_matrix_mult": 1e-2, "parallel_matrix_comp": 1e-2}
EVENTS = countable("a=0x1,b=0x2,c=0x3")


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Tests that run beside this one would disturb every execution."""
    monkeypatch.setattr(executions, "taken_by_others", lambda *times: 0.0)


@pytest.fixture(scope="module")
def binaries(tmp_path_factory):
    """Where programs are; each is compiled when it is asked for, so that what one lacks concerns no other."""
    return tmp_path_factory.mktemp("kernels")


def small(program, binaries, form, **more):
    build(binaries, [program.name])
    settings = {"threads": 2, "repeats": 2, "scale": SMALL.get(program.name, 1e-3), **more}
    if program.size * settings["scale"] ** (1 / program.exponent) < 64:
        settings["scale"] = (64 / program.size) ** program.exponent
    return argv_of(program, binaries, form, **settings)


@pytest.mark.parametrize("program", KERNELS)
def test_forms_threads_and_sharing_give_one_result(program, binaries):
    for sharing in (0, 0.3, 1):
        results = {
            execute(small(program, binaries, form, threads=threads, sharing=sharing))[0]
            for form in ("good", "bad")
            for threads in (1, 2, 3)
        }
        assert len(results) == 1
    larger = small(program, binaries, "good", repeats=3)
    assert execute(larger)[0] not in results


@pytest.mark.parametrize("program", KERNELS)
def test_each_invocation_is_a_sample(program, binaries, tmp_path):
    execute(
        small(program, binaries, "bad", repeats=5, threads=3),
        regions=tmp_path / "r.csv",
        events=[("faults", "1:2")],
    )
    samples = read_regions(tmp_path / "r.csv")
    assert len(samples) == 5 and samples["function"].nunique() == 1
    assert (samples["threads"] == 3).all() and samples["faults"].notna().all()
    assert samples["location"].str.startswith(program.name).all()


def test_the_table_is_the_papers():
    rows = kernels()
    assert [p.stands_for for p in rows][-6:] == [
        "histogram", "linear_regression", "reverse_index", "Boost", "Memcached", "MySQL",
    ]  # fmt: skip
    assert len(rows) == 15 and {p.type for p in rows} == {"fs", "ts", "np"}
    assert sum(p.runs[0] for p in rows) == 440
    assert sum(p.runs[1] + p.runs[2] for p in rows) == 8 * 40 + 4 * 16 + 3 * 20


def test_numa_programs_say_when_there_is_one_node(binaries):
    program = next(p for p in kernels() if p.nodes == 2)
    done = subprocess.run(small(program, binaries, "bad"), capture_output=True, text=True, check=True)
    assert ("one NUMA node" in done.stderr) == (numa_nodes() == 1)


def test_wrong_arguments_and_missing_compilers_are_explained(binaries, tmp_path, monkeypatch):
    build(binaries, ["histogram"])
    with pytest.raises(CmlibError, match="usage"):
        execute([str(binaries / "histogram"), "ugly", "2", "1000", "1", "1"])
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(CmlibError, match=r"no compiler \(no-such-compiler\).*CXX"):
        build(tmp_path)


@pytest.mark.needs("boost")
def test_boost_locks_are_boosts_own(binaries):
    build(binaries, ["spinlock_pool"])
    symbols = subprocess.run(
        ["nm", "-C", binaries / "spinlock_pool"], capture_output=True, text=True, check=True
    )
    assert "boost::detail::spinlock_pool<0>::pool_" in symbols.stdout


def test_every_list_of_events_can_be_counted_and_has_a_clock(monkeypatch):
    for table in ("amd_zen5", "generic"):
        listed = list_events(table)
        assert all(event.hardware for event in listed)
        assert counters_with_role("cycles", [event.name for event in listed])
    near = next(event for event in list_events("amd_zen5") if event.name.endswith("sys.near_cache"))
    assert near.config == "0x443" and near.name in counters_with_role("contention", ["ex_ret_ops", near.name])
    known = {"vendor": "AuthenticAMD", "family": 26, "model": 2}
    monkeypatch.setattr(counters, "core_pmus", lambda: ["cpu"])
    assert list_usual_events(known) == list_events("amd_zen5")
    arm = {"vendor": "ARM", "family": 8, "model": 0xD0C}
    monkeypatch.setattr(counters.machine, "supported", list)
    assert list_usual_events(arm) == list_events("generic")
    monkeypatch.setattr(
        counters.machine,
        "supported",
        lambda encodings: [event for event, told in encodings.items() if "branch" not in told],
    )
    assert [event.name for event in list_usual_events(arm)] == ["cycles", "cache-references", "cache-misses"]
    monkeypatch.setattr(counters, "core_pmus", list)
    monkeypatch.setattr(counters.machine, "tracepoint_id", lambda name: None)
    told = list_usual_events(known)
    assert told[0].name == "task-clock" and not any(event.hardware or ":" in event.name for event in told)


def test_plan_covers_every_event_in_every_run():
    todo = executions.plan(kernels(), EVENTS, good_counters=3)
    assert {item.program.name for item in todo} == {p.name for p in kernels() if p.nodes == 1}
    for item in todo:
        assert sum(item.parts, ()) == (("a", "0x1"), ("b", "0x2"), ("c", "0x3"))
        assert max(map(len, item.parts)) == 2 and item.per == "instructions"
        assert len({name for name, _, _ in item.runs}) == len(item.runs)
        assert {threads for _, threads, _ in item.runs} == {2, 3, 4}
    assert sum(len(item.runs) for item in todo if item.form == "good") == 440 - 20 + 8 * 20 + 5 * 10
    assert len([item for item in todo if item.form.startswith("diluted")]) == 18
    assert [(item.form, len(item.runs)) for item in todo[-13:]] == [("again", 20)] * 13
    assert "blackscholes" in {
        item.program.name for item in executions.plan(kernels(), EVENTS, good_counters=3, nodes=2)
    }
    with pytest.raises(CmlibError, match="Two counters are needed"):
        executions.plan(kernels(), EVENTS, good_counters=1)


def pretend(instructions, *, running=1.0, checksum=7):
    """Stands in for a program on a machine with counters."""

    def executed(argv, *, regions=None, events=()):
        if regions is not None:
            about = {
                "function": "f",
                "location": "f.cpp:1",
                "thread": 1,
                "threads": 2,
                "work": 1,
                "seconds": 0.1,
                "running": running,
            }
            counts = {"instructions": instructions, **{name: 5 for name, _ in events}}
            pd.DataFrame([{**about, **counts}] * 3).to_csv(regions, index=False)
        return (checksum if argv[1] == "bad" else 7), 0.1

    return executed


def one_recording(form="bad"):
    program = kernels()[0]
    return next(
        r for r in executions.plan([program], EVENTS, good_counters=3, diluted_runs=0) if r.form == form
    )


@pytest.fixture
def steady(monkeypatch):
    """Executions that tell the machine's pace take as long each time."""
    monkeypatch.setattr(executions, "execute", pretend(1000))


def test_a_recording_is_written_once_and_reads_back(steady, tmp_path, monkeypatch):
    monkeypatch.setattr(executions, "execute", pretend(1000))
    item = one_recording()
    made = executions.record(item, tmp_path, tmp_path / "out", {"processors": 2})
    about = json.loads(made.read_text())
    assert about["machine"] == {"processors": 2} and about["rejected_executions"] == 0
    assert len(about["runs"]) == 20
    read, runs = load_recording(made)
    assert read == about and list(runs) == [run["run"] for run in about["runs"]]
    assert set(runs["bad-000"]) == {"function", "location", "a", "b", "c"}
    assert runs["bad-000"]["a"].tolist() == pytest.approx([5 / 1000 / 2] * 3)
    assert executions.record(item, tmp_path, tmp_path / "out", {}) is None
    assert sorted(p.name for p in made.parent.iterdir()) == ["bad.csv.gz", "bad.json"]
    with pytest.raises(CmlibError, match="counts other events"):
        executions.record(replace(item, parts=item.parts[:1]), tmp_path, tmp_path / "out", {})
    made.with_name("bad.csv.gz").write_bytes(b"")
    with pytest.raises(CmlibError, match="is not what was recorded"):
        load_recording(made)


def test_disturbed_executions_are_repeated_and_the_quietest_is_kept(steady, tmp_path, monkeypatch):
    monkeypatch.setattr(executions, "execute", pretend(1000))
    shares = iter([0.5, 0.2, 0.01, *[0.9, 0.4, 0.3, *[0.6] * 7], *[0.0] * 100])
    monkeypatch.setattr(executions, "taken_by_others", lambda *times: next(shares))
    made = executions.record(one_recording(), tmp_path, tmp_path / "out", {})
    told = re.findall(r"others=(\S+)", gzip.decompress(made.with_name("bad.csv.gz").read_bytes()).decode())
    assert told[:3] == ["0.010", "0.300", "0.000"]
    assert json.loads(made.read_text())["rejected_executions"] == 2 + 9


def test_executions_beside_a_slow_machine_are_repeated(tmp_path, monkeypatch):
    """Of one kind each time as quick as usual; but the machine is slow after the first run's first two."""
    beside = iter([0.1] * 9 + [0.15, 0.12, 0.1, 0.1] + [0.1] * 100 + [0.2] * 100)
    recording, counted = one_recording(), pretend(1000)
    pacing = [
        argv_of(recording.program, tmp_path, "good", threads=threads, repeats=executions._REPEATS)
        for _, threads, _ in recording.runs
    ]
    monkeypatch.setattr(
        executions,
        "execute",
        lambda argv, **how: counted(argv, **how) if how or argv not in pacing else (7, next(beside)),
    )
    monkeypatch.setattr(executions, "taken_by_others", lambda *times: 0.0)
    made = executions.record(recording, tmp_path, tmp_path / "out", {})
    told = re.findall(r"behind=(\S+)", gzip.decompress(made.with_name("bad.csv.gz").read_bytes()).decode())
    assert told[:2] == ["0.000", "0.000"]
    assert json.loads(made.read_text())["rejected_executions"] == 3


def test_shares_of_the_dilution_curve_have_files_of_their_own(steady, tmp_path, monkeypatch):
    monkeypatch.setattr(executions, "execute", pretend(1000))
    program = next(p for p in kernels() if p.name in executions.DILUTED)
    todo = executions.plan([program], EVENTS, good_counters=4, diluted_runs=1)
    for item in todo[2:]:
        executions.record(item, tmp_path, tmp_path / "out", {})
    shares = [load_recording(file)[0]["sharing"] for file in sorted(tmp_path.rglob("diluted-*.json"))]
    assert sorted(shares, reverse=True) == list(executions.SHARING)
    assert len(list(tmp_path.rglob("control-*.csv.gz"))) == len(executions.SHARING)


@pytest.mark.parametrize(
    ("stand_in", "complaint"),
    [
        (pretend(None), "not counted all the time"),
        (pretend(1000, running=0.8), "not counted all the time"),
        (pretend(1000, checksum=8), "must agree"),
    ],
)
def test_bad_counting_leaves_nothing_behind(steady, tmp_path, monkeypatch, stand_in, complaint):
    monkeypatch.setattr(executions, "execute", stand_in)
    with pytest.raises(CmlibError, match=complaint):
        executions.record(one_recording(), tmp_path, tmp_path / "out", {})
    assert not list(tmp_path.rglob("*.json")) and not list(tmp_path.rglob("*.gz"))


def test_overhead_compares_counted_with_uncounted(binaries, tmp_path):
    program, events = kernels()[0], [("page-faults", "1:2")]
    build(binaries, [program.name])
    made = overhead.record_overhead(program, binaries, events, tmp_path, {}, scale=0.2, pairs=3)
    about = json.loads(made.read_text())
    assert len(about["ratios"]) == 3 and all(ratio > 0 for ratio in about["ratios"])
    assert about["program"] == made.parent.name == program.name and about["events"] == {"page-faults": "1:2"}
    assert overhead.record_overhead(program, binaries, events, tmp_path, {}) is None


def test_without_a_pmu_software_events_are_recorded_for_real(binaries, tmp_path):
    program = replace(kernels()[9], runs=(2, 1, 1), size=1000)
    build(binaries, [program.name])
    events = countable("task-clock,page-faults,context-switches")
    todo = executions.plan([program], events)
    assert todo[0].parts == (tuple((event.name, event.config) for event in events),)
    about, runs = load_recording(executions.record(todo[0], binaries, tmp_path, {"processors": 2}))
    assert about["per"] == "work" and len(runs) == 3
    assert set(runs["good-000"]) == {"function", "location", "task-clock", "page-faults", "context-switches"}
    # A switch or more when the workers are waited for, of 1000 items
    assert 0.5e-3 < runs["good-000"]["context-switches"].median() < 1
    assert runs["good-000"]["task-clock"].median() > 0


@pytest.fixture
def counting(monkeypatch, tmp_path):
    """A machine with three counters and two events to count."""
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    monkeypatch.setattr(machine, "census", lambda: machine.Census(3, 3))
    monkeypatch.setattr(campaign, "list_usual_events", lambda about: EVENTS[:2])


def test_the_command_lists_and_only_lists(counting, tmp_path):
    listed = CliRunner().invoke(main, ["record-kernels", "--list", "--program", "histogram"])
    assert listed.exit_code == 0, listed.output
    assert re.search(r"histogram good +40 of +40 runs", listed.output)
    assert not list(tmp_path.rglob("*.json"))
    refused = CliRunner().invoke(main, ["record-kernels", "--program", "nonesuch"])
    assert refused.exit_code == 2 and "parallel_scalar_sum" in refused.output


def test_the_command_records_what_it_listed(counting, tmp_path, monkeypatch):
    monkeypatch.setattr(executions, "execute", pretend(1000))
    for _ in range(2):  # the second time all is there
        done = CliRunner().invoke(main, ["record-kernels", "--program", "histogram"])
        assert done.exit_code == 0, done.output
    folder = tmp_path / "regions/hardware/histogram"
    forms = [f"{form}{ending}" for form in ("again", "bad", "good") for ending in (".csv.gz", ".json")]
    assert sorted(path.name for path in folder.iterdir()) == [*forms, "overhead.json"]
    about, runs = load_recording(folder / "good.json")
    assert len(runs) == 40 and about["machine"]["numa_nodes"] == numa_nodes()
