"""What `perf stat -x` and `-j` write for one program."""

from cmlib.io.perf.parsing import parse_rows

NAME = "perf stat -x or -j"
TELLS_SHARES = True


def recognises(text):
    """Always: what no other form recognises is read so, or refused with the line."""
    return True


def read(text, interval_ms=None):
    """Read such output: as :func:`cmlib.io.perf.parse_stat`."""
    return parse_rows(text)


def remarks(text):
    """Nothing is taken for granted."""
    return []
