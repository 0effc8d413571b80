"""What stands on the report's first page: a card a program, put together from what several notebooks tell of it."""

from dataclasses import dataclass, field

_LABELS = {
    "limits": "",
    "varies": "What it varies with: ",
    "sure": "How sure: ",
    "advice": "What to try: ",
    "lacking": "To know more: ",
}


def sentences(topics):
    """What one notebook tells of a program, as one paragraph."""
    parts = [label + topics[topic] for topic, label in _LABELS.items() if topics.get(topic)]
    return " ".join(f"{opening(sentence)}." for sentence in parts)


def opening(text):
    """A clause as the beginning of a sentence; names in code keep their case."""
    marks = len(text) - len(text.lstrip("*"))
    return text[:marks] + text[marks : marks + 1].upper() + text[marks + 1 :]


@dataclass
class Card:
    """What the first page shows of a program."""

    program: str
    limits: str = ""
    varies: str = ""
    advice: str = ""
    sure: list = field(default_factory=list)
    lacking: list = field(default_factory=list)
    picture: dict | None = None
    bars: dict | None = None
    summary: dict = field(default_factory=dict)
    findings: list = field(default_factory=list)
    notebooks: list = field(default_factory=list)

    @property
    def simulated(self):
        """Whether what is shown was simulated, and not measured."""
        return any(manifest.get("origin") for manifest in self.notebooks)

    @property
    def scale(self):
        return max((max(row["value"], row["high"]) for row in self.bars["rows"]), default=1.0) or 1.0


def gather_cards(found):
    """Put together what the notebooks of a profile tell of each program."""
    cards = {}
    for manifest in found.sections:
        for program, overview in manifest["overviews"].items():
            _add(cards.setdefault(program, Card(program)), overview, manifest)
    for manifest in found.sections:
        for finding in manifest["findings"]:
            if finding["program"] in cards:
                cards[finding["program"]].findings.append((manifest["notebook"], finding["text"]))
    wanting = [entry["message"].rstrip(".") for entry in found.left_out if entry.get("for_overview")]
    for card in cards.values():
        card.lacking = list(dict.fromkeys(card.lacking or wanting))
    return [cards[program] for program in sorted(cards)]


def _add(card, overview, manifest):
    card.limits = overview.get("limits") or card.limits
    card.varies = overview.get("varies") or card.varies
    card.advice = overview.get("advice") or card.advice
    card.sure += filter(None, [overview.get("sure")])
    card.lacking += filter(None, [overview.get("lacking")])
    card.bars = overview.get("bars") or card.bars
    card.summary |= overview.get("summary", {})
    if picture := overview.get("picture"):
        card.picture = {"source": f"{manifest['notebook']}/{picture['name']}.svg", "alt": picture["alt"]}
    card.notebooks.append(manifest)
