"""A small program whose loads and stores are known, simulated once for the tests that need it."""

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "golden/callgrind-3.19/planted.c"
# Small ones, so that the program misses the last one as well.
CACHES = {"I1": "32K,8,64", "D1": "32K,8,64", "LL": "256K,8,64"}


def build(folder, *, name="planted", source=None):
    """Compile the planted program, or other source of it, and return its path as text."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(SOURCE.with_name("mix.h"), folder)
    file = folder / f"{name}.c"
    file.write_text(source or SOURCE.read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run(["cc", "-O1", "-g", "-pthread", "-o", folder / name, file], check=True)
    return str(folder / name)
