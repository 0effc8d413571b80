"""DataCaching: memcached, and a client of ours that draws keys by Zipf's law."""

import os
from contextlib import contextmanager
from pathlib import Path

from cmlib.collect.workloads.recipe import Counted, cached_input, run_tool, scratch
from cmlib.collect.workloads.server import memcached

PORT = 17211
_SOURCE = Path(__file__).parent / "src" / "zipf_client.c"
_KEYS, _REQUESTS, _CONNECTIONS = 400_000, 1_200_000, 16


@contextmanager
def prepare(scale, options, *, port=PORT, keys=_KEYS, seed=1):
    """Get memcached ready, filled with every key."""
    client = [str(build_client()), "load", str(port), str(keys), str(round(_REQUESTS * scale))]
    with (
        scratch("datacaching") as folder,
        memcached(folder, port, megabytes=1024, threads=2) as server,
    ):
        run_tool([client[0], "fill", port, keys, keys, _CONNECTIONS, seed], timeout=300)
        yield Counted([*client, str(_CONNECTIONS), str(seed)], server.pids)


def build_client():
    """Compile the client, once; its path."""

    def compile_to(path):
        run_tool([os.environ.get("CC", "cc"), "-O2", "-Wall", _SOURCE, "-o", path, "-lm"])

    return cached_input("zipf_client", compile_to, source=_SOURCE.read_text(encoding="utf-8"))
