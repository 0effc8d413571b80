"""Counts that no counter held and names that no tool gave are refused in every form, or are not among the counts."""

import numpy as np
import pytest

from cmlib.io.archive.programs import RecordError
from cmlib.io.perf.formats import FORMATS, find_format
from cmlib.io.sources import read_sources


def timed(row, n=3):
    return "".join(row.replace("TIME", f"{k}.000000000") for k in range(1, n + 1))


_LIKWID = "# GID|EventCount|CpuCount|Total runtime [s]|EVENT|B\n1|2|1|1.0|VALUE|4\n1|2|1|2.0|5|4\n"
_DRAWN = (
    "| Event | Counter | HWThread 0 | HWThread 1 |\n+--+--+--+--+\n"
    "| EVENT | FIXC0 | 5 | VALUE |\n| B | PMC0 | 4 | 4 |\n"
)
_STATEMENTS = (
    'core[0]["EVENT"][1] = 1\ncore[0]["EVENT"][2] = VALUE\ncore[0]["B"][1] = 1\ncore[0]["B"][2] = 2\n'
)
_OBJECT = (
    '{"interval" : TIME, "counter-value" : "VALUE", "unit" : "", "event" : "EVENT", "event-runtime" : 9, '
    '"pcnt-running" : 80.00}\n'
)
FORMS = {
    "PAPI": "PAPI_TOT_INS : 900\nPAPI_TOT_CYC : VALUE\nEVENT = 5\n",
    "APerf": "2024-01-01T00:00:00Z\n0 ipc;5;6;1\n1 ipc;5;VALUE;1\n0 EVENT;5;6;1\n",
    "likwid -t": _LIKWID.replace("|", " ").replace("# GID EventCount CpuCount Total runtime [s] EVENT B", _LIKWID[:58]),
    "likwid -t -O": _LIKWID.replace("|", ","),
    "likwid's tables": _DRAWN,
    "likwid -O": "TABLE,Group 1 Raw,x\nEvent,Counter,HWThread 0\nEVENT,FIXC0,VALUE\nB,PMC0,4\n",
    "statements": "walltime[0][1] = 1\nwalltime[0][2] = 2\n" + _STATEMENTS,
    "wide": "time_s,EVENT,instructions\n1,5,6\n2,VALUE,6\n3,7,6\n",
    "fields": timed("TIME,VALUE,,EVENT,9,80.00,,\n"),
    "JSON": timed(_OBJECT),
    "few columns": timed("TIME,VALUE,EVENT\n"),
    "for people": timed(" TIME   VALUE   EVENT   # 1 x (80.00%)\n"),
    "table": " Performance counter stats for 'x':\n\n 5 instructions\n VALUE EVENT\n\n 1.0 seconds time elapsed\n",
    "a CPU": timed("TIME,CPU1,VALUE,,EVENT,9,80.00,,\n"),
    "a cgroup": timed("TIME,VALUE,,EVENT,grp,9,80.00,,\n"),
    "objects": '[{"EVENT": 6, "instructions": 7}, {"EVENT": VALUE, "instructions": 7}]',
    "column of events": "time,event,count\n1,EVENT,5\n1,instructions,5\n2,EVENT,VALUE\n2,instructions,6\n",
    "google-benchmark": '{"benchmarks": [{"name": "x", "real_time": 1, "iterations": 2, "EVENT": VALUE, "CYCLES": 3}]}',
}  # fmt: skip
GOOD = {"PAPI": "PAPI_L1_DCM", "APerf": "l1-pki"}
IMPOSSIBLE = ["-5", "inf", "-inf", "nan", "NaN", "true", "null", "1e400", f"1{400 * '0'}", "9" * 30, "٣"]
# Words of R, of databases, of pandas and of likwid for what is missing.
MISSING = {(form, "null") for form in ("wide", "objects", "column of events")} | {
    *((form, "nan") for form in FORMS if form.startswith("likwid")),
    *((form, word) for form in ("wide", "column of events") for word in ("nan", "NaN")),
}
NOT_UTF8 = b"a\x92b".decode("utf-8", "surrogateescape")
HOSTILE = [
    "x';touch${IFS}PWN;'",
    'a"b',
    "a b",
    "$(id)",
    "`id`",
    "a&b|c",
    "a\x1b]0;x\x07",
    "\u202e<b>",
    "x" * 3000,
    NOT_UTF8,
]


def text_with(form, event, value):
    return FORMS[form].replace("EVENT", event).replace("VALUE", value)


def read(tmp_path, form, event, value):
    file = tmp_path / "x.txt"
    file.write_bytes(text_with(form, event, value).encode("utf-8", "surrogateescape"))
    return read_sources([file], {}, interval_ms=None, columns=None)


def test_every_form_has_a_text():
    texts = [text_with(form, GOOD.get(form, "cycles"), "5") for form in FORMS]
    assert {type(find_format(text)) for text in texts} == set(FORMATS)


@pytest.mark.parametrize("form", FORMS)
def test_what_no_counter_holds_is_refused(tmp_path, form):
    good = GOOD.get(form, "cycles")
    assert read(tmp_path, form, good, "5")
    for value in IMPOSSIBLE:
        if (form, value.lower()) not in MISSING:
            with pytest.raises(RecordError, match=r"x\.txt "):
                read(tmp_path, form, good, value)


@pytest.mark.parametrize(("form", "word"), sorted(MISSING))
def test_a_word_for_what_is_missing_is_not_counted_and_said(tmp_path, form, word):
    (source,) = read(tmp_path, form, "cycles", word)
    (plain,) = read(tmp_path, form, "cycles", "5")
    assert (
        source.counts["cycles"].isna().any() or source.counts["cycles"].sum() < plain.counts["cycles"].sum()
    )
    assert word in source.remark and word not in plain.remark


@pytest.mark.parametrize("form", FORMS)
def test_names_that_no_tool_gives_are_not_imported(tmp_path, form):
    for name in HOSTILE:
        try:
            sources = read(tmp_path, form, name, "5")
        except RecordError as error:
            assert str(error).startswith(f"{tmp_path}/x.txt ")
        else:
            for source in sources:
                assert all(event.isascii() and event.isprintable() for event in source.counts)
                assert (
                    not set("'\"$;&|`<> ") & set("".join(source.counts)) and max(map(len, source.counts)) < 50
                )
                assert source.remark.isprintable() and np.isfinite(source.counts.to_numpy()).any()
