"""What one multiplexed run tells of itself: thinly counted events, and the command that records them next."""

import gzip
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cmlib import places, study
from cmlib.clean import joint_estimates
from cmlib.errors import UnfitRecordingError
from cmlib.record import import_files

ELSEWHERE = Path(__file__).parent / "golden/elsewhere"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Gcc, 12 events in turns and 3 at a time all the time, and a table without running shares."""
    folder = tmp_path_factory.mktemp("thin")
    for name in ("mlpx12-p0-00", "ocoe-p0-00"):
        raw = gzip.decompress((places.recordings_dir() / f"gcc/{name}.csv.gz").read_bytes())
        (folder / f"{name}.csv").write_bytes(raw)
        import_files(name.partition("-")[0], [folder / f"{name}.csv"], folder=folder / "recordings")
    import_files("old", [ELSEWHERE / "a15-cbench-list1.txt"], folder=folder / "recordings")
    return study.open_database(f"sqlite:///{folder}/store.sqlite", folder / "recordings")


@pytest.fixture(scope="module")
def run(url):
    return study.multiplexed_runs(url, "mlpx12")["mlpx12"]


@pytest.fixture(scope="module")
def judged(run):
    return study.judge_counts(run)


def test_doubt_is_the_error_as_a_share_of_what_varies(run, judged):
    cleaned, errors, events = judged
    counts, running = run.counts, run.running
    expected = joint_estimates(counts, running)
    pd.testing.assert_frame_equal(cleaned, expected[0])
    for event in ("ex_div_busy", "ic_tag_hit_miss.instruction_cache_miss"):
        noise = 100 * np.mean(expected[1][event] ** 2) / np.var(expected[0][event], ddof=1)
        assert events.at[event, "noise"] == pytest.approx(min(noise, 100))
        assert events.at[event, "share"] == pytest.approx(100 * running[event].mean())
    assert events.loc[["instructions", "cycles"], ["noise", "moved", "error"]].eq(0).all(axis=None)
    assert events["noise"].is_monotonic_decreasing


def test_thin_events_are_named_and_the_others_believed(judged):
    events = judged[2]
    said = study.say_counts(events)
    assert "12 events took turns on the counters, each for 24 % of the time" in said
    assert "`ex_div_busy` (24 % of the time)" in said and "`ex_ret_brn_misp`" not in said
    assert "as well" not in said
    shared = study.say_counts(events.assign(share=24.0))
    assert "instructions and cycles as well, so that an error of theirs is in IPC" in shared
    none = study.say_counts(events.assign(thin=False))
    assert none.endswith("of none is a quarter or more of what it does over time error of extrapolation")


def test_events_that_another_run_counted_alone_are_not_recorded_again(url, judged):
    events = judged[2]
    assert study.only_multiplexed(url, "mlpx12", events).equals(events)
    left = study.only_multiplexed(url, "ocoe", events)
    assert len(left) == len(events) - 3 and {"instructions", "cycles"} <= set(left.index)


def test_next_come_the_thin_events_as_many_as_there_are_counters(run, judged):
    events = judged[2]
    thin = [event for event in events.index[events["thin"]] if event not in ("instructions", "cycles")]
    said = study.say_next(run, events)
    assert said.startswith("record these events alone, so that none takes turns: ``") and said.endswith("``")
    commands = shell(said.split("``")[1])
    assert (
        len(thin) > 3 and len(commands) == -(-len(thin) // 3) + 1
    )  # three counters beside the pinned events
    counted = []
    for number, command in enumerate(commands[:-1], 1):
        assert (
            command[:6] == ["perf", "stat", "-I", "100", "-x,", "-o"] and command[6] == f"next-{number}.csv"
        )
        assert command[9:] == ["-p", "PID", "--", "sleep", "19"]
        instructions, cycles, *group = command[8].strip("{}").split(",")
        assert (instructions, cycles) == ("instructions", "cycles") and 1 <= len(group) <= 3
        counted += group
    assert counted == thin
    assert commands[-1][:3] == ["cmlib", "import", "mlpx12"]
    assert study.say_next(run, events.assign(thin=False)) == ""
    one = study.say_next(run, events.assign(thin=events.index == thin[0]))
    assert one.endswith(
        f"-o next.csv -e '{{instructions,cycles,{thin[0]}}}' -p PID -- sleep 19 && cmlib import mlpx12 next.csv``"
    )


def shell(line):
    """The commands that a line of shell runs, as lists of words."""
    script = f'cmlib() {{ printf "%s\\0" cmlib "$@"; echo; }}; perf() {{ printf "%s\\0" perf "$@"; echo; }}; {line}'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    return [words.split("\0")[:-1] for words in done.stdout.splitlines()]


def test_what_cmlib_recorded_it_records_again_in_the_same_way(run, judged):
    events = judged[2]
    thin = [event for event in events.index[events["thin"]] if event not in ("instructions", "cycles")]
    own = run.meta | {"imported": False, "command": "gcc -c 'big file.c'"}
    (again,) = shell(study.say_next(replace(run, meta=own), events).split("``")[1])
    head = ["cmlib", "record", "mlpx12", "--mode", "ocoe", "--events", ",".join(thin), "--"]
    assert again == [*head, "gcc", "-c", "big file.c"]
    ways = {
        "--system": {"system": True},
        "--cgroup": {"cgroup": "system.slice/a b"},
        "--pid": {"processes": [{"pid": 7, "name": "memcached", "threads": 4}]},
    }
    for option, attached in ways.items():
        meta = own | {"attached": attached | {"seconds": 60.0, "ended": "time"}}
        line = study.say_next(replace(run, meta=meta), events).split("``")[1]
        commands = shell(f"pgrep() {{ echo 7; }}; {line}")
        assert [command[3] for command in commands] == [option] * -(-len(thin) // 3)
        assert ",".join(command[-1] for command in commands) == ",".join(thin)
        assert all(command[-4:-1] == ["--seconds", "60", "--events"] for command in commands)
        assert "system.slice/a b" in commands[0] if option == "--cgroup" else "--mode" not in commands[0]


@pytest.mark.parametrize(
    ("program", "message"),
    [("ocoe", "was on a counter all the time: nothing was extrapolated"), ("old", "tell no running shares")],
)
def test_without_a_multiplexed_run_it_is_said_why(url, program, message):
    with pytest.raises(UnfitRecordingError, match=message):
        study.multiplexed_runs(url, program)
