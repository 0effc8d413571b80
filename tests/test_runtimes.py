"""What a recorded command tells of what runs a program, and the advice that hangs on it, at every door."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cmlib.cli import main
from cmlib.io.formats.registry import read_counts
from cmlib.io.meaning.facts import measure_cpus
from cmlib.topdown import read_table, summarize
from cmlib.topdown.runtimes import advice_for, find_runtime
from tests.perf_output import GOLDEN

ZEN5 = {
    "instructions": 1.5,
    "ex_ret_ops": 1.5,
    "de_src_op_disp.all": 2.0,
    "de_no_dispatch_per_slot.no_ops_from_frontend": 4.5,
    "de_no_dispatch_per_slot.backend_stalls": 1.5,
}


@pytest.mark.parametrize(
    ("command", "runtime"),
    [
        ("java -Xmx2g -jar app.jar", "JVM"),
        ("env JAVA_OPTS=-Xmx1g taskset -c 0-3 /usr/lib/jvm/bin/java App", "JVM"),
        ("kmeans on Spark 3.5.5, local[2], JVM start included", "JVM"),
        ("spark-submit --master local[2] wordcount.jar", "JVM"),
        ("/opt/bin/python3.12 -O train.py", "Python"),
        ("nice -n 5 ./train.py", "Python"),
        ("gcc -O2 -c (one C file of 9 MB)", "compiled code"),
        ("bzip2 -9 (a tar of 285 MB)", "compiled code"),
        ("timeout 10s chrt 50 taskset 0x3f 7z a files.7z files", "compiled code"),
        ("./server --config java.conf", ""),
        ("grep java notes", ""),
        ("", ""),
    ],
)
def test_a_command_tells_what_runs_the_program_or_nothing(command, runtime):
    assert find_runtime(command) == runtime


def advised(command):
    index = pd.Index(np.arange(1.0, 41), name="time_s")
    counts = pd.DataFrame({"cycles": 3e9} | {event: 3e9 * rate for event, rate in ZEN5.items()}, index)
    told = summarize("x", [(counts, counts * 0 + 1.0)], processor="amd_zen5", command=command)
    (advice,) = told["account"]["advice"]
    assert advice["action"].lower() in advice["text"].lower()
    return told["runtime"], advice["category"], advice["action"].lower()


def test_advice_is_the_runtimes_and_the_tables_where_nothing_tells_it():
    general = {one.name: one.advice for one in read_table("amd_zen5").categories}
    assert advised("./x") == (None, "front end", general["front end"].rstrip(".").lower())
    for command in ("java X", "python3 x.py", "gcc -c x.c"):
        runtime, category, action = advised(command)
        assert action == advice_for(runtime)[category].rstrip(".").lower()


def advised_losses(**rates):
    """Advice on Zen 5 for events a cycle, where every category was counted: (category, bound [%]) in order."""
    index = pd.Index(np.arange(1.0, 41), name="time_s")
    counts = pd.DataFrame({"cycles": 3e9} | {event: 3e9 * rate for event, rate in rates.items()}, index)
    told = summarize("x", [(counts, counts * 0 + 1.0)], processor="amd_zen5")
    return [(one["category"], one["at_most"]) for one in told["account"]["advice"]]


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        (2.6, ["front-end latency", "memory"]),
        (2.4, ["memory", "front-end latency"]),
        (4.0, ["front-end latency"]),
    ],
)
def test_every_loss_that_is_near_the_largest_has_advice_in_order_of_size(front, expected):
    rates = ZEN5 | {
        "de_no_dispatch_per_slot.no_ops_from_frontend": front + 0.8,
        "de_no_dispatch_per_slot.backend_stalls": 5.2 - front,
        "de_op_queue_empty": front / 8,
        "ex_no_retire.load_not_complete": 0.9,
        "ex_no_retire.not_complete": 1.0,
    }
    advice = advised_losses(**rates)
    assert [name for name, _ in advice] == expected
    assert dict(advice)["front-end latency"] == pytest.approx(100 * front / 8, abs=0.1)


def test_every_runtime_advises_on_categories_that_there_are():
    names = {one.name for table in ("amd_zen5", "slots") for one in read_table(table).categories}
    for runtime in ("JVM", "Python", "compiled code"):
        assert advice_for(runtime) and set(advice_for(runtime)) <= names


@pytest.fixture(scope="module")
def told():
    """What is said of kmeans."""
    return json.loads(CliRunner().invoke(main, ["summarize", "kmeans", "--json"]).stdout)


def test_the_terminal_names_the_runtime_of_a_recorded_program(told):
    text = CliRunner().invoke(main, ["summarize", "kmeans"]).stdout
    assert (
        told["runtime"] == "JVM"
        and f"Try first (JVM, by its command): {told['account']['advice'][0]['text']}".replace("`", "")
        in text
    )


def test_the_cpus_that_a_run_used_are_told_by_the_time_that_its_counters_were_on(told):
    """Two threads of kmeans, one of gcc; times a second over IPC and CPUs are a clock."""
    assert 1.8 < told["levels"]["CPUs"] < 1.9
    levels = told["levels"]
    ghz = levels["instructions a second"] / levels["instructions a cycle"] / levels["CPUs"] / 1e9
    assert 3 < ghz < 5
    assert cpus_utilized((GOLDEN / "perf-6.1-zen5/ocoe.csv").read_text()) == pytest.approx(1.0, abs=0.01)


def cpus_utilized(text):
    _, readings = read_counts(text)
    return measure_cpus(readings.programs[0].counts)


@pytest.mark.parametrize("before", [0.0, 100.0])
def test_cpus_are_counted_in_either_form_and_after_a_cut(before):
    ends = [before + 0.1 * k for k in range(1, 5)]
    rows = [
        f"{end:.9f},7,,{event}:u,150000000,{share},1.0,x"
        for end in ends
        for event, share in [("instructions", "100.00"), ("r1", "25.00"), ("cycles", "100.00")]
    ]
    assert cpus_utilized("\n".join(rows)) == pytest.approx(1.5)
    rows = [
        f'{{"interval" : {end:.9f}, "counter-value" : "7", "unit" : "", "event" : "cycles:u", '
        '"event-runtime" : 150000000, "pcnt-running" : 100.00}'
        for end in ends
    ]
    assert cpus_utilized("\n".join(rows)) == pytest.approx(1.5)


def test_counts_a_cpu_shared_counters_and_totals_do_not_tell_the_cpus():
    assert cpus_utilized("0.100000000,CPU0,7,,cycles,100000000,100.00,,\n") is None
    assert cpus_utilized("0.100000000,7,,cycles,100000000,50.00,,\n") is None
    assert cpus_utilized("7,,cycles,100000000,100.00,,\n") is None
