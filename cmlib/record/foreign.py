"""Files that people take for output of `perf stat -I`, told by how they begin."""

import re

_INSTEAD = "Counts per interval are needed: record with `perf stat -I 100 -x, -o FILE -- COMMAND`"
_BEGINNINGS = {
    b"PERFILE2": f"is perf's own format, as `perf record` and `perf stat record` write it. {_INSTEAD}.",
    b"BZh": "is compressed: unpack it with bunzip2 first.",
    b"\xfd7zXZ\0": "is compressed: unpack it with unxz first.",
    b"\x28\xb5\x2f\xfd": "is compressed: unpack it with unzstd first.",
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
_TOTALS = re.compile(rb"^ *Performance counter stats for ", re.MULTILINE)
_TIMED = re.compile(rb"^ *[0-9]{1,12}[.,][0-9]{9}(?! seconds)", re.MULTILINE)


def recognise(content):
    """Say what a file is that is no interval output of ``perf stat``.

    Parameters
    ----------
    content : bytes

    Returns
    -------
    str or None
        What follows the file's name in an error, with what to do; None if it is nothing that is known.
    """
    for beginning, refusal in _BEGINNINGS.items():
        if content.startswith(beginning):
            return refusal
    if _SAMPLE.match(content[:4096]):
        return f"is output of `perf script`: samples. {_INSTEAD}."
    if _TOPLEV.match(content[:4096]):
        return f"is output of toplev: metrics, which are no counts. {_INSTEAD}."
    if (n_totals := len(_TOTALS.findall(content))) and not _TIMED.search(content):
        return f"holds totals, of {n_totals} whole run{'s' * (n_totals > 1)}. {_INSTEAD}."
    return None
