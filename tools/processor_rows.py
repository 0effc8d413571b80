"""Rows of the processors' tables, as made of any vendor's files: events in perf's spelling, categories, formulas."""

import ast
import json
import re

# perf's names of what Intel counts in fixed counters, and in parts of one of them.
RENAMED = {
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

NAME = re.compile(r"[A-Za-z_][\w]*(?:[.:=][\w]+|-(?=[A-Za-z])[\w]+)*")
_UNITS = (
    (r"idq|icache|dsb|lsd|frontend|decode|ild|itlb|topdown_fe|baclears|bp_l1|ic_|de_|op_cache|l1i|l2i", "front-end"),
    (r"br_|ex_ret_brn|bp_|br_mis|branch", "branch-prediction"),
    (r"l1d|l2_|longest|llc|l3|ll_cache|offcore|ocr|mem_load|l1_|bus_|l2d", "caches"),
    (r"dtlb|ld_|ls_|mem_|st_|lsu|page|memory|tlb|unaligned", "load-store"),
    (r"fp_|arith|vfp|ase|sve|fpu", "floating-point"),
)  # fmt: skip


def read_json(file):
    return json.loads(file.read_text(encoding="utf-8-sig"))


def first_sentence(text):
    """A description cut to its first sentence, in one line of ASCII spaces, with its full stop."""
    text = " ".join(text.split())
    sentence = re.split(r"(?<=[a-z)])\. |\n", text)[0].rstrip(". ")
    if len(sentence) > _DESCRIBED - 1:
        sentence = sentence[: _DESCRIBED - 2].rsplit(" ", 1)[0].rstrip(",;:. ") + " …"
    return sentence[:1].upper() + sentence[1:] + "." if sentence else ""


def unit_of(name):
    return next((unit for pattern, unit in _UNITS if re.match(pattern, name)), "execution")


def category_row(vendor_name, parent, level, share, known):
    called = known["categories"]
    return {
        "name": called.get(vendor_name, vendor_name.replace("_", " ")),
        "vendor": vendor_name,
        "parent": called.get(parent, parent.replace("_", " ")),
        "level": level,
        "formula": share,
        "about": "",
    }


def complete(rows, known):
    """Level 1 with the advice of its name; a part whose name a part elsewhere has too is called by its parent."""
    seen = set()
    for row in rows:
        if row["name"] in seen:
            row["name"] = f"{row['name']} ({row['parent']})"
        seen.add(row["name"])
        row["advice"] = known["advice"].get(row["name"], "")
        row["about"] = row["about"] or known["about"].get(row["name"], f"{row['name'].capitalize()}.")
    return rows


def spelled(name):
    """Name of an event in a formula: perf's where that differs, modifiers as ``_c1``."""
    name = name.lower()
    if name in RENAMED:
        return RENAMED[name]
    name, *modifiers = re.split(r":(?=[a-z])", name)
    modifiers = [modifier for modifier in modifiers if re.fullmatch(r"[ceiu](0x)?[0-9a-f]*", modifier)]
    return "_".join([name, *modifiers])


def add_modified(events, categories):
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


def names_in(formula):
    """Events of a formula."""
    return [name for name in NAME.findall(formula) if name not in ("min", "max", "where", "slots", "parent")]
