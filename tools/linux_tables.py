"""Events and top-down categories of Linux's pmu-events: names, codes and formulas, no texts."""

import ast
import re

from processor_rows import NAME, category_row, complete, formula_of, read_json, spelled, unit_of

_ARCHITECTURAL = 0x25  # codes below are of every ARM processor, as far as it counts them
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


def linux_events(folder, where):
    common = {}
    for file in ("common-and-microarch.json", "recommended.json"):
        for entry in read_json(folder / "arm64" / file) if where.startswith("arm64") else ():
            common[entry["EventName"]] = entry
    architectural = [entry for entry in common.values() if int(entry["EventCode"], 0) < _ARCHITECTURAL]
    for entries in [*map(read_json, sorted((folder / where).glob("*.json"))), architectural]:
        for entry in entries:
            entry = common.get(entry.get("ArchStdEvent"), {}) | entry
            if "EventName" not in entry or "EventCode" not in entry or entry.get("Unit"):
                continue
            code = int(entry["EventCode"], 0)
            umask = int(entry.get("UMask") or "0", 0)
            terms = [f"cmask={int(entry['CounterMask'], 0):#x}"] if entry.get("CounterMask") else []
            name = entry["EventName"].lower()
            yield {"event": name, "code": code, "umask": umask, "extra": ",".join(terms), "takes": 0x3F,
                   "unit": unit_of(name), "description": _in_words(name)}  # fmt: skip


def _in_words(name):
    """A description made of the words of an event's name, where the vendor's text cannot travel."""
    words = " ".join(_WORDS.get(word, word) for word in re.split(r"[._]", name) if word)
    return words[:1].upper() + words[1:] + "."


def linux_categories(folder, about, known):
    """Top-down metrics of Linux, with metrics that they name put in their place."""
    if not about.get("levels"):
        return []
    expressions = {}
    for file in about["metrics"]:
        for entry in read_json(folder / file):
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
        rows.append(category_row(metric, parent, level, _linux_formula(text, about), known))
    return complete(rows, known)


def _linux_formula(text, about):
    text = text.replace("\\", "").replace("#slots", str(about["width"]))
    text = re.sub(r"strcmp_cpuid_str\([^)]*\) \| strcmp_cpuid_str\([^)]*\) \^ 1", "threads", text)
    text = re.sub(r"cpu@([\w.]+),cmask=(0x[0-9a-f]+)@", lambda m: f"{m[1]}_c{m[2]}", text)
    names = list(dict.fromkeys(NAME.findall(text)))
    functions = {"d_ratio", "min", "max", "if", "else", "threads"}
    aliases = {f"v{n}": spelled(name) for n, name in enumerate(names) if name not in functions}
    back = {name: f"v{n}" for n, name in enumerate(names) if name not in functions}
    text = NAME.sub(lambda match: back.get(match[0], match[0]), text)
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
