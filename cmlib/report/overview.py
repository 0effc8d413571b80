"""Put together the cards of programs on the report's first page, from what several notebooks say of each.

A card is what the page says of one program. Its topics: limits (what limits it), varies (what its speed varies with),
sure (how sure that is), advice (what to try) and lacking (what to record to know more), clauses in Markdown without a
full stop; bars and picture, which are drawn. Functions take dicts of topics or
:class:`~cmlib.report.manifests.Manifests`, which are not checked.
"""

from cmlib.places import yaml_beside

_LABELS = yaml_beside(__file__)
# Topics of which a card has what the last notebook told.
_LAST = ("limits", "varies", "advice", "bars", "picture")


def sentences(topics: dict) -> str:
    """What one notebook says of a program as one paragraph (str, Markdown).

    `topics` is a dict of topic to a clause without full stop; empty clauses, and topics that are not clauses, are
    left out.
    """
    parts = [label + topics[topic] for topic, label in _LABELS.items() if topics.get(topic)]
    return " ".join(f"{opening(sentence)}." for sentence in parts)


def opening(text):
    """A clause (`text`, str) with a capital at its beginning, also behind asterisks; a name in code is unchanged."""
    marks = len(text) - len(text.lstrip("*"))
    return text[:marks] + text[marks : marks + 1].upper() + text[marks + 1 :]


def gather_cards(manifests, summaries=None):
    """A list of cards (dicts), one a program, sorted by name, from the results of a profile's notebooks.

    `manifests` is a :class:`cmlib.report.manifests.Manifests` (each notebook's results as a dict, in `sections`),
    `summaries` a dict of the summaries that are known before any notebook ran, by program.
    Keys of a card: program; limits, varies, advice (clauses, "" if unknown), bars and picture (dicts or None), taken
    from the last notebook that has them; sure and lacking (lists of clauses), summary (dict, for answers.json) and
    findings (list of dicts of notebook, program and text), put together from all notebooks; simulated (True if counts
    were simulated); notebooks (list of the manifests).
    """
    cards = {}
    for program, summary in (summaries or {}).items():
        cards[program] = _empty(program) | {"summary": dict(summary)}
    for manifest in manifests.sections:
        for program, told in manifest["overviews"].items():
            card = cards.setdefault(program, _empty(program))
            card |= {topic: told[topic] for topic in _LAST if told.get(topic)}
            card["sure"] += filter(None, [told.get("sure")])
            card["lacking"] += filter(None, [told.get("lacking")])
            card["summary"] |= told.get("summary", {})
            card["simulated"] |= bool(manifest["origin"])
            card["notebooks"].append(manifest)
    wanting = [entry["message"].rstrip(".") for entry in manifests.left_out if entry["for_overview"]]
    for program, card in cards.items():
        if first := card["summary"].get("first"):  # the same sentences as the terminal's
            card["limits"] = " ".join([first["headline"], *first["details"]]).rstrip(".") or card["limits"]
            card["advice"] = "; ".join(entry["text"] for entry in first["advice"]) or card["advice"]
        card["findings"] = [
            {"notebook": manifest["notebook"]} | finding
            for manifest in manifests.sections
            for finding in manifest["findings"]
            if finding["program"] == program
        ]
        if not card["summary"].get("limited_by"):
            card["lacking"] = card["lacking"] or wanting
        card["lacking"] = list(dict.fromkeys(card["lacking"]))
    return [cards[program] for program in sorted(cards)]


def _empty(program):
    """A card without content."""
    card = {"program": program, "limits": "", "varies": "", "advice": "", "bars": None, "picture": None}
    return card | {"sure": [], "lacking": [], "summary": {}, "simulated": False, "notebooks": []}


def answers_of(manifest):
    """The findings that answer a notebook's question, from its manifest (dict): a list of dicts of program and text.

    Findings about no program by itself (program is ""); if there are none, one text a program: its first finding, or
    else what the notebook says of it for the first page. Empty if there is nothing.
    """
    general = [finding for finding in manifest["findings"] if not finding["program"]]
    by_program = {program: sentences(topics) for program, topics in manifest["overviews"].items()}
    by_program |= {finding["program"]: finding["text"] for finding in reversed(manifest["findings"])}
    return general or [{"program": name, "text": text} for name, text in by_program.items() if text]
