"""Recording by simulation: into the archive and the store, beside nothing measured, and ended cleanly."""

import json
import platform
import re
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from cmlib import experiments as study
from cmlib.cli import main
from cmlib.collect.record import RecordError
from cmlib.collect.simulate import read_functions, record_simulated
from cmlib.collect.simulate.recorder import estimate
from cmlib.collect.simulate.valgrind import blocks_so_far
from cmlib.errors import UnfitRecordingError
from cmlib.io import store
from cmlib.io.archive.programs import check_comparable, existing_runs, read_raw
from tests.processes import processes, wait_until
from tests.simulated_runs import CACHES, build
from tests.small_runs import add_run

needs_valgrind = pytest.mark.needs("cc", "valgrind")
# Less than Valgrind's own time slice of 100,000 blocks, so that an interval is one.
EVERY = 50_000


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def recorded(program, tmp_path_factory):
    """Two simulated runs of the planted program, with two levels of caches, and what was said."""
    folder, said = tmp_path_factory.mktemp("data") / "recordings", []
    folder.mkdir()
    how = {"every_blocks": EVERY, "caches": CACHES, "folder": folder, "notify": said.append}
    record_simulated("app", [program, "300000"], levels=2, **how)
    return folder, said


@needs_valgrind
def test_two_runs_count_the_same_instructions_and_say_so(recorded):
    folder, said = recorded
    assert said[-1] == "The 2 runs differ by 0 % in instructions."
    first, second = (
        read_functions(read_raw(folder / "app", run).decode()) for run in existing_runs(folder / "app")
    )
    assert first.sum()["Ir"] == pytest.approx(second.sum()["Ir"], rel=1e-4)


@needs_valgrind
def test_planted_loads_and_stores_are_counted_exactly(recorded):
    functions = read_functions(read_raw(recorded[0] / "app", "sim-p0-00").decode()).groupby("function").sum()
    assert functions.loc["sum", "Dr"] - 600_000 in range(5)
    assert functions.loc["fill", "Dw"] - 600_000 in range(5)
    # Every store of `fill` is 512 bytes after the one before: none finds its line in 32 KiB.
    assert functions.loc["fill", "D1mw"] > 0.99 * 600_000


@needs_valgrind
def test_the_store_holds_what_callgrind_wrote(recorded, tmp_path):
    folder, _ = recorded
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    listed = store.rebuild(folder, url)
    assert listed["source"].tolist() == ["valgrind", "valgrind"]
    run = store.load(url, "app/sim-p0-00")
    assert run.meta["simulator"]["caches"]["LL"] == "262144 B, 128 B, 8-way associative"
    assert run.meta["simulator"]["every_blocks"] == EVERY
    totals = read_functions(read_raw(folder / "app", "sim-p0-00").decode()).sum()
    assert run.counts["sim.loads"].sum() == totals["Dr"]
    table = study.event_table(url)
    assert table.at["sim.loads", "unit"] == "simulated, exact"
    assert "**Simulated** by Valgrind" in study.describe_source(url, ["app"])


@needs_valgrind
def test_simulated_programs_never_stand_with_measured_ones(recorded, tmp_path):
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    folder = tmp_path / "recordings"
    add_run(folder, "measured", "ocoe", 0, 0, [("x", 3.0)])
    (folder / "app").symlink_to(recorded[0] / "app")
    store.rebuild(folder, url)
    assert study.programs(url) == ["measured"]
    assert study.programs(url, "app") == ["app"]
    assert study.describe_source(url, ["measured"]) == ""
    with pytest.raises(UnfitRecordingError, match="app: simulated"):
        study.programs(url, "app,measured")
    with pytest.raises(UnfitRecordingError, match="only simulated runs, which count no cycles"):
        study.programs(url, "app", modes=["ocoe"])


@needs_valgrind
def test_nothing_measured_is_added_to_what_is_simulated_and_no_other_caches(recorded, program):
    folder, _ = recorded
    meta = existing_runs(folder / "app")["sim-p0-00"]
    with pytest.raises(RecordError, match="another source of counts: .valgrind. there, .perf. now"):
        check_comparable([meta], meta | {"source": "perf"})
    with pytest.raises(RecordError, match="another simulator .options."):
        record_simulated("app", [program, "300000"], caches=CACHES | {"LL": "1M,8,64"}, folder=folder)


@needs_valgrind
def test_three_levels_come_from_two_simulations_that_executed_the_same(tmp_path, program):
    said, url = [], f"sqlite:///{tmp_path / 'store.sqlite'}"
    how = {"every_blocks": EVERY, "caches": CACHES | {"L2": "64K,8,64"}, "notify": said.append}
    record_simulated("app", [program, "60000"], folder=tmp_path, **how)
    assert said[-1].startswith("sim-p0-00: The simulations differ by 0 % in instructions")
    store.rebuild(tmp_path, url)
    assert store.runs(url)["n_events"].tolist() == [16]
    run = store.load(url, "app/sim-p0-00")
    assert run.meta["simulator"]["caches"]["L2"] == "65536 B, 128 B, 8-way associative"
    misses = run.counts.sum()[[f"sim.{level}_store_misses" for level in ("l1d", "l2", "ll")]]
    # `fill` stores to one line in eight of 512 KiB, again and again: 64 KiB of lines, in an eighth of the sets.
    assert misses.iloc[0] == pytest.approx(misses.iloc[1], rel=0.01)
    assert misses.is_monotonic_decreasing
    assert study.event_table(url).at["sim.l2_load_misses", "unit"] == "simulated, modelled"


@needs_valgrind
def test_runs_that_differ_have_two_levels_and_it_is_told(tmp_path):
    said, how = [], {"every_blocks": EVERY, "caches": CACHES | {"L2": "64K,8,64"}, "folder": tmp_path}
    command = ["sh", "-c", "i=0; while [ $i -lt $(($$ % 997 + 200)) ]; do i=$((i + 1)); done"]
    record_simulated("app", command, notify=said.append, **how)
    assert "Misses of the second-level cache are not kept" in said[-1] and "--runs" in said[-1]
    record_simulated("app", command, passes=2, notify=said.append, **how)
    for meta in existing_runs(tmp_path / "app").values():
        assert meta["simulator"]["second_level"] is None and len(meta["groups"][0]) == 12
    assert "differ by" in said[-1]


@needs_valgrind
def test_the_cost_is_told_from_a_run_without_simulation(program, recorded):
    said = []
    every, told = estimate([program, "300000"], 2, said.append)
    blocks = 2.4e6  # two loops, twice: about two blocks a load, and one a store
    assert blocks / 3 < told < 3 * blocks and every == 50_000
    assert re.search("takes about [0-9]+ s, .*; 2 are made", said[0])
    with pytest.raises(RecordError, match="longer than 0.1 s.*--every-blocks"):
        estimate([program, "300000000"], 2, limit_s=0.1)


@needs_valgrind
@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["sh", "-c", "echo told >&2; exit 3"], "failed with exit code 3 under Valgrind.*told"),
        (["no-such-program"], "does not exist"),
    ],
)
def test_a_program_that_fails_is_told_and_leaves_nothing(tmp_path, command, complaint):
    with pytest.raises(RecordError, match=f"(?s){complaint}"):
        record_simulated("app", command, every_blocks=EVERY, folder=tmp_path, notify=lambda text: None)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


@needs_valgrind
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the instruction is one of x86-64")
def test_what_valgrind_can_not_run_comes_with_its_own_words(tmp_path):
    source = 'int main(void) { __asm__ volatile(".byte 0x62,0xf1,0xfd,0x48,0xef,0xc0"); return 0; }'
    program = build(tmp_path / "program", name="avx512", source=source)
    with pytest.raises(RecordError, match=r"(?s)can't run .*[Uu]nrecognised instruction.*-march="):
        record_simulated("app", [program], every_blocks=EVERY, folder=tmp_path, notify=lambda text: None)


def test_progress_is_seen_where_a_part_is_long(tmp_path):
    parts = [f"desc: Timerange: Basic block {n} - {n + 10}\n" + "0 1\n" * 50_000 for n in (0, 10)]
    (tmp_path / "1.out").write_text("version: 1\n" + "".join(parts), encoding="utf-8")
    (tmp_path / "2.out").write_text("version: 1\n", encoding="utf-8")
    assert blocks_so_far(tmp_path) == 20


def test_without_valgrind_the_package_is_named(tmp_path, no_perf):
    with pytest.raises(RecordError, match="apt-get install valgrind"):
        record_simulated("app", ["true"], folder=tmp_path)


@needs_valgrind
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_simulation_leaves_nothing(tmp_path, program, number):
    command = [sys.executable, "-c", "from cmlib.cli import main; main()"]
    command += ["record", "app", "--simulate", "--every-blocks", "1000000", "--", program, "100000000"]
    environment = {"CMLIB_DATA": str(tmp_path), "PATH": "/usr/bin:/bin"}
    # Started with nohup, the tests would hand on an ignored SIGHUP.
    running = subprocess.Popen(
        command,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    assert wait_until(lambda: list(tmp_path.glob("recordings/app/*.partial/*.out")))
    running.send_signal(number)
    _, said = running.communicate(timeout=300)
    assert running.returncode == 2 and said.rstrip().endswith("Aborted!")
    assert list(tmp_path.glob("recordings/*")) == []
    assert processes(program) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--simulate", "--events", "cycles"], "--events is not valid with --simulate"),
        (["--simulate", "--samples"], "--simulate and --samples are two ways"),
        (["--cache-ll", "1M,8,64"], "It is valid with --simulate"),
        (["--every-blocks", "5"], "It is valid with --simulate"),
    ],
)
def test_options_of_one_source_are_refused_for_the_other(arguments, complaint):
    done = CliRunner().invoke(main, ["record", "app", *arguments, "--", "true"])
    assert done.exit_code == 2 and complaint in done.stderr


@needs_valgrind
def test_the_command_records_into_the_archive(tmp_path, monkeypatch, program):
    monkeypatch.setenv("CMLIB_DATA", str(tmp_path))
    options = ["--runs", "1", "--every-blocks", str(EVERY), "--cache-ll", "256K,8,64", "--note", "small"]
    done = CliRunner().invoke(main, ["record", "app", "--simulate", *options, "--", program, "20000"])
    assert done.exit_code == 0 and "app: 1 simulated run made" in done.stdout
    assert done.stdout.splitlines()[-1] == "Study it: cmlib run live -p program=app"
    meta = json.loads((tmp_path / "recordings/app/sim-p0-00.json").read_text(encoding="utf-8"))
    assert (meta["source"], meta["note"], meta["pinned"]) == ("valgrind", "small", ["sim.instructions"])
    assert "--LL=262144,8,128" in meta["simulator"]["options"]
