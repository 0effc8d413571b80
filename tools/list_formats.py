"""Write the table of formats in docs/import.md from the registry: python tools/list_formats.py"""

from pathlib import Path

from cmlib.io.formats import registry

PAGE = Path(__file__).resolve().parents[1] / "docs/import.md"
BEGIN = "<!-- table of formats: written by python tools/list_formats.py -->\n"
END = "<!-- end of the table of formats -->\n"


def make_table() -> str:
    """Make the table: a row per format, with the command or tool that writes it and the path of its sample."""
    rows = ["| format | recorded by | sample |\n", "|---|---|---|\n"]
    for name, known in registry.formats().items():
        recorded_by = known.recorded_by.replace("|", "\\|")
        rows.append(f"| `{name}` | {recorded_by} | `{known.sample}` |\n")
    return "".join(rows)


def replace_table(page: str) -> str:
    """Return the text of the page with the table as it is now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + make_table() + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(replace_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
