"""DataServing: RocksDB's own benchmark in one process, reads and writes half and half."""

import os
import shutil
from contextlib import contextmanager

from cmlib.collect.workloads.recipe import Counted, cached_input, run_tool, scratch

_KEYS, _OPERATIONS = 1_000_000, 900_000


@contextmanager
def prepare(scale, options, *, keys=_KEYS):
    """Get a filled database ready; each time the same one."""
    filled = cached_input(
        "rocksdb", lambda path: run_tool(_command(path, keys, "fillrandom,compact"), timeout=900), keys=keys
    )
    operations = max(1, round(_OPERATIONS * scale / 2))
    with scratch("dataserving") as folder:
        database = folder / "database"
        shutil.copytree(filled, database, copy_function=_link_or_copy)
        mixed = ["--use_existing_db=1", "--threads=2", "--readwritepercent=50", "--read_random_exp_range=15"]
        command = _command(database, keys, "readrandomwriterandom")
        yield Counted([*command, *mixed, f"--reads={operations}"])


def _command(database, keys, benchmarks):
    return [
        *("db_bench", f"--db={database}", f"--benchmarks={benchmarks}", f"--num={keys}", "--value_size=1000"),
        *("--compression_ratio=0.5", "--seed=1", "--cache_size=67108864", "--max_background_jobs=1"),
    ]


def _link_or_copy(source, target):
    """RocksDB never changes a table that is written, only removes it; all else is copied."""
    if source.endswith(".sst"):
        os.link(source, target)
    else:
        shutil.copy2(source, target)
