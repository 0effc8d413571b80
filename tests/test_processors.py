"""Tables made of vendors' files: their formulas against the vendors', their names against perf's, names in use."""

import csv
import itertools
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
import yaml

from cmlib import processors, topdown
from cmlib.io import events

ROOT = Path(__file__).resolve().parents[1]
FACTS = yaml.safe_load((ROOT / "tools/processors.yaml").read_text(encoding="utf-8"))["processors"]
VENDORS = Path(os.environ.get("CMLIB_PUBLIC", "")).resolve().parent / "events/vendors.tar.xz"
WITH_FORMULAS = [name for name in processors.known() if processors.read(name)["categories"]]
# perf's names of what vendors call otherwise.
OURS = {
    "topdown.slots:perf_metrics": "topdown.slots",
    "cpu_clk_unhalted.thread": "cycles",
    "cpu_clk_unhalted.core": "cycles",
    "cpu_cycles": "cycles",
    "inst_retired.any": "instructions",
    **{f"perf_metrics.{long}": f"topdown-{short}" for long, short in (
        ("retiring", "retiring"), ("bad_speculation", "bad-spec"), ("frontend_bound", "fe-bound"),
        ("backend_bound", "be-bound"), ("heavy_operations", "heavy-ops"), ("fetch_latency", "fetch-lat"),
        ("branch_mispredicts", "br-mispredict"), ("memory_bound", "mem-bound"),
    )},
}  # fmt: skip


def ours(name):
    """A vendor's event as the tables call it."""
    name = name.lower()
    return OURS.get(name) or re.sub(r":([a-z][0-9a-fx]*)", r"_\1", name)


def by_python(expression, counts):
    """The vendor's expression as Python computes it: all that it holds are names, numbers and Python's operators."""
    return eval(expression, {"__builtins__": {}, "min": min, "max": max}, counts)


def assert_same(name, vendor, share, counts_of, n=5):
    """A category's first formula, on random counts, against what `share` makes of the same counts."""
    about = processors.read(name)
    (row,) = (row for row in about["categories"] if row["vendor"] == vendor)
    slots = about["slots"][0] if isinstance(about["slots"], list) else about["slots"]
    needed = {*topdown.names_in(row["formulas"][0]), *topdown.names_in(slots)} - {"slots", "parent"}
    rng = np.random.default_rng(0)
    for _ in range(n):
        counts = {event: rng.uniform(1e6, 1e9) for event in needed | set(counts_of)}
        values = counts | {"slots": topdown.evaluate(slots, counts)}
        found = topdown.evaluate(row["formulas"][0], values) / values["slots"]
        npt.assert_allclose(found, share(counts), rtol=1e-9, atol=1e-12, err_msg=f"{name}: {vendor}")


def test_formulas_of_haswell_and_graviton_3_are_the_vendors():
    """As perfmon and Linux print them; all others below, from their files."""
    retired, issued, recovery = "uops_retired.retire_slots", "uops_issued.any", "int_misc.recovery_cycles"
    assert_same(
        "intel_haswell",
        "Bad_Speculation",
        lambda counts: (counts[issued] - counts[retired] + 4 * counts[recovery]) / (4 * counts["cycles"]),
        [issued, retired, recovery, "cycles"],
    )
    names = ["op_retired", "op_spec", "stall_slot", "br_mis_pred", "cycles"]
    expression = "(1 - op_retired / op_spec) * (1 - stall_slot / (cycles * 8)) + br_mis_pred * 4 / cycles"
    assert_same("arm_neoverse_v1", "bad_speculation", lambda counts: by_python(expression, counts), names)


@pytest.fixture(scope="module")
def vendors(tmp_path_factory):
    if not VENDORS.is_file():
        pytest.skip("takes the vendors' files, beside the folder CMLIB_PUBLIC")
    folder = tmp_path_factory.mktemp("vendors")
    with tarfile.open(VENDORS) as archive:
        archive.extractall(folder, filter="data")
    return folder


# Further processors of a table.
ALSO = {
    "HSW/metrics/haswell": "intel_haswell", "BDW/metrics/broadwell": "intel_broadwell",
    "SKL/metrics/skylake": "intel_skylake", "CLX/metrics/cascadelakex": "intel_skylake",
    "ICL/metrics/icelake": "intel_icelake", "RKL/metrics/rocketlake": "intel_icelake",
    "EMR/metrics/emeraldrapids": "intel_sapphirerapids",
}  # fmt: skip
METRICS = {f"{file}_metrics.json": name for file, name in ALSO.items()} | {
    "ARL/metrics/arrowlake_metrics_lioncove_core.json": "intel_lioncove"
}
METRICS = [*((name, file) for file, name in METRICS.items())] + [
    (name, FACTS[name]["metrics"])
    for name in WITH_FORMULAS
    if "json" in FACTS[name]["metrics"] and name[:5] == "intel"
]
# What one of two threads of a core counts for both.
OF_BOTH = {
    "cpu_clk_unhalted.thread_any": "cycles",
    "int_misc.recovery_cycles_any": "int_misc.recovery_cycles",
}


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("name", "file"), METRICS)
def test_formulas_are_those_of_perfmon(vendors, name, file, threads):
    """`Formula` with its aliases: of one thread a core, and of a core whose two threads are counted together."""
    file = vendors / "intel" / file
    metrics = {m["MetricName"]: m for m in json.loads(file.read_text(encoding="utf-8-sig"))["Metrics"]}
    rows = [row for row in processors.read(name)["categories"] if row["level"] <= 2]
    assert len(rows) == 12
    if threads > 1 and name == "intel_haswell":  # where both threads' uops are halved, whichever of them runs
        rows = [row for row in rows if row["vendor"] not in ("Memory_Bound", "Core_Bound")]
    for row in rows:
        metric = metrics[row["vendor"]]
        aliases = {event["Alias"]: ours(event["Name"]) for event in metric["Events"]}
        formula = metric["Formula"].strip()

        def share(counts, aliases=aliases, formula=formula):
            counts = counts | {both: 2 * counts[event] for both, event in OF_BOTH.items() if event in counts}
            values = {alias: counts[event] for alias, event in aliases.items()}
            return by_python(formula, values | {"smt_on": threads > 1, "threads": threads}) / 100

        assert_same(name, row["vendor"], share, [*map(lambda e: OF_BOTH.get(e, e), aliases.values())])


@pytest.mark.slow
def test_widths_models_and_counters_are_the_vendors(vendors):
    widths = {
        "intel_haswell": 4,
        "intel_broadwell": 4,
        "intel_skylake": 4,
    }  # in their formulas, compared above
    columns = {"intel_icelake": "ICL", "intel_tigerlake": "TGL", "intel_sapphirerapids": "SPR",
               "intel_graniterapids": "GNR", "intel_goldencove": "ADL/RPL", "intel_redwoodcove": "MTL",
               "intel_lioncove": "LNL/ARL", "intel_cougarcove": "PTL"}  # fmt: skip
    efficient = [name for name in WITH_FORMULAS if ".csv:" in FACTS[name]["metrics"]]
    columns |= {name: FACTS[name]["metrics"].partition(":")[2] for name in efficient}
    for file in ("TMA_Metrics-full.csv", "E-core_TMA_Metrics.csv"):
        read = list(csv.reader((vendors / "intel" / file).read_text(encoding="utf-8-sig").splitlines()))
        heads = next(row for row in read if row and row[0] == "Key")
        told = next(row for row in read if "#Pipeline_Width" in row[:2])
        for name, column in columns.items():
            if column in heads:  # an empty cell is as the next column, of an older processor
                widths[name] = int(next(filter(None, told[heads.index(column) :])))
    assert {name: FACTS[name]["width"] for name in widths} == widths and len(widths) == 15
    listed = list(csv.DictReader((vendors / "intel/mapfile.csv").read_text(encoding="utf-8").splitlines()))
    pmus = {"": "", "Core": "cpu_core", "Atom": "cpu_atom", "LowPower_Atom": "cpu_lowpower"}
    for name in widths:
        about, masks = processors.read(name), set()
        for file in FACTS[name]["perfmon"]:
            content = json.loads((vendors / "intel" / file).read_text(encoding="utf-8-sig"))
            masks |= {event.get("Counter", "") for event in content["Events"]}
            for row in (row for row in listed if row["Filename"] == f"/{file}"):
                vendor, family, model = re.match(r"(\w+)-(\w+)-(\w+)", row["Family-model"]).groups()
                machine = {"vendor": vendor, "family": int(family, 16), "model": int(model, 16)}
                assert events.find_table_name(machine, pmus[row["Core Role Name"]]) == name
        counters = {int(n) for mask in masks if "Fixed" not in mask for n in re.findall(r"\d+", mask)}
        assert about["counters"] == len(counters)


@pytest.mark.parametrize("name", [name for name in processors.known() if processors.rows(name)])
def test_what_decides_is_in_the_table_and_fits_the_counters(name):
    """With instructions and cycles, for any two categories that are open."""
    masks, costs = {row["event"]: row["takes"] for row in processors.rows(name)}, topdown.read_costs(name)
    free = set(range(processors.read(name)["counters"]))
    anyone = sum(1 << counter for counter in free)
    in_fixed = {"cycles", "slots"} if name.startswith("arm") else {"instructions", "cycles", "slots"}
    masks |= dict.fromkeys(
        ["instructions", "cycles", "stalled-cycles-frontend", "stalled-cycles-backend"], anyone
    )
    for pair in itertools.combinations(costs.decide.keys() - {"with"}, 2):
        listed = ["instructions", "cycles", *(event for category in pair for event in costs.decide[category])]
        named = [event if isinstance(event, str) else event["name"] for event in listed]
        own = [event for event in named if event not in in_fixed and not event.startswith("topdown-")]
        assert set(own) <= set(masks)
        assert fit([masks[event] for event in own], free)


def fit(masks, free):
    """Whether each event gets one of the counters that it can take."""
    if not masks:
        return True
    first, *rest = sorted(masks, key=int.bit_count)
    return any(fit(rest, free - {counter}) for counter in free if first >> counter & 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WITH_FORMULAS if ".csv:" in FACTS[name]["metrics"]])
def test_formulas_of_efficiency_cores_are_those_of_the_spreadsheet(vendors, name):
    file, column = FACTS[name]["metrics"].split(":")
    read = list(csv.reader((vendors / "intel" / file).read_text(encoding="utf-8-sig").splitlines()))
    heads = next(row for row in read if row and row[0] == "Key")
    cells = {}
    for row in read:
        about = dict(zip(heads, row, strict=False))
        cells |= {about.get(f"Level{level}", ""): about.get(column, "") for level in (1, 2)}
    rows = [row for row in processors.read(name)["categories"] if row["level"] <= 2]
    assert len(rows) == 10
    for row in rows:
        text = cells[row["vendor"]]
        for _ in range(2):
            text = re.sub(r"#*\b([A-Z][a-z]+_[A-Z][a-z]+)\b", lambda match: f"( {cells[match[1]]} )", text)
        names = [*dict.fromkeys(re.findall(r"[A-Z_]+\.[A-Z_]+", text))]

        def share(counts, text=text, names=names):
            written = text.replace("#SLOTS", f"({FACTS[name]['width']} * cycles)")
            for number, event in sorted(enumerate(names), key=lambda item: -len(item[1])):
                written = written.replace(event, f"v{number}")
            values = {f"v{number}": counts[ours(event)] for number, event in enumerate(names)}
            return by_python(written.strip(), values | {"cycles": counts["cycles"]})

        assert_same(name, row["vendor"], share, [*map(ours, names), "cycles"])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WITH_FORMULAS if name.startswith("arm")])
def test_formulas_of_arm_are_linux_s(vendors, name):
    """`MetricExpr`; on a revision whose events count slots as they are called."""
    expressions = {}
    for file in FACTS[name]["metrics"]:
        for entry in json.loads((vendors / "linux" / file).read_text(encoding="utf-8")):
            if "MetricExpr" in entry:
                expressions[entry.get("MetricName") or entry["ArchStdEvent"]] = entry["MetricExpr"]
    for row in processors.read(name)["categories"]:
        text = expressions[row["vendor"]].replace("#slots", str(FACTS[name]["width"])).lower()
        names = set(re.findall(r"[a-z]\w+", text)) - {"if", "else", "strcmp_cpuid_str"}
        text = re.sub(r"strcmp_cpuid_str\(\w+\)", "1", text).replace("| 1 ^ 1", "or 0")
        names = {event for event in names if not re.fullmatch(r"x?[0-9a-f]+", event)}

        def share(counts, text=text, names=names):
            return by_python(text, {event: counts[ours(event)] for event in names}) / 100

        assert_same(name, row["vendor"], share, map(ours, names))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["amd_zen4", "amd_zen5"])
def test_levels_1_and_2_of_amd_are_linux_s(vendors, name):
    table = topdown.read_table(name)
    file = vendors / f"linux/x86/{name.replace('_', '')}/pipeline.json"
    metrics = {
        re.sub("_(by|from)_", "_", entry["MetricName"]): entry["MetricExpr"]
        for entry in json.loads(file.read_text())
    }
    called = {"front end": "frontend_bound", "back end": "backend_bound", "bad speculation": "bad_speculation",
              "retired": "retiring", "sibling thread": "smt_contention"}  # fmt: skip
    below = {
        "mispredicted branches": "bad_speculation_mispredicts",
        "microcode": "retiring_microcode",
        "memory": "backend_bound_memory",
    }  # front-end latency is counted by another event than Linux's
    expressions = {metric: text.replace(".", "_") for metric, text in metrics.items() if "cpu@" not in text}
    names = {event for text in metrics.values() if "cpu@" not in text for event in topdown.names_in(text)}
    rng = np.random.default_rng(0)
    counts = {event: rng.uniform(1e6, 1e9) for event in names - {"d_ratio"} - set(metrics)}
    counts |= {"cycles": counts["ls_not_halted_cyc"], "ex_no_retire.not_complete": 2e9}
    values = {event.replace(".", "_"): count for event, count in counts.items()}
    values["d_ratio"] = lambda part, whole: part / whole
    for metric in ("total_dispatch_slots", *called.values(), *below.values()):
        values[metric] = by_python(expressions[metric], values)
    slots = topdown.evaluate(table.slots[0], counts)
    for category in [*table.parts(), *(row for row in table.categories if row.name in below)]:
        parent = slots * values[called[category.parent]] if category.parent else slots
        share = topdown.evaluate(category.formulas[0], counts | {"parent": parent, "slots": slots}) / slots
        npt.assert_allclose(share, values[(called | below)[category.name]], rtol=1e-9)


# By which number perf tells a processor, where its lists of 6.1 have it.
_CPUID = {
    "intel_haswell": "GenuineIntel-6-3F-2", "intel_broadwell": "GenuineIntel-6-4F-1",
    "intel_skylake": "GenuineIntel-6-55-4", "intel_icelake": "GenuineIntel-6-6A-6",
    "intel_tigerlake": "GenuineIntel-6-8C-1", "intel_sapphirerapids": "GenuineIntel-6-8F-6",
    "amd_zen1": "AuthenticAMD-23-1-2", "amd_zen2": "AuthenticAMD-23-31-0",
}  # fmt: skip


@pytest.mark.needs("perf")
@pytest.mark.parametrize("name", sorted(_CPUID))
def test_names_are_those_that_perf_lists(name):
    """But for what a vendor added since, what the table counts with a mask of its own, and formulas' events."""
    environment = os.environ | {"PERF_CPUID": _CPUID[name]}
    listed = subprocess.run(["perf", "list", "--details"], capture_output=True, text=True, env=environment)
    known = {event.lower() for event in re.findall(r"^ {2}([\w.]+) *$", listed.stdout, re.MULTILINE)}
    if len(known & set(events.table(name).index)) < 30:
        pytest.skip("this perf is built without the vendors' lists, as Debian's is")
    names = [event for event in events.table(name).index if not re.search(r"_[ceiu](?:0x)?[0-9a-f]*$", event)]
    unknown = sorted(set(names) - known)
    assert len(unknown) <= 0.1 * len(names), unknown


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("haswell", "intel_haswell"),
        ("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", "intel_haswell"),
        ("6248R", "intel_skylake"),
        ("Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "intel_skylake"),
        ("12th Gen Intel(R) Core(TM) i7-1260P", "intel_goldencove"),
        ("icelake", "intel_icelake"),
        ("spr", "intel_sapphirerapids"),
        ("6980P", "intel_graniterapids"),
        ("sierra-forest", "intel_crestmont"),
        ("zen2", "amd_zen2"),
        ("AMD EPYC 7742 64-Core Processor", "amd_zen2"),
        ("AMD Ryzen 9 7950X 16-Core Processor", "amd_zen4"),
        ("graviton3", "arm_neoverse_v1"),
        ("Neoverse-N1", "arm_neoverse_n1"),
        ("intel_westmere", "intel_westmere"),
        ("westmere", "intel_westmere"),
        *((name, name) for name in sorted({*topdown.known_costs(), *events.known_tables()})),
    ],
)
def test_processors_are_found_by_the_names_that_people_use(called, name):
    assert processors.find(called) == name


@pytest.mark.parametrize(("called", "near"), [("hasswel", "haswell"), ("graviton33", "graviton3")])
def test_an_unknown_processor_is_refused_with_near_names(called, near):
    with pytest.raises(processors.UnknownProcessorError, match=f"Did you mean .*{near}"):
        processors.find(called)


def test_no_name_in_use_is_that_of_two_processors():
    plain = [called for name in processors.known() for called in processors.read(name)["names"]]
    assert len(set(plain)) == len(plain)


def test_cores_of_two_kinds_have_tables_of_their_own():
    laptop = {"vendor": "GenuineIntel", "family": 6, "model": 0x9A}
    assert events.find_table_name(laptop) == "intel_goldencove"
    assert events.find_processor([laptop], ["cycles"], "cpu_atom") == "intel_gracemont"
    table = events.table("intel_gracemont")
    assert "topdown_fe_bound.all" in table.index


def test_an_event_with_a_mask_is_encoded_with_it():
    table = events.table("intel_haswell")
    name = "idq_uops_not_delivered.cycles_0_uops_deliv.core"
    assert events.encode(name, table) == f"cpu/event=0x9c,umask=0x1,cmask=0x4,name={name}/u"


@pytest.mark.parametrize("name", processors.known())
def test_events_that_decide_have_the_codes_of_their_table(name):
    rows = {row["event"]: row for row in processors.rows(name)}
    for listed in (processors.read(name)["costs"] or {"decide": {}})["decide"].values():
        for event in (event for event in listed if isinstance(event, dict)):
            row = rows[event["name"]]
            assert event["code"].startswith(f"event={row['code']:#x},umask={row['umask']:#x}")
