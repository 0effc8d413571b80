"""Files that people take for output of `perf stat -I`, told by how they begin."""

import re

_INSTEAD = "Counts per interval are needed: record with `perf stat -I 100 -x, -o FILE -- COMMAND`"
_BEGINNINGS = {
    b"PERFILE2": f"is perf's own format, as `perf record` and `perf stat record` write it. {_INSTEAD}.",
    b"PK\x03\x04": "is an archive: unpack it first.",
    b"\xef\xbb\xbf": "was saved by a program that put a byte order mark before perf's output. "
    "Import the file as perf wrote it.",
    b"\xff\xfe": "was saved in UTF-16. Import the file as perf wrote it.",
    b"\xfe\xff": "was saved in UTF-16. Import the file as perf wrote it.",
}
# Command, thread, processor, time and event of a sample, as in `sleep 267 [001]  9218.512996:  250000 task-clock:`.
_SAMPLE = re.compile(
    rb"(?:#[^\n]*\n|[ \t]*\n)*[^\n]*?[ \t][0-9]+(?:\.[0-9]+)?:[ \t]+(?:[0-9]+[ \t]+)?[^\s,;]+:[a-zA-Z]*:?(?:\s|$)"
)
# As `toplev -x,` writes its heading; the values are shares of slots, ratios and clock rates.
_TOPLEV = re.compile(rb"(?:#[^\n]*\n)*(?:Timestamp[,;])?(?:CPUs?[,;])?Area[,;]Value[,;]Unit\b")
_LIKWID = re.compile(rb"^(?:\| *)?Event *[|,] *Counter|^# GID", re.MULTILINE)
# A table without its heading.
_NUMBERS = re.compile(
    rb"\s*[0-9]+(?:\.[0-9]+)?(?:([,;\t|])[0-9]+(?:\.[0-9]+)?)(?:\1[0-9]+(?:\.[0-9]+)?)+\s*\n"
)


def recognise(content):
    """Say what a file is that is no interval output of ``perf stat``."""
    for beginning, refusal in _BEGINNINGS.items():
        if content.startswith(beginning):
            return refusal
    if _SAMPLE.match(content[:4096]):
        return f"is output of `perf script`: samples. {_INSTEAD}."
    if _TOPLEV.match(content[:4096]):
        return f"is output of toplev: metrics, which are no counts. {_INSTEAD}."
    if b"access_client.c" in content and not _LIKWID.search(content):
        return "holds errors of likwid, which did not reach its access daemon, and no counts."
    if _NUMBERS.match(content[: 1 << 20]):
        return "begins with a row of numbers: put a line above it that names the event of each column."
    return None
