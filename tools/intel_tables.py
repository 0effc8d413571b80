"""Events and top-down categories of Intel's perfmon, in JSON or a spreadsheet."""

import csv
import re

from processor_rows import category_row, complete, first_sentence, formula_of, read_json, spelled, unit_of

_LEVEL_1 = ("Frontend_Bound", "Bad_Speculation", "Backend_Bound", "Retiring")


def intel_events(file):
    for event in read_json(file)["Events"]:
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
            "unit": unit_of(name),
            "description": first_sentence(event.get("BriefDescription") or ""),
        }


def intel_categories(folder, about, known):
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
        aliases = {event["Alias"]: spelled(event["Name"]) for event in metric["Events"]}
        if (formula := formula_of(metric["Formula"], aliases)) is None:
            continue
        shown = "Allocation" if name == "Core_Bound" and "Resource_Bound" in metrics else name
        made.append(category_row(shown, parent, metric["Level"], formula, known) | {
            "vendor": name, "about": first_sentence(metric["BriefDescription"]),
        })  # fmt: skip
    return complete(made, known)


def _read_metrics(file):
    return [
        metric
        for metric in read_json(file)["Metrics"]
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
