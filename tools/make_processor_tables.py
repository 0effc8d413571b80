"""Make `data/processors/NAME.json.xz` of what vendors publish: `python tools/make_processor_tables.py FOLDER [NAME…]`.

FOLDER holds `intel/`, a checkout of github.com/intel/perfmon (BSD-3-Clause; its notice is kept in every file made of
it), and `linux/`, tools/perf/pmu-events/arch of Linux, of which names, codes and formulas are taken, and no texts.
`tools/processors.yaml` says which processors there are, and what no vendor's file holds: names in use, estimates.
"""

import json
import lzma
import sys
from pathlib import Path

import yaml
from intel_tables import intel_categories, intel_events
from linux_tables import linux_categories, linux_events
from processor_rows import RENAMED, add_modified, names_in

_HERE = Path(__file__).resolve().parent
_TARGET = _HERE.parent / "data" / "processors"


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
            events |= {row["event"]: row for row in intel_events(folder / "intel" / file)}
        made["licence"] = (folder / "intel" / "LICENSE").read_text(encoding="utf-8")
        if "metrics" in about:
            categories = intel_categories(folder / "intel", about, known)
            add_modified(events, categories)
    elif "linux" in about:
        for row in linux_events(folder / "linux", about["linux"]):
            events.setdefault(row["event"], row)
        categories = linux_categories(folder / "linux", about, known)
        add_modified(events, categories)
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
    return lambda event: event in events or event in RENAMED.values()


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


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
