"""Make `data/processors/NAME.json.xz` of what vendors publish: `python tools/make_processor_tables.py FOLDER [NAME…]`.

FOLDER holds `intel/`, a checkout of github.com/intel/perfmon (BSD-3-Clause; its notice is kept in every file made of
it), and `linux/`, tools/perf/pmu-events/arch of Linux, of which names, codes and formulas are taken, and no texts.
`tools/processors.yaml` says which processors there are, and what no vendor's file holds: names in use, estimates.
"""

import ast
import csv
import json
import lzma
import re
import sys
from pathlib import Path

import yaml

_HERE = Path(__file__).resolve().parent
_TARGET = _HERE.parent / "data" / "processors"
# perf's names of what Intel counts in fixed counters, and in parts of one of them.
_RENAMED = {
    "cpu_clk_unhalted.thread": "cycles",
    "cpu_clk_unhalted.core": "cycles",
    "inst_retired.any": "instructions",
    "topdown.slots:perf_metrics": "topdown.slots",
    "perf_metrics.retiring": "topdown-retiring",
    "perf_metrics.bad_speculation": "topdown-bad-spec",
    "perf_metrics.frontend_bound": "topdown-fe-bound",
    "perf_metrics.backend_bound": "topdown-be-bound",
    "perf_metrics.heavy_operations": "topdown-heavy-ops",
    "perf_metrics.branch_mispredicts": "topdown-br-mispredict",
    "perf_metrics.fetch_latency": "topdown-fetch-lat",
    "perf_metrics.memory_bound": "topdown-mem-bound",
    "ls_not_halted_cyc": "cycles",
    "cpu_cycles": "cycles",
    "inst_retired": "instructions",
}
_CONSTANTS = {"smt_on": 0, "threads": 1}  # one thread a core, as in the other tables
_MODIFIER_TERMS = {"c": "cmask", "e": "edge", "i": "inv"}
_DESCRIBED = 110
_ARCHITECTURAL = 0x25  # codes below are of every ARM processor, as far as it counts them


def main(folder, names):
    """Write the files of all processors, or of those named."""
    known = yaml.safe_load((_HERE / "processors.yaml").read_text(encoding="utf-8"))
    _TARGET.mkdir(exist_ok=True)
    for name, about in known["processors"].items():
        if not names or name in names:
            made = _processor(name, Path(folder), about, known)
            text = json.dumps(made, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
            packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
            (_TARGET / f"{name}.json.xz").write_bytes(packed)
            levels = [row["level"] for row in made["categories"]]
            print(f"{name}: {len(made['events'])} events, {len(levels)} categories, {len(packed)} bytes")


def _processor(name, folder, about, known):
    events, categories, made = {}, [], {"licence": "", "source": about["source"]}
    if "perfmon" in about:
        for file in about["perfmon"]:
            events |= {row["event"]: row for row in _intel_events(folder / "intel" / file)}
        made["licence"] = (folder / "intel" / "LICENSE").read_text(encoding="utf-8")
        if "metrics" in about:
            categories = _intel_categories(folder / "intel", about, known)
            _add_modified(events, categories)
    elif "linux" in about:
        for row in _linux_events(folder / "linux", about["linux"]):
            events.setdefault(row["event"], row)
        categories = _linux_categories(folder / "linux", about, known)
        _add_modified(events, categories)
    categories = [row for row in categories if all(map(_is_counted(events), names_in(row["formula"])))]
    used = {event for row in categories for event in names_in(row["formula"])}
    kept = [row for event, row in events.items() if event in used or not _is_fixed_or_register(row)]
    like = known["kinds"][about["like"]]
    counted = {row["event"] for row in kept if row["takes"]}
    core = [next((n for n in choices if n in counted), None) for choices in like["core"]]
    order = {name: place for place, name in enumerate(dict.fromkeys(filter(None, core)), 1)}
    fields = ("event", "code", "umask", "extra", "takes", "unit", "core", "description")
    rows = [[(row | {"core": order.get(row["event"], 0)})[field] for field in fields] for row in kept]
    for row in categories:
        row["formulas"] = [f"slots * {row.pop('formula')}", *like.get("also", {}).get(row["name"], ())]
    slots = about.get("slots", f"{about['width']} * cycles") if categories else ""
    costs = None
    if not (_HERE.parent / f"data/topdown/costs/{name}.yaml").is_file():
        costs = (
            known["estimate"] | {"width": about["width"]} | {key: like[key] for key in ("fused", "events")}
        )
        costs["events"] = costs["events"] | about.get("events", {})
        costs["decide"] = _with_codes(about.get("decide", like["decide"]), events)
    return made | {
        "machines": about["machines"],
        "names": about["names"],
        "counters": about["counters"],
        "fields": list(fields),
        "events": rows,
        "slots": slots,
        "categories": categories,
        "costs": costs,
    }


def _is_counted(events):
    """Whether a formula's event is in the table, or counted by a fixed counter under perf's name."""
    return lambda event: event in events or event in _RENAMED.values()


def _with_codes(decide, events):
    """Events that decide, with the codes of this processor's own table: the first of several names that it has."""
    made = {}
    for category, listed in decide.items():
        made[category] = []
        for choices in listed:
            if isinstance(choices, str):
                made[category].append(choices)
                continue
            row = next(events[name] for name in choices if name in events and events[name]["takes"])
            terms = [f"event={row['code']:#x}", f"umask={row['umask']:#x}", row["extra"]]
            made[category].append({"name": row["event"], "code": ",".join(filter(None, terms))})
    return made


def _is_fixed_or_register(row):
    return row["takes"] == 0 or row["event"].startswith(("offcore_response", "ocr."))


def _first_sentence(text):
    """A description cut to its first sentence, in one line of ASCII spaces, with its full stop."""
    text = " ".join(text.split())
    sentence = re.split(r"(?<=[a-z)])\. |\n", text)[0].rstrip(". ")
    if len(sentence) > _DESCRIBED - 1:
        sentence = sentence[: _DESCRIBED - 2].rsplit(" ", 1)[0].rstrip(",;:. ") + " …"
    return sentence[:1].upper() + sentence[1:] + "." if sentence else ""


# --- Intel ---------------------------------------------------------------------------------------


def _read_json(file):
    return json.loads(file.read_text(encoding="utf-8-sig"))


def _intel_events(file):
    for event in _read_json(file)["Events"]:
        if event.get("Deprecated") == "1" or "EventName" not in event:
            continue
        codes = [int(code, 16) for code in event["EventCode"].split(",")]
        umask = int(event["UMask"].split(",")[0], 16) | int(event.get("UMaskExt") or "0", 16) << 8
        terms = [
            f"{term}={int(event.get(key) or '0', 0):#x}"
            for key, term in (
                ("CounterMask", "cmask"),
                ("Invert", "inv"),
                ("EdgeDetect", "edge"),
                ("AnyThread", "any"),
            )
            if int(event.get(key) or "0", 0)
        ]
        name = event["EventName"].lower()
        register, value = event.get("MSRIndex", "0").split(",")[0], event.get("MSRValue") or "0"
        if int(register, 0) and int(value, 0):
            term = {0x3F7: "frontend", 0x3F6: "ldlat"}.get(int(register, 0), "offcore_rsp")
            terms.append(f"{term}={int(value, 0):#x}")
        counters = event.get("Counter", "")
        fixed = "Fixed" in counters and name != "topdown.slots"
        takes = 0 if fixed else sum(1 << int(n) for n in re.findall(r"\d+", counters)) or 1
        yield {
            "event": name,
            "code": codes[0],
            "umask": umask,
            "extra": ",".join(terms),
            "takes": takes,
            "unit": _unit(name),
            "description": _first_sentence(event.get("BriefDescription") or ""),
        }


_UNITS = (
    (r"idq|icache|dsb|lsd|frontend|decode|ild|itlb|topdown_fe|baclears|bp_l1|ic_|de_|op_cache|l1i|l2i", "front-end"),
    (r"br_|ex_ret_brn|bp_|br_mis|branch", "branch-prediction"),
    (r"l1d|l2_|longest|llc|l3|ll_cache|offcore|ocr|mem_load|l1_|bus_|l2d", "caches"),
    (r"dtlb|ld_|ls_|mem_|st_|lsu|page|memory|tlb|unaligned", "load-store"),
    (r"fp_|arith|vfp|ase|sve|fpu", "floating-point"),
)  # fmt: skip


def _unit(name):
    return next((unit for pattern, unit in _UNITS if re.match(pattern, name)), "execution")


_LEVEL_1 = ("Frontend_Bound", "Bad_Speculation", "Backend_Bound", "Retiring")


def _intel_categories(folder, about, known):
    file, _, column = about["metrics"].partition(":")
    read = (
        _read_spreadsheet(folder / file, column, about["width"]) if column else _read_metrics(folder / file)
    )
    metrics = {metric["MetricName"]: metric for metric in sorted(read, key=lambda metric: metric["Level"])}
    made = []
    for name, metric in metrics.items():
        parent = metric.get("ParentCategory") or ""
        if name not in _LEVEL_1 if metric["Level"] == 1 else parent not in metrics:
            continue
        aliases = {event["Alias"]: _spelled(event["Name"]) for event in metric["Events"]}
        if (formula := formula_of(metric["Formula"], aliases)) is None:
            continue
        shown = "Allocation" if name == "Core_Bound" and "Resource_Bound" in metrics else name
        made.append(_category(shown, parent, metric["Level"], formula, known) | {
            "vendor": name, "about": _first_sentence(metric["BriefDescription"]),
        })  # fmt: skip
    return _complete(made, known)


def _read_metrics(file):
    return [
        metric
        for metric in _read_json(file)["Metrics"]
        if metric["Category"] == "TMA"
        and metric["Level"] <= 3
        and (metric.get("ParentCategory") or metric["MetricName"] in _LEVEL_1)
    ]


def _read_spreadsheet(file, column, width):
    """Metrics of a spreadsheet of TMA, in which a category's level is the column that its name stands in."""
    rows = list(csv.reader(file.read_text(encoding="utf-8-sig").splitlines()))
    start = next(number for number, row in enumerate(rows) if row and row[0] == "Key")
    heads, path, expressions = rows[start], {}, {}
    for row in (dict(zip(heads, row, strict=False)) for row in rows[start + 1 :]):
        level = next((level for level in (1, 2, 3) if row.get(f"Level{level}", "").strip()), 0)
        if not level or row["Key"].startswith("Info") or not row[column].strip():
            continue
        path[level] = name = row[f"Level{level}"].strip()
        text = row[column].replace("#SLOTS", f"( {width} * CPU_CLK_UNHALTED.CORE )")
        for known, inner in expressions.items():
            text = re.sub(rf"#*(?<![\w.]){known}(?![\w.])", inner, text)
        expressions[name] = f"( {text} )"
        events = list(dict.fromkeys(re.findall(r"[A-Z][A-Z0-9_]*\.[A-Z0-9_]+", text)))
        for number, event in sorted(enumerate(events), key=lambda item: -len(item[1])):
            text = text.replace(event, f"v{number}")
        yield {
            "MetricName": name,
            "Level": level,
            "ParentCategory": path[level - 1] if level > 1 else None,
            "Formula": f"100 * ( {text} )",
            "Events": [{"Alias": f"v{number}", "Name": event} for number, event in enumerate(events)],
            "BriefDescription": row["Metric Description"],
        }


def _category(vendor_name, parent, level, share, known):
    called = known["categories"]
    return {
        "name": called.get(vendor_name, vendor_name.replace("_", " ")),
        "vendor": vendor_name,
        "parent": called.get(parent, parent.replace("_", " ")),
        "level": level,
        "formula": share,
        "about": "",
    }


def _complete(rows, known):
    """Level 1 with the advice of its name; a part whose name a part elsewhere has too is called by its parent."""
    seen = set()
    for row in rows:
        if row["name"] in seen:
            row["name"] = f"{row['name']} ({row['parent']})"
        seen.add(row["name"])
        row["advice"] = known["advice"].get(row["name"], "")
        row["about"] = row["about"] or known["about"].get(row["name"], f"{row['name'].capitalize()}.")
    return rows


def _spelled(name):
    """Name of an event in a formula: perf's where that differs, modifiers as ``_c1``."""
    name = name.lower()
    if name in _RENAMED:
        return _RENAMED[name]
    name, *modifiers = re.split(r":(?=[a-z])", name)
    modifiers = [modifier for modifier in modifiers if re.fullmatch(r"[ceiu](0x)?[0-9a-f]*", modifier)]
    return "_".join([name, *modifiers])


def _add_modified(events, categories):
    """Rows for names such as ``uops_executed.thread_c1``, whose event is in the table."""
    for name in dict.fromkeys(name for row in categories for name in names_in(row["formula"])):
        found = re.fullmatch(r"(.+?)((?:_[ceiu](?:0x)?[0-9a-f]*)+)", name)
        if name not in events and found and found[1] in events:
            base = events[found[1]]
            terms = [base["extra"]] if base["extra"] else []
            umask = base["umask"]
            for letter, number in re.findall(r"_([ceiu])((?:0x)?[0-9a-f]*)", found[2]):
                if letter == "u":
                    umask = int(number, 16)
                else:
                    terms.append(f"{_MODIFIER_TERMS[letter]}={int(number or '1', 0):#x}")
            events[name] = base | {"event": name, "umask": umask, "extra": ",".join(terms)}


class _Substitute(ast.NodeTransformer):
    """Aliases become events, constants numbers, conditions on constants one of their branches."""

    def __init__(self, aliases):
        self.events = list(aliases.values())
        self.numbers = {alias: f"x{self.events.index(name)}" for alias, name in aliases.items()}

    def visit_Name(self, node):
        if node.id in _CONSTANTS:
            return ast.Constant(_CONSTANTS[node.id])
        return ast.Name(self.numbers.get(node.id, node.id), ast.Load())

    def visit_IfExp(self, node):
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            return self.visit(node.body if test.value else node.orelse)
        parts = [test, self.visit(node.body), self.visit(node.orelse)]
        return ast.Call(ast.Name("where", ast.Load()), parts, [])


def formula_of(text, aliases):
    """A vendor's expression of percent as a formula of a share over events; None where it takes more than events."""
    tree = ast.parse(text.strip().replace("> =", ">=").replace("< =", "<="), mode="eval")
    substitute = _Substitute(aliases)
    written = ast.unparse(substitute.visit(tree))
    used = set(re.findall(r"\b[a-z_]\w*\b", written)) - {"min", "max", "where"}
    if any(not re.fullmatch(r"x\d+", name) for name in used):
        return None
    written = re.sub(r"\bx(\d+)\b", lambda match: substitute.events[int(match[1])], written)
    return written.removeprefix("100 * ") if written.startswith("100 * ") else f"({written}) / 100"


_NAME = re.compile(r"[A-Za-z_][\w]*(?:[.:=][\w]+|-(?=[A-Za-z])[\w]+)*")


def names_in(formula):
    """Events of a formula."""
    return [name for name in _NAME.findall(formula) if name not in ("min", "max", "where", "slots", "parent")]


# --- Linux ---------------------------------------------------------------------------------------


def _linux_events(folder, where):
    common = {}
    for file in ("common-and-microarch.json", "recommended.json"):
        for entry in _read_json(folder / "arm64" / file) if where.startswith("arm64") else ():
            common[entry["EventName"]] = entry
    architectural = [entry for entry in common.values() if int(entry["EventCode"], 0) < _ARCHITECTURAL]
    for entries in [*map(_read_json, sorted((folder / where).glob("*.json"))), architectural]:
        for entry in entries:
            entry = common.get(entry.get("ArchStdEvent"), {}) | entry
            if "EventName" not in entry or "EventCode" not in entry or entry.get("Unit"):
                continue
            code = int(entry["EventCode"], 0)
            umask = int(entry.get("UMask") or "0", 0)
            terms = [f"cmask={int(entry['CounterMask'], 0):#x}"] if entry.get("CounterMask") else []
            name = entry["EventName"].lower()
            yield {"event": name, "code": code, "umask": umask, "extra": ",".join(terms), "takes": 0x3F,
                   "unit": _unit(name), "description": _in_words(name)}  # fmt: skip


_WORDS = {
    "l1d": "L1D",
    "l2d": "L2 data",
    "l3d": "L3",
    "l1i": "L1I",
    "l2": "L2",
    "l3": "L3",
    "ll": "last-level",
    "wb": "write-back",
    "rd": "read",
    "wr": "write",
    "ld": "load",
    "st": "store",
    "mem": "memory",
    "br": "branch",
    "brn": "branch",
    "mis": "mispredicted",
    "misp": "mispredicted",
    "pred": "predicted",
    "spec": "speculative",
    "inst": "instructions",
    "ret": "retired",
    "exc": "exception",
    "dis": "dispatch",
    "tlb": "TLB",
    "dtlb": "DTLB",
    "itlb": "ITLB",
    "ic": "instruction cache",
    "dc": "data cache",
    "ls": "load-store",
    "ex": "execution",
    "bp": "branch predictor",
    "de": "decoder",
    "fp": "floating-point",
    "dmnd": "demand",
    "sys": "system",
}


def _in_words(name):
    """A description made of the words of an event's name, where the vendor's text cannot travel."""
    words = " ".join(_WORDS.get(word, word) for word in re.split(r"[._]", name) if word)
    return words[:1].upper() + words[1:] + "."


def _linux_categories(folder, about, known):
    """Top-down metrics of Linux, with metrics that they name put in their place."""
    if not about.get("levels"):
        return []
    expressions = {}
    for file in about["metrics"]:
        for entry in _read_json(folder / file):
            if "MetricExpr" in entry:
                expressions[entry.get("MetricName") or entry["ArchStdEvent"]] = entry["MetricExpr"]
            elif entry.get("ArchStdEvent"):
                expressions.setdefault(entry["ArchStdEvent"], None)
    rows = []
    for level, parent, metric in about["levels"]:
        text = expressions[metric]
        for _ in range(5):
            for name, inner in expressions.items():
                if inner:
                    text = (
                        re.sub(rf"(?<![\w.]){name}(?![\w.])", f"({inner})", text) if name != metric else text
                    )
        rows.append(_category(metric, parent, level, _linux_formula(text, about), known))
    return _complete(rows, known)


def _linux_formula(text, about):
    text = text.replace("\\", "").replace("#slots", str(about["width"]))
    text = re.sub(r"strcmp_cpuid_str\([^)]*\) \| strcmp_cpuid_str\([^)]*\) \^ 1", "threads", text)
    text = re.sub(r"cpu@([\w.]+),cmask=(0x[0-9a-f]+)@", lambda m: f"{m[1]}_c{m[2]}", text)
    names = list(dict.fromkeys(_NAME.findall(text)))
    functions = {"d_ratio", "min", "max", "if", "else", "threads"}
    aliases = {f"v{n}": _spelled(name) for n, name in enumerate(names) if name not in functions}
    back = {name: f"v{n}" for n, name in enumerate(names) if name not in functions}
    text = _NAME.sub(lambda match: back.get(match[0], match[0]), text)
    tree = _Ratio().visit(ast.parse(text.strip(), mode="eval"))
    percent = text.strip().startswith(("100 *", "(100 *"))
    return formula_of(ast.unparse(tree) if percent else f"100 * ({ast.unparse(tree)})", aliases)


class _Ratio(ast.NodeTransformer):
    """perf's ``d_ratio(a, b)`` as ``a / b``."""

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "d_ratio":
            return ast.BinOp(node.args[0], ast.Div(), node.args[1])
        return node


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
