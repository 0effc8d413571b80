"""All recordings of the fifteen programs in one go: what will be run, and running it."""

import datetime
import math
import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from cmlib.anomaly.profiles import read_regions
from cmlib.anomaly.recordings import save_recording
from cmlib.errors import CmlibError
from cmlib.workloads.kernels.recipe import Program, execute

# On AMD's family 1Ah: 22 of caches and memory, 10 of the rest, as the paper has 22 and 11. The part of HITM is played
# by fills from another core complex's cache.
COUNTERS = (
    "ls_not_halted_cyc",
    "ls_dmnd_fills_from_sys.near_cache",
    "ls_dmnd_fills_from_sys.local_l2",
    "ls_dmnd_fills_from_sys.local_ccx",
    "ls_dmnd_fills_from_sys.dram_io_near",
    "ls_dmnd_fills_from_sys.far_all",
    "ls_any_fills_from_sys.near_cache",
    "ls_hw_pf_dc_fills.local_l2",
    "ls_hw_pf_dc_fills.local_ccx",
    "ls_mab_alloc.load_store_allocations",
    "ls_mab_alloc.hardware_prefetcher_allocations",
    "ls_alloc_mab_count",
    "l2_request_g1.rd_blk_x",
    "l2_request_g1.rd_blk_l",
    "l2_request_g1.ls_rd_blk_c_s",
    "l2_cache_req_stat.ls_rd_blk_c",
    "l2_cache_req_stat.ls_rd_blk_x",
    "l2_cache_req_stat.dc_hit_in_l2",
    "l2_fill_rsp_src.local_ccx",
    "l2_fill_rsp_src.near_cache",
    "l2_pf_miss_l2_hit_l3.l2_hwpf",
    "ls_l1_d_tlb_miss.all",
    "ls_bad_status2.stli_other",
    "ls_locks.all",
    "ls_dispatch.ld_dispatch",
    "ls_dispatch.store_dispatch",
    "ex_ret_ops",
    "ex_ret_cond",
    "ex_ret_brn_tkn_misp",
    "ex_no_retire.load_not_complete",
    "ex_no_retire.all",
    "de_dispatch_stall_cycle_dynamic_tokens_part1.store_queue_rsrc_stall",
)
SHARING = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
DILUTED = ("parallel_scalar_sum", "ticket_dispenser", "row_counters")
ATTEMPTS = 3
# What HITM is on Intel: a line taken from another core's cache. On AMD it is seen where the other core has another L3.
CONTENTION = (
    "ls_dmnd_fills_from_sys.near_cache",
    "ls_any_fills_from_sys.near_cache",
    "l2_fill_rsp_src.near_cache",
)


@dataclass(frozen=True)
class Recording:
    """One file to make: runs of one program in one form.

    Attributes
    ----------
    program : Program
    form : str
        "good", "bad"; or "diluted-SHARE", the bad form with only that share of updates at the contended place,
        and "control-SHARE", the good form with the same share (its own path through the code) to compare with.
    sharing : float
    runs : tuple of (str, int, float)
        Name, threads and scale of each run.
    parts : tuple of tuple of (str, str)
        Name and configuration of the events of each execution of a run.
    per : str
        Counter by which the others will be divided; in every part, if it isn't the instructions.
    """

    program: Program
    form: str
    sharing: float
    runs: tuple
    parts: tuple
    per: str = "instructions"

    @property
    def executions(self):
        return len(self.runs) * len(self.parts)


def raw_events(table, counters=COUNTERS):
    """Encode events of a table as perf_event_open's raw configuration.

    Parameters
    ----------
    table : DataFrame
        Index event; columns code and umask [integers].
    counters : sequence of str

    Returns
    -------
    tuple of (str, str)
        Name and hexadecimal configuration: bits 0-7 and 32-35 the code, 8-15 the umask.
    """
    missing = [name for name in counters if name not in table.index]
    if missing:
        raise CmlibError(f"events {missing} are not in the table of this machine: pass others as NAME=CONFIG")
    codes = table.loc[list(counters), ["code", "umask"]].itertuples()
    return tuple((name, hex(code & 0xFF | (code >> 8) << 32 | umask << 8)) for name, code, umask in codes)


def plan(programs, events, *, good_counters, nodes=1, max_threads=4, diluted_runs=10, per="instructions"):
    """List the recordings of Table 2 and of the dilution curve.

    Runs differ in threads (2 to `max_threads`) and in scale (1 to 2.6); each is executed once for every
    `good_counters` - 1 events, as one counter always holds the instructions.

    Parameters
    ----------
    programs : sequence of Program
    events : sequence of (str, str)
    good_counters : int >= 2
        What `cmlib doctor` found good, not what is offered.
    nodes : int, default 1
        NUMA nodes here; programs that need more are left out.
    max_threads : int, default 4
    diluted_runs : int, default 10
        Bad runs at each share of the dilution curve, beside twice as many good ones; 0 for none.
    per : str, default "instructions"
        Counter by which the others are divided; another must be among the events, and is counted in every
        execution: ``task-clock`` where there is no PMU.

    Returns
    -------
    list of Recording
    """
    if good_counters < 2:
        raise CmlibError(
            f"{good_counters} good counters: it takes two, for instructions and one event at a time"
        )
    always = tuple(event for event in events if event[0] == per)
    if per != "instructions" and not always:
        raise CmlibError(f"counts can't be divided by {per}: it is not among the events")
    others = [event for event in events if event[0] != per]
    width = good_counters - 1
    parts = tuple(always + tuple(others[i : i + width]) for i in range(0, len(others), width))

    def recording(program, form, n_runs, sharing=1.0, shift=0):
        runs = tuple(
            (f"{form}-{i:03d}", 2 + (i + shift) % (max_threads - 1), 1 + 0.2 * ((i + shift) * 5 % 9))
            for i in range(n_runs)
        )
        return Recording(program, form, sharing, runs, parts, per)

    recordings = []
    for program in programs:
        if program.nodes > nodes:
            continue
        training, good, bad = program.runs
        recordings += [recording(program, "good", training + good), recording(program, "bad", bad, shift=1)]
        if program.name in DILUTED and diluted_runs:
            for share in SHARING:
                recordings.append(recording(program, f"control-{share:g}", 2 * diluted_runs, share))
                recordings.append(recording(program, f"diluted-{share:g}", diluted_runs, share, shift=2))
    return recordings


def estimate_minutes(recordings, binaries):
    """Expected duration, from one uncounted execution of each program in each form.

    Parameters
    ----------
    recordings : sequence of Recording
    binaries : path-like
        From `build`.

    Returns
    -------
    list of float
        Minutes of each recording.
    """
    minutes = []
    for item in recordings:
        threads, scale = item.runs[0][1], statistics.mean(scale for _, _, scale in item.runs)
        start = datetime.datetime.now()
        execute(_argv(item, binaries, threads, scale))
        minutes.append((datetime.datetime.now() - start).total_seconds() * item.executions / 60)
    return minutes


def record(recording, binaries, folder, machine, *, progress=lambda run: None):
    """Make one recording, unless it is there already.

    Written are ``<folder>/<program>/<form>.csv.gz`` (what the regions wrote, unchanged, one execution after
    the other under a line that names it) and then ``<form>.json``: a recording exists if this does. Executions
    that were not counted all the time are repeated. Whoever calls holds the counters (`cmlib.machine.counters_lock`).

    Parameters
    ----------
    recording : Recording
    binaries, folder : path-like
    machine : dict
        Where it was recorded.
    progress : callable of str
        Told the name of each finished run.

    Returns
    -------
    Path or None
        The new JSON file.

    Raises
    ------
    CmlibError
        If nothing can be counted here, or the forms disagree in their result.
    """
    target = Path(folder) / recording.program.name / f"{recording.form}.json"
    if target.exists():
        return None
    pieces, rejected = [], 0
    for name, threads, scale in recording.runs:
        texts, repeated = _record_run(recording, binaries, name, threads, scale)
        pieces, rejected = pieces + texts, rejected + repeated
        progress(f"{recording.program.name}/{name}")
    about = {
        "program": recording.program.name,
        "stands_for": recording.program.stands_for,
        "type": recording.program.type,
        "original": recording.program.original,
        "form": recording.form,
        "sharing": recording.sharing,
        "runs": [
            {"run": name, "threads": threads, "scale": scale} for name, threads, scale in recording.runs
        ],
        "events": [dict(part) for part in recording.parts],
        "per": recording.per,
        "rejected_executions": rejected,
        "machine": machine,
    }
    return save_recording(target, pieces, about)


def _argv(recording, binaries, threads, scale):
    form = "good" if recording.form.startswith(("good", "control")) else "bad"
    return recording.program.argv(binaries, form, threads=threads, scale=scale, sharing=recording.sharing)


def _record_run(recording, binaries, name, threads, scale):
    """Execute a run once for each part: (texts, executions that had to be repeated)."""
    argv = _argv(recording, binaries, threads, scale)
    good = replace(recording, form="good")
    checksum, _ = execute(_argv(good, binaries, threads, scale))
    texts, repeated = [], 0
    for number, events in enumerate(recording.parts):
        for _ in range(ATTEMPTS):
            text, result = _counted(argv, events, recording.per)
            if result != checksum:
                raise CmlibError(
                    f"`{' '.join(argv)}` gave {result}, the good form {checksum}: they must agree"
                )
            if text is not None:
                break
            repeated += 1
        else:
            raise CmlibError(
                f"`{' '.join(argv)}`: {', '.join(name for name, _ in events)} were not counted all the time in "
                f"{ATTEMPTS} attempts, or not at all. `cmlib doctor` tells which counters are good; let no other perf "
                "run. Without a PMU only software events count: --events task-clock=1:1,… --per task-clock."
            )
        texts.append(f"# run={name} part={number} threads={threads} scale={scale:g}\n{text}")
    return texts, repeated


def _counted(argv, events, per):
    """What the regions wrote, or None if they weren't counted all the time; and the checksum."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "regions.csv"
        checksum, _ = execute(argv, regions=file, events=events)
        samples = read_regions(file)
        complete = samples[[per, *(name for name, _ in events)]].notna().all(axis=None)
        whole = complete and math.isclose(samples["running"].min(), 1, abs_tol=1e-3)
        return (file.read_text() if whole else None), checksum
