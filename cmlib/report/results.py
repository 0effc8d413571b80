"""Keep the figures, tables, numbers and findings of a notebook in a folder from which the report is made.

A notebook makes a :class:`Results` at its beginning, adds each result to it, and ends with :meth:`Results.save`.
ValueError for two results of one kind and name, and for numbers that are not finite.
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
from collections.abc import Iterable
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

_DPI = 160
_DECIMALS = 2  # of numbers in a table
_COLUMNS = 8  # of a table that are shown
_MOST_PROGRAMS_NAMED = 5
_LEFT = 'style="text-align: left"'
_STACK = ("cmlib", "numpy", "pandas", "scipy", "scikit-learn", "lightgbm", "numba", "matplotlib", "seaborn")


def paper(name: str) -> dict:
    """Read the numbers that a paper prints.

    Parameters
    ----------
    name : str
        Of a file under data/papers without suffix, such as ``"counterminer"``.

    Returns
    -------
    dict
        As in the YAML file: by table or figure the numbers in it.

    Raises
    ------
    ValueError
        If there is no such file.
    """
    folder = places.shipped("papers")
    file = folder / f"{name}.yaml"
    if not file.is_file():
        names = ", ".join(sorted(f.stem for f in folder.glob("*.yaml"))) or "none"
        raise InputError(f"no figures of a paper called {name!r} under data/papers; known: {names}.")
    return yaml.safe_load(file.read_text(encoding="utf-8"))


class Results:
    """The results of one notebook in one profile.

    Results are written to a draft folder, which :meth:`save` moves to the final place. A notebook that fails therefore
    leaves the results of its last successful run unchanged. Methods that show something return an object of IPython
    (HTML or Image), which a notebook displays as the last line of a cell.

    Parameters
    ----------
    notebook : str
        Name without suffix, such as ``"02_cleaning"``.
    title : str
        Heading in the report.
    question : str
        The question that the notebook answers, in one sentence.
    profile : str
        Folder under `data/results` (or `folder`).
    folder : path, optional
        Folder of results in place of `data/results`.

    Raises
    ------
    OSError
        If the folder can't be written.
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
        """Keep a matplotlib figure as PNG and SVG, display it, and return its caption (IPython's HTML).

        Parameters
        ----------
        figure : matplotlib.figure.Figure
        name : str
            Name of its files.
        caption : str
            Sentences in Markdown.
        on_page : bool, default True
            Whether the overview may show it as the picture of the notebook.
        data : Provenance or iterable of them, optional
            Provenance of its counts, which is added to the caption; () for made-up data and diagrams. By default, all
            recordings that the notebook has read so far. If none of them was measured, the caption gets a warning.

        Raises
        ------
        ValueError
            If another figure has the name.
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
        """Save a DataFrame as CSV and Parquet, display its caption, and return its first rows as HTML.

        Parameters
        ----------
        frame : DataFrame
            The index is a column of the CSV if it has a name.
        name : str
            Name of its files.
        caption : str
            Sentences in Markdown.
        rows : int, default 40
            Maximum number of rows that are returned. At most eight columns are returned; the files have all.
        decimals : int or dict of str to int, default 2
            Number of digits after the decimal point, for all columns or by column (2 for other columns).
        on_page : bool, default True
            False for a table that is only saved.
        data : Provenance or iterable of them, optional
            Provenance of its counts, as for :meth:`figure`.

        Returns
        -------
        IPython.display.HTML

        Raises
        ------
        ValueError
            If another table has the name.
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
        """Keep one number with its unit, the paper's number, and a note on why they differ.

        Parameters
        ----------
        name : str
        value : float
        unit : str, optional
        paper : float, optional
            The number that the paper prints; None if it prints none.
        note : str, optional
            Markdown.
        timed : bool, default False
            True for a time that was measured while the notebook ran: it differs from run to run, and is not compared
            with the reference numbers.
        data : Provenance or iterable of them, optional
            Provenance of the counts from which it was computed, as for :meth:`figure`.

        Raises
        ------
        ValueError
            If the value is not finite, or another number has the name.
        """
        value = float(value)
        if not math.isfinite(value):
            raise InputError(
                f"{self._record['notebook']}: number {name!r} is {value}; record only what was measured, "
                "and say in a finding why it could not be."
            )
        paper = None if paper is None else float(paper)
        entry = {"name": name, "value": value, "unit": unit, "paper": paper, "note": note}
        entry["data"] = self._keep_provenance(data)
        if timed:
            entry["timed"] = True
        self._add("numbers", name, entry)

    def finding(self, text: str, *, program: str = "") -> HTML:
        """Keep a finding in the manifest, and return it to be displayed.

        Parameters
        ----------
        text : str
            Sentences in Markdown.
        program : str, default ""
            Name of the program that they describe; "" unless there is exactly one.

        Returns
        -------
        IPython.display.HTML
        """
        text = self._with_provenance(text)
        self._record["findings"].append({"program": program, "text": text})
        about = f"<strong>{html.escape(program)}.</strong> " if program else ""
        return HTML(f"<p>{about}{to_html(text)}</p>")

    def note_stop(self, reason: str) -> None:
        """Keep the reason why the notebook stopped early, which the overview shows.

        Parameters
        ----------
        reason : str
            A sentence in Markdown.
        """
        self._record["stopped"] = reason

    def summaries(self, summaries: dict[str, dict]) -> None:
        """Keep the summaries of programs for the overview, which shows one row per program.

        Parameters
        ----------
        summaries : dict of str to dict
            By name of the program.
        """
        text = json.dumps(summaries, indent=1, ensure_ascii=False)
        (self._draft / SUMMARIES).write_text(text + "\n", encoding="utf-8")

    def numbers(self) -> HTML:
        """Return the numbers kept so far, beside those of the paper, as a table (IPython's HTML).

        The columns are quantity, here (the value), unit, paper and note; empty columns are left out. Whole numbers have
        no decimals.
        """
        columns = ["name", "value", "unit", "paper", "note"]
        frame = pd.DataFrame(self._record["numbers"], columns=columns)
        frame = frame.rename(columns={"name": "quantity", "value": "here"})
        frame = frame.assign(note=frame["note"].map(strip_markup), paper=frame["paper"].astype(float))
        return HTML(
            _write_table(frame.loc[:, (frame.notna() & (frame != "")).any()], 2, whole_as_counts=True)
        )

    def save(self) -> None:
        """Write the manifest, and move the results to their place, where they replace those of an earlier run.

        Call it once, at the end. It returns a line with the versions of the libraries (IPython's HTML).
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

    def _keep_picture(self, figure, name, alt):
        """Keep a figure as SVG; return it as PNG (IPython's Image), and its size on a page [pixels]."""
        bounds, png = _fix_layout(figure), io.BytesIO()
        figure.savefig(png, dpi=_DPI, bbox_inches=bounds)
        figure.savefig(self._draft / f"{name}.svg", bbox_inches=bounds, metadata={"Date": None})
        width = round(96 * figure.get_figwidth())
        size = {"width": width, "height": round(width * bounds.height / bounds.width)}
        return Image(data=png.getvalue(), alt=strip_markup(alt), **size), size

    def _with_provenance(self, text, data=None):
        """Return a text with the provenance of its counts, if given, or with a warning if none was measured."""
        provenances = _as_provenances(data)
        warning = _find_warning(provenances)
        if warning:
            return text if warning in text else f"{text} {warning}"
        if data is None or not provenances:
            return text
        return f"{text} *Data:* {' and '.join(map(str, provenances))}."

    def _keep_provenance(self, data):
        """Keep the provenances of a result in the manifest, and return their positions there (list of int)."""
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

    def _add(self, kind, name, entry):
        """Add an entry (dict) to the manifest; ValueError if its name is taken."""
        if any(existing["name"] == name for existing in self._record[kind]):
            raise InputError(f"{self._record['notebook']}: two {kind} are called {name!r}; rename one.")
        self._record[kind].append(entry)


def _as_provenances(data):
    """Return a result's data as a list of Provenances; if none are given, those of everything that was read."""
    if data is None:
        return provenances_read()
    if isinstance(data, Provenance):
        return [data]
    return merge_provenances(data)


def _find_warning(provenances):
    """Return a warning (Markdown) that no counts were measured; "" if some were, or there are none."""
    warnings = [provenance.warning for provenance in provenances]
    return " ".join(dict.fromkeys(warnings)) if all(warnings) else ""


def _list_read(provenances):
    """Return a sentence (Markdown) on the recordings that were read, with a space at its end; "" if there are none."""
    if not provenances:
        return ""
    return f"*Recordings read: {'; '.join(map(_describe_provenance, provenances))}.* "


def _describe_provenance(provenance):
    """Describe a Provenance in a few words: kind of counts, and programs."""
    programs = provenance.programs
    if len(programs) > _MOST_PROGRAMS_NAMED:
        return f"{provenance}, {len(programs)} programs"
    return ", ".join([str(provenance), *programs])


def _note_cut(table, whole, name):
    """Return a note (HTML) on the rows and columns of a frame that its displayed table lacks; "" if it has all."""
    cut = []
    if len(table) < len(whole):
        cut.append(f"the first {len(table)} of {len(whole)} rows")
    if table.shape[1] < whole.shape[1]:
        cut.append(f"the first {table.shape[1]} of {whole.shape[1]} columns")
    if not cut:
        return ""
    return f"<p><small>{' and '.join(cut).capitalize()}; all are in <code>{name}.csv</code>.</small></p>"


def _has_named_index(frame):
    """Return True if a DataFrame's index has a name, or several levels."""
    return frame.index.name is not None or frame.index.nlevels > 1


def _write_table(frame, decimals, *, whole_as_counts=False):
    """Return the frame as an HTML table, with text on the left and numbers on the right of their cells.

    With `whole_as_counts`, values that are whole numbers are written without decimals.
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
    is_left = itertools.cycle([dtype.kind not in "iufc" for dtype in frame.dtypes])  # cells come row by row
    return re.sub("<(t[hd])>", lambda cell: f"<{cell[1]} {_LEFT}>" if next(is_left) else cell[0], table)


def _replace_na(frame):
    """Return a DataFrame with NaN in place of pandas' NA among integers, which ``to_html`` writes as ``<NA>``."""
    replaced = frame.copy()
    for position, dtype in enumerate(frame.dtypes):
        if isinstance(dtype, pd.api.extensions.ExtensionDtype) and dtype.kind in "iu":
            column = frame.iloc[:, position]
            replaced.isetitem(position, column.astype(object).where(column.notna(), np.nan))
    return replaced


def _make_formatter(decimals):
    """Return a function that writes a number with `decimals` digits after the point."""
    return lambda value: f"{float(value):z,.{decimals}f}"


def _fix_layout(figure):
    """Fix the layout of a figure for all formats, and return its bounding box [inches]."""
    figure.set_dpi(_DPI)
    engine = figure.get_layout_engine()
    if engine:
        engine.execute(figure)
        figure.set_layout_engine(None)
    else:
        figure.draw_without_rendering()
    return figure.get_tightbbox().padded(0.1)


def _write_paragraph(text):
    """Return a sentence as an HTML paragraph."""
    return HTML(f"<p>{to_html(text)}</p>")
