"""Replace each value of recordings' metadata by absurd ones, and call what notebooks load recordings by.

    python benchmarks/fuzz_metadata.py

A forged run may be stored as it stands or left out by name; the good program beside it is always there, and nothing
but an error for users is raised.
"""

import contextlib
import copy
import functools
import gzip
import io
import itertools
import json
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.experiments import data
from cmlib.experiments.commands import command_again, command_to_count
from cmlib.experiments.event_tables import known_sums, table_name
from cmlib.experiments.kernels.recordings import recorded_programs
from cmlib.experiments.micro import recordings as micro_recordings
from cmlib.experiments.tuning.recordings import load_tuned
from cmlib.io import events, regions, samples, store
from cmlib.io.archive import digest, read_object
from cmlib.io.archive.programs import readable_runs
from cmlib.io.imports import import_notes
from cmlib.topdown.summary import summarize
from cmlib_workloads.micro.case_runs import recorded_events

_BATCH = 40
ABSURD = {
    "null": None, "true": True, "false": False, "0": 0, "-1": -1, "1.5": 1.5, "-0.0": -0.0, "10^20": 10**20,
    "-10^20": -(10**20), "10^400": 10**400, "1e308": 1e308, "5e-324": 5e-324, "NaN": float("nan"),
    "infinity": float("inf"), "2^31": 2**31, "2^63": 2**63, "''": "", "blank": " ", "escape": "\x1b[2J\x1b]0;x\x07",
    "NUL": "\0", "surrogate": "\ud800", "turned": "\u202eabc", "path": "../../etc/passwd", "order": "x';touch PWN;'",
    "html": "<script>alert(1)</script>", "10^5 letters": "x" * 100_000, "number": "17", "[]": [], "[[]]": [[]],
    "nested": functools.reduce(lambda inner, _: [inner], range(200), []), "[null]": [None], "{}": {},
    "{'': null}": {"": None}, "{'a': {}}": {"a": {}}, "500 names": [f"e{k}" for k in range(500)],
}  # fmt: skip


def good_metas():
    """Return the metadata of a measured, an attached, a simulated and an imported run, with all keys of the schema."""
    meta = {
        "schema": 1, "program": "bad", "set": "ocoe", "run": "ocoe-p0-00", "mode": "ocoe", "pass": 0, "part": 0,
        "command": "./x", "interval_ms": 1000, "duration_s": 2.0, "date": "2026-11-21T15:00:00", "exit_code": 0,
        "pinned": ["instructions", "cycles"], "groups": [["branches"]], "encodings": {"branches": "branches:u"},
        "modifier": "u", "counters": {"offered": 6, "good": 5}, "note": "n", "running_shares": True, "axis": "time",
        "start_s": 0.0, "condition": "", "columns": {}, "names": {"a": "branches"}, "zeros_uncounted": False,
        "machine": {"vendor": "AuthenticAMD", "model_name": "AMD EPYC", "family": 26, "model": 2, "perf": "6.1",
                    "microarchitecture": "amd_zen5", "kernel": "Linux", "processors": 2, "virtual": "kvm",
                    "mux_interval_ms": 4, "load_1min": 0.5},
    }  # fmt: skip
    process = {"pid": 7, "name": "memcached", "threads": 4}
    attached = {"seconds": 60.0, "ended": "time", "processes": [process]}
    simulator = {"tool": "callgrind", "version": "3.19", "options": ["--I1"], "caches": {"I1": "x"}}
    return [
        meta,
        meta | {"attached": attached},
        meta | {"attached": {"seconds": 60.0, "cgroup": "a b"}},
        meta | {"imported": True},
        meta | {"source": "valgrind", "simulator": simulator | {"every_blocks": 5, "in_order": 3}},
    ]


def paths(value, path=()):
    """Yield the path of each value in nested objects and lists."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


def region_metas():
    """Return metadata of recordings of regions."""
    machine = good_metas()[0]["machine"]
    return [
        {"schema": 1, "program": "histogram", "events": [{"cycles": "cpu-cycles"}], "machine": machine,
         "sharing": 0.5, "per": "instructions"}
    ]  # fmt: skip


def changes(metas):
    """Return all replacements: the index of the metadata, the path, and the name of the absurd value."""
    return [
        (number, path, name) for number, meta in enumerate(metas) for path in paths(meta) for name in ABSURD
    ]


def forged(metas, change):
    """Return metadata with one value replaced."""
    number, path, name = change
    if not path:
        return ABSURD[name]
    meta = copy.deepcopy(metas[number])
    place = functools.reduce(lambda inner, key: inner[key], path[:-1], meta)
    place[path[-1]] = ABSURD[name]
    return meta


def mutants(metas):
    """Return each replacement with the resulting metadata."""
    return ((change, forged(metas, change)) for change in changes(metas))


def write_run(root, program, meta, content=None):
    """Write a run of a program: the metadata, and perf's output."""
    interval = "".join(f"{{}}.000000000,{n},,{e},10,100.00,,\n" for e, n in
                       (("instructions:D", 9), ("cycles:D", 8), ("branches:u", 7)))  # fmt: skip
    packed = gzip.compress((content or interval.format(1, 1, 1) + interval.format(2, 2, 2)).encode(), mtime=0)
    folder = Path(root) / program
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ocoe-p0-00.csv.gz").write_bytes(packed)
    if isinstance(meta, dict):
        meta = {"sha256": digest(packed)} | meta
    with contextlib.suppress(UnicodeEncodeError):
        text = json.dumps(meta)
        (folder / "ocoe-p0-00.json").write_text(text)


def check(root, metas):
    """Store forged runs and a good run, and load all. Return how many were refused."""
    recordings, url = Path(root) / "recordings", f"sqlite:///{root}/s.sqlite"
    shutil.rmtree(recordings, ignore_errors=True)
    write_run(recordings, "good", good_metas()[0] | {"program": "good"})
    for number, meta in enumerate(metas):
        program = f"bad-{number}"
        its_own = isinstance(meta, dict) and meta.get("program") == "bad"
        write_run(recordings, program, meta | {"program": program} if its_own else meta)
    store.refresh(recordings, url)
    stored = set(store.runs(url)["program"])
    refused = {name.split("/")[1] for name in store.refused(url)["name"]}
    assert "good" in stored and not stored & refused, stored
    assert stored | refused == {"good", *(folder.parent.name for folder in recordings.glob("*/*.json"))}
    for name in stored:
        for run_id in data.timed_runs(url, data.programs(url, name))["run_id"]:
            use(url, name, store.load(url, run_id))
    with contextlib.redirect_stderr(io.StringIO()):
        assert all(readable_runs(recordings / name) for name in stored)
    return len(refused)


def use(url, name, run):
    """Call the functions that notebooks call with the metadata of a run."""
    counts, running = run.whole()
    run.rates()
    known_sums(run)
    table = table_name(url, name)
    import_notes([run.meta])
    command_again(run.meta)
    command_to_count(run.meta, [["branches"]], ["instructions", "cycles"], table)
    data.describe_source(url, [name])
    processor = events.find_processor([run.meta.get("machine", {})], set(counts))
    modifier = run.meta.get("modifier") or ""
    summarize(
        name, [(counts, running)], processor=processor, modifier=modifier, notes=[run.meta.get("note", "")]
    )


_TOLD = {"micro": {"note": '{"label": "none", "size": 1}'},
         "spark": {"command": "cmlib record --program {} --scale 1"}}  # fmt: skip


def check_loaders(root, metas):
    """Load forged runs of micro-benchmarks and of Spark's settings beside a good one of each, as notebooks do."""
    good = good_metas()[0]
    for prefix, told in _TOLD.items():
        folder = Path(root) / prefix
        shutil.rmtree(folder, ignore_errors=True)
        for number, meta in enumerate([good, *metas]):
            name = f"{prefix}{number}"
            program = f"{name}-000" if prefix == "spark" else f"{prefix}-{number}"
            if isinstance(meta, dict):
                facts = {"program": program, **{key: text.replace("{}", name) for key, text in told.items()}}
                meta = meta | {key: value for key, value in facts.items() if meta.get(key) == good[key]}
            write_run(folder, program, meta)
    with contextlib.redirect_stderr(io.StringIO()):
        series = micro_recordings.read_series(Path(root) / "micro", "ocoe")
        assert "micro-0" in {one.program for one in series}
        micro_recordings.read_simulated_series(Path(root) / "micro")
        recorded_events(Path(root) / "micro", "ocoe")
        assert "spark0" in load_tuned(Path(root) / "spark") or not metas


def check_regions(root, meta):
    """Load two programs with regions, one of them with forged metadata."""
    text = (
        "# run=0 part=0\nfunction,location,thread,threads,work,seconds,running,instructions,cycles\n"
        "f,a.c:1,0,1,1,0.1,1,100,200\n"
    )
    packed = gzip.compress(text.encode(), mtime=0)
    good = {"schema": 1, "program": "x", "events": [], "machine": {}, "per": "instructions"}
    for program, about in (("histogram", meta), ("reverse_index", good)):
        folder = Path(root) / "regions" / program
        folder.mkdir(parents=True, exist_ok=True)
        for form in ("good", "bad", "diluted-1", "control-1"):
            (folder / f"{form}.csv.gz").write_bytes(packed)
            forged = {"sha256": digest(packed)} | about if isinstance(about, dict) else about
            with contextlib.suppress(UnicodeEncodeError):
                (folder / f"{form}.json").write_text(json.dumps(forged))
        (folder / "overhead.json").write_text('{"ratios": [1.0]}')
    with contextlib.redirect_stderr(io.StringIO()):
        programs = recorded_programs(Path(root) / "regions")
        assert "reverse_index" in programs
        for program in programs.values():
            assert isinstance(program.diluted, dict)


def check_about(root, meta):
    """Read metadata of samples and regions, and list the streams beside a good one; only errors for users."""
    folder = Path(root) / "streams" / "bad"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "software-0.txt.gz").write_bytes(packed := gzip.compress(b"", mtime=0))
    if isinstance(meta, dict) and isinstance(meta.get("sha256", ""), str):
        meta = {"sha256": digest(packed)} | meta
    with contextlib.suppress(UnicodeEncodeError):
        (folder / "software-0.json").write_text(json.dumps(meta))
    with contextlib.suppress(CmlibError), contextlib.redirect_stderr(io.StringIO()):
        samples.find_streams(folder.parent, "software")
    for read in (regions.read_about, functools.partial(read_object, description="metadata", hint="")):
        with contextlib.suppress(CmlibError):
            read(folder / "software-0.json")


def attempt(check, root, what, shown=""):
    """Return the result of a check. If it fails, return None, and the error with the replacement."""
    try:
        return check(root, what)
    except Exception as error:
        print(shown, f"{type(error).__name__}: {str(error)[:300]}")
        return None


def main():
    """Try all mutants, and print how many were stored and refused, by value."""
    began, outcomes = time.perf_counter(), Counter()
    with tempfile.TemporaryDirectory() as root:
        everything = mutants(good_metas())
        while batch := list(itertools.islice(everything, _BATCH)):
            refused = attempt(check, root, [meta for _, meta in batch])
            if refused is None:  # which of them it was
                refused = sum(attempt(check, root, [meta], shown=name) or 0 for name, meta in batch)
            outcomes += Counter(refused=refused, all=len(batch))
            attempt(check_loaders, root, [meta for _, meta in batch], shown=batch[0][0])
            for name, meta in batch:
                attempt(check_about, root, meta, shown=name)
        for name, meta in mutants(region_metas()):
            attempt(check_regions, root, meta, shown=name)
            outcomes += Counter(regions=1)
    print(
        f"{outcomes['regions']:,} mutants of regions; {outcomes['all']:,} of runs, {outcomes['refused']:,} of them "
        f"refused; {time.perf_counter() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
