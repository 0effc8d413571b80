"""Save the figures, tables, numbers and findings of a notebook.

A notebook makes a :class:`Results` first, adds its results to it, and calls :meth:`Results.save` last. The
pages of the report are made from the saved folder. Its file ``manifest.json`` lists all results.
:func:`paper` returns the numbers that a paper prints.
"""

from __future__ import annotations

import html
import importlib.metadata
import io
import itertools
import json
import math
import platform
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import yaml
from IPython.display import HTML, Image, display

from cmlib import places
from cmlib.errors import InputError
from cmlib.io.absent import absent_sets
from cmlib.io.archive import atomic_replace
from cmlib.io.provenance import Provenance, merge_provenances, provenances_read
from cmlib.report.inline import strip_markup, to_html
from cmlib.report.manifests import SCHEMA, remove_skip_record
from cmlib.report.program import SUMMARIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

_DPI = 160
_DECIMALS = 2  # default number of decimal places
_COLUMNS = 8  # largest number of displayed columns
_MOST_PROGRAMS_NAMED = 5
_LEFT = 'style="text-align: left"'
_STACK = ("cmlib", "numpy", "pandas", "scipy", "scikit-learn", "lightgbm", "numba", "matplotlib", "seaborn")


def paper(name: str) -> dict:
    """Read the numbers that a paper prints.

    Parameters
    ----------
    name : str
        File name under data/papers without suffix. For example, ``"counterminer"``.

    Returns
    -------
    dict
        Numbers keyed by table or figure.

    Raises
    ------
    InputError
        If the file does not exist.
    """
    folder = places.shipped("papers")
    file = folder / f"{name}.yaml"
    if not file.is_file():
        names = ", ".join(sorted(f.stem for f in folder.glob("*.yaml"))) or "none"
        raise InputError(f"no numbers of a paper {name!r} under data/papers; known: {names}.")
    return yaml.safe_load(file.read_text(encoding="utf-8"))


class Results:
    """Results of one notebook in one profile.

    Results are written to a draft folder, and :meth:`save` moves it to its final place. So a notebook that
    fails does not change earlier results. Methods return objects that Jupyter displays.

    Parameters
    ----------
    notebook : str
        File name without suffix. For example, ``"02_cleaning"``.
    title : str
        Heading in the report.
    question : str
        Question that the notebook answers, in one sentence.
    profile : str
        Name of the subfolder of `folder`.
    folder : path, optional
        Folder of all results. Default: ``data/results``.

    Raises
    ------
    OSError
        If the folder is not writable.
    """

    def __init__(
        self, notebook: str, *, title: str, question: str, profile: str, folder: str | Path | None = None
    ) -> None:
        self._final = Path(folder or places.results_dir()) / profile / notebook
        self._draft = self._final.with_name(f"{notebook}.partial")
        shutil.rmtree(self._draft, ignore_errors=True)
        self._draft.mkdir(parents=True)
        self._record: dict[str, Any] = {
            "schema": SCHEMA,
            "notebook": notebook,
            "title": title,
            "question": question,
            "profile": profile,
            "origin": "",
            "figures": [],
            "tables": [],
            "numbers": [],
            "findings": [],
            "data": [],
        }

    def figure(
        self,
        figure: Figure,
        name: str,
        caption: str,
        *,
        on_page: bool = True,
        data: Provenance | Iterable[Provenance] | None = None,
    ) -> HTML:
        """Save and display a matplotlib figure.

        Parameters
        ----------
        figure : matplotlib.figure.Figure
            Figure to save as PNG and SVG.
        name : str
            Name of the files.
        caption : str
            Sentences in Markdown.
        on_page : bool, default True
            False for a figure that is only saved. The manifest records it.
        data : Provenance or iterable of Provenance, optional
            Sources of the counts, which are added to the caption. Empty for made-up data and diagrams.
            Default: all recordings that the notebook has read so far.

        Returns
        -------
        IPython.display.HTML
            The caption. A warning is added if no counts were measured.

        Raises
        ------
        InputError
            If another figure has the same name.
        """
        caption = self._with_provenance(caption, data)
        image, size = self._keep_picture(figure, name, caption)
        (self._draft / f"{name}.png").write_bytes(image.data)
        entry = {"name": name, "caption": caption, "on_page": on_page, "data": self._keep_provenance(data)}
        self._add("figures", name, entry | size)
        display(image)
        return _write_paragraph(caption)

    def table(
        self,
        frame: pd.DataFrame,
        name: str,
        caption: str,
        *,
        rows: int = 40,
        decimals: int = 2,
        on_page: bool = True,
        data: Provenance | Iterable[Provenance] | None = None,
    ) -> HTML:
        """Save and display a table.

        Parameters
        ----------
        frame : DataFrame
            Table to save as CSV and Parquet. The index is a column of the CSV file if it has a name.
        name : str
            Name of the files.
        caption : str
            Sentences in Markdown.
        rows : int, default 40
            Maximum number of displayed rows. At most eight columns are displayed.
        decimals : int or dict of str to int, default 2
            Number of decimal places, for all columns or keyed by column. The default of a missing column is
            2.
        on_page : bool, default True
            False for a table that is only saved.
        data : Provenance or iterable of Provenance, optional
            Sources of the counts, as in :meth:`figure`.

        Returns
        -------
        IPython.display.HTML
            The first rows. The caption is displayed before them.

        Raises
        ------
        InputError
            If another table has the same name.
        """
        caption = self._with_provenance(caption, data)
        frame.to_csv(self._draft / f"{name}.csv", index=_has_named_index(frame))
        frame.to_parquet(self._draft / f"{name}.parquet")
        entry = {"name": name, "caption": caption, "n_rows": len(frame), "on_page": on_page}
        entry["data"] = self._keep_provenance(data)
        self._add("tables", name, entry)
        display(_write_paragraph(caption))
        whole = frame.reset_index(allow_duplicates=True) if _has_named_index(frame) else frame
        table = whole.iloc[:rows, :_COLUMNS]
        return HTML(_write_table(table, decimals) + _note_cut(table, whole, name))

    def number(
        self,
        name: str,
        value: float,
        unit: str = "",
        *,
        paper: float | None = None,
        note: str = "",
        timed: bool = False,
        data: Provenance | Iterable[Provenance] | None = None,
    ) -> None:
        """Save a number, with the number that the paper prints.

        Parameters
        ----------
        name : str
            Name of the quantity.
        value : float
            Value to save.
        unit : str, optional
            Unit of the value.
        paper : float, optional
            Number in the paper. Default: the paper prints no number.
        note : str, optional
            Why the two numbers differ, in Markdown.
        timed : bool, default False
            True for a time that varies between runs. Such a number is not compared with the reference numbers.
        data : Provenance or iterable of Provenance, optional
            Sources of the counts, as in :meth:`figure`.

        Raises
        ------
        InputError
            If the value is not finite, or another number has the same name.
        """
        value = float(value)
        if not math.isfinite(value):
            raise InputError(
                f"{self._record['notebook']}: number {name!r} is {value}. Save only measured numbers. Explain in "
                "a finding why it was not measured."
            )
        paper = None if paper is None else float(paper)
        entry = {"name": name, "value": value, "unit": unit, "paper": paper, "note": note}
        entry["data"] = self._keep_provenance(data)
        if timed:
            entry["timed"] = True
        self._add("numbers", name, entry)

    def finding(self, text: str, *, program: str = "") -> HTML:
        """Save and return a finding.

        Parameters
        ----------
        text : str
            Sentences in Markdown.
        program : str, default ""
            Program that the finding describes. Empty if it describes several programs.

        Returns
        -------
        IPython.display.HTML
            The finding.
        """
        text = self._with_provenance(text)
        self._record["findings"].append({"program": program, "text": text})
        about = f"<strong>{html.escape(program)}.</strong> " if program else ""
        return HTML(f"<p>{about}{to_html(text)}</p>")

    def note_stop(self, reason: str) -> None:
        """Save the reason why the notebook stopped early. The overview shows it.

        Parameters
        ----------
        reason : str
            A sentence in Markdown.
        """
        self._record["stopped"] = reason

    def summaries(self, summaries: dict[str, dict]) -> None:
        """Save the summaries of programs for the overview.

        Parameters
        ----------
        summaries : dict of str to dict
            Summaries keyed by program name.
        """
        text = json.dumps(summaries, indent=1, ensure_ascii=False)
        (self._draft / SUMMARIES).write_text(text + "\n", encoding="utf-8")

    def numbers(self) -> HTML:
        """Return a table of the saved numbers and the paper's numbers.

        Returns
        -------
        IPython.display.HTML
            Table with the columns quantity, here (the value), unit, paper and note. Empty columns are left
            out.
        """
        columns = ["name", "value", "unit", "paper", "note"]
        frame = pd.DataFrame(self._record["numbers"], columns=columns)
        frame = frame.rename(columns={"name": "quantity", "value": "here"})
        frame = frame.assign(note=frame["note"].map(strip_markup), paper=frame["paper"].astype(float))
        return HTML(
            _write_table(frame.loc[:, (frame.notna() & (frame != "")).any()], 2, whole_as_counts=True)
        )

    def save(self) -> None:
        """Write the manifest, and replace earlier results by the new ones.

        Call it once, at the end of the notebook.

        Returns
        -------
        IPython.display.HTML
            A line with the recordings and the versions of the libraries.
        """
        libraries = {name: importlib.metadata.version(name) for name in _STACK}
        self._record["origin"] = strip_markup(_find_warning(provenances_read()))
        self._record["absent_sets"] = absent_sets()
        self._record["versions"] = {"python": platform.python_version()} | libraries
        text = json.dumps(self._record, indent=1, ensure_ascii=False)
        (self._draft / "manifest.json").write_text(text + "\n", encoding="utf-8")
        shutil.rmtree(self._final, ignore_errors=True)
        atomic_replace(self._draft, self._final)
        remove_skip_record(self._final.parent, self._final.name)
        versions = ", ".join(f"{name} {number}" for name, number in self._record["versions"].items())
        return _write_paragraph(f"{_list_read(provenances_read())}*Made with {versions}.*")

    def _keep_picture(self, figure: Figure, name: str, alt: str) -> tuple[Image, dict[str, int]]:
        """Save a figure as SVG, and return it as PNG with its size on a page [pixels]."""
        bounds, png = _fix_layout(figure), io.BytesIO()
        figure.savefig(png, dpi=_DPI, bbox_inches=bounds)
        figure.savefig(self._draft / f"{name}.svg", bbox_inches=bounds, metadata={"Date": None})
        width = round(96 * figure.get_figwidth())
        size = {"width": width, "height": round(width * bounds.height / bounds.width)}
        return Image(data=png.getvalue(), alt=strip_markup(alt), **size), size

    def _with_provenance(self, text: str, data: Provenance | Iterable[Provenance] | None = None) -> str:
        """Add the sources of the counts to a text, or a warning if no counts were measured."""
        provenances = _as_provenances(data)
        warning = _find_warning(provenances)
        if warning:
            return text if warning in text else f"{text} {warning}"
        if data is None or not provenances:
            return text
        return f"{text} *Data:* {' and '.join(map(str, provenances))}."

    def _keep_provenance(self, data: Provenance | Iterable[Provenance] | None) -> list[int]:
        """Add the sources of a result to the manifest, and return their positions in it."""
        stored = self._record["data"]
        positions = []
        for provenance in _as_provenances(data):
            entry = asdict(provenance) | {
                "programs": list(provenance.programs),
                "events": list(provenance.events),
            }
            if entry not in stored:
                stored.append(entry)
            positions.append(stored.index(entry))
        return positions

    def _add(self, kind: str, name: str, entry: dict) -> None:
        """Add an entry to the manifest. InputError is raised if its name exists."""
        if any(existing["name"] == name for existing in self._record[kind]):
            raise InputError(f"{self._record['notebook']}: two {kind} are called {name!r}. Rename one.")
        self._record[kind].append(entry)


def _as_provenances(data: Provenance | Iterable[Provenance] | None) -> list[Provenance]:
    """Return sources of counts as a list. The default is everything that was read."""
    if data is None:
        return provenances_read()
    if isinstance(data, Provenance):
        return [data]
    return merge_provenances(data)


def _find_warning(provenances: list[Provenance]) -> str:
    """Return a warning if no counts were measured, or ""."""
    warnings = [provenance.warning for provenance in provenances]
    return " ".join(dict.fromkeys(warnings)) if all(warnings) else ""


def _list_read(provenances: list[Provenance]) -> str:
    """Return a sentence on the recordings that were read. Empty if none were read."""
    if not provenances:
        return ""
    return f"*Recordings read: {'; '.join(map(_describe_provenance, provenances))}.* "


def _describe_provenance(provenance: Provenance) -> str:
    """Return the kind of counts and the programs of a source."""
    programs = provenance.programs
    if len(programs) > _MOST_PROGRAMS_NAMED:
        return f"{provenance}, {len(programs)} programs"
    return ", ".join([str(provenance), *programs])


def _note_cut(table: pd.DataFrame, whole: pd.DataFrame, name: str) -> str:
    """Return a note on the rows and columns that are not displayed. Empty if all are displayed."""
    cut = []
    if len(table) < len(whole):
        cut.append(f"the first {len(table)} of {len(whole)} rows")
    if table.shape[1] < whole.shape[1]:
        cut.append(f"the first {table.shape[1]} of {whole.shape[1]} columns")
    if not cut:
        return ""
    return f"<p><small>{' and '.join(cut).capitalize()}; all are in <code>{name}.csv</code>.</small></p>"


def _has_named_index(frame: pd.DataFrame) -> bool:
    """Return True if the index of a table has a name or several levels."""
    return frame.index.name is not None or frame.index.nlevels > 1


def _write_table(
    frame: pd.DataFrame, decimals: int | dict[str, int], *, whole_as_counts: bool = False
) -> str:
    """Write an HTML table, with numbers aligned to the right.

    If `whole_as_counts` is True, whole numbers have no decimals.
    """
    decimals_by_column = decimals if isinstance(decimals, dict) else {}
    write_number = _make_formatter(_DECIMALS if isinstance(decimals, dict) else decimals)

    def write(value):
        if whole_as_counts and float(value).is_integer():
            return f"{float(value):,.0f}"
        return write_number(value)

    table = (
        _replace_na(frame)
        .rename_axis(columns=None)
        .to_html(
            index=False,
            na_rep="–",
            border=0,
            float_format=write,
            formatters={name: _make_formatter(digits) for name, digits in decimals_by_column.items()},
        )
    )
    is_left = itertools.cycle(
        [dtype.kind not in "iufc" for dtype in frame.dtypes]
    )  # cells are in the order of rows
    return re.sub("<(t[hd])>", lambda cell: f"<{cell[1]} {_LEFT}>" if next(is_left) else cell[0], table)


def _replace_na(frame: pd.DataFrame) -> pd.DataFrame:
    """Replace missing integers by NaN, because ``to_html`` writes them as ``<NA>``."""
    replaced = frame.copy()
    for position, dtype in enumerate(frame.dtypes):
        if isinstance(dtype, pd.api.extensions.ExtensionDtype) and dtype.kind in "iu":
            column = frame.iloc[:, position]
            replaced.isetitem(position, column.astype(object).where(column.notna(), np.nan))
    return replaced


def _make_formatter(decimals: int) -> Callable[[float], str]:
    """Return a function that writes a number with some decimal places."""
    return lambda value: f"{float(value):z,.{decimals}f}"


def _fix_layout(figure: Figure) -> Bbox:
    """Fix the layout of a figure, and return its bounding box [inches]."""
    figure.set_dpi(_DPI)
    engine = figure.get_layout_engine()
    if engine:
        engine.execute(figure)
        figure.set_layout_engine(None)
    else:
        figure.draw_without_rendering()
    return figure.get_tightbbox().padded(0.1)


def _write_paragraph(text: str) -> HTML:
    """Convert a sentence to an HTML paragraph."""
    return HTML(f"<p>{to_html(text)}</p>")
