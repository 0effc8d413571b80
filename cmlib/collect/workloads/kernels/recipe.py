"""What the fifteen programs are, how they are built, and how they are run."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cmlib.collect.compare.regions import include_dir
from cmlib.errors import CmlibError

SOURCES = Path(__file__).parent / "src"


@dataclass(frozen=True)
class Kernel:
    """A row of Table 2."""

    name: str
    stands_for: str
    type: str
    original: bool
    size: int
    runs: tuple[int, int, int]
    exponent: int = 1
    nodes: int = 1

    def argv(self, folder, form, *, threads, scale=1, repeats=20, sharing=1.0):
        """Command line of one execution."""
        size = round(self.size * scale ** (1 / self.exponent))
        return [str(Path(folder) / self.name), form, str(threads), str(size), str(repeats), f"{sharing:g}"]


def kernels():
    """All programs, in the order of Table 2."""
    return [
        Kernel("parallel_scalar_sum", "parallel_scalar_sum", "fs", False, 2_000_000, (33, 20, 20)),
        Kernel("parallel_vector_sum", "parallel_vector_sum", "fs", False, 4_000_000, (40, 20, 20)),
        Kernel("parallel_dot_product", "parallel_dot_product", "fs", False, 2_000_000, (28, 20, 20)),
        Kernel("parallel_matrix_mult", "parallel_matrix_mult", "fs", False, 128, (20, 20, 20), exponent=3),
        Kernel("parallel_matrix_comp", "parallel_matrix_comp", "fs", False, 1400, (20, 20, 20), exponent=2),
        Kernel("blackscholes", "blackscholes", "np", False, 60_000, (10, 10, 6), nodes=2),
        Kernel("ticket_dispenser", "bodytrack", "ts", False, 400_000, (10, 10, 6)),
        Kernel("hash_table_lock", "dedup", "ts", False, 60_000, (10, 10, 6)),
        Kernel("streamcluster", "streamcluster", "np", False, 60_000, (10, 10, 6), nodes=2),
        Kernel("histogram", "histogram", "fs", False, 1_000_000, (20, 20, 20)),
        Kernel("linear_regression", "linear_regression", "fs", False, 1_000_000, (20, 20, 20)),
        Kernel("reverse_index", "reverse_index", "fs", False, 4_000_000, (20, 20, 20)),
        Kernel("spinlock_pool", "Boost", "fs", True, 600_000, (100, 10, 10)),
        Kernel("cache_server", "Memcached", "ts", False, 200_000, (41, 10, 10)),
        Kernel("row_counters", "MySQL", "fs", False, 200_000, (58, 10, 10)),
    ]


def build(folder, names=None):
    """Compile the programs that are not there yet, or older than a source."""
    folder = Path(folder)
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if compiler is None or shutil.which(compiler) is None:
        raise CmlibError(
            f"no C++ compiler ({compiler or 'c++'}) to build the kernels with: install one (Debian: g++ and "
            "libboost-dev), or name one in CXX"
        )
    folder.mkdir(parents=True, exist_ok=True)
    shared = [*SOURCES.glob("*.hpp"), *include_dir().glob("*.h")]
    for name in names or [program.name for program in kernels()]:
        source, target = SOURCES / f"{name}.cpp", folder / name
        newest = max(file.stat().st_mtime for file in (source, *shared))
        if not target.is_file() or target.stat().st_mtime < newest:
            flags = ["-std=c++17", "-O2", "-Wall", "-pthread", f"-I{include_dir()}"]
            _run([compiler, *flags, str(source), "-o", str(target)])
    return folder


def execute(argv, *, regions=None, events=()):
    """Run one program once."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CMLIB_")}
    if regions is not None:
        environment["CMLIB_REGIONS"] = str(regions)
        environment["CMLIB_EVENTS"] = ",".join(f"{name}={code}" for name, code in events)
    printed = dict(line.split() for line in _run(argv, environment).splitlines())
    return int(printed["checksum"]), float(printed["seconds"])


def _run(argv, environment=None):
    done = subprocess.run(argv, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise CmlibError(f"`{' '.join(argv)}` failed with {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout
