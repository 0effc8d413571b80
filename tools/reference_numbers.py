"""Make the files of reference numbers, and compare a run of the notebooks with them.

    python tools/reference_numbers.py make PROFILE [NOTEBOOK...]
    python tools/reference_numbers.py check PROFILE [NOTEBOOK...]

Both read the results of ``cmlib run PROFILE``. ``make`` writes ``tests/reference/PROFILE/NOTEBOOK.csv`` with the
columns name, value and unit, for notebooks that keep numbers. ``check`` prints one line per difference, and ends with
exit code 1 if there is any. ``make reference-numbers`` and ``make check-numbers`` in the Makefile call them.

Two numbers agree if they differ by at most ``RELATIVE_TOLERANCE`` of the reference, or by ``ABSOLUTE_TOLERANCE`` if
the reference is nearly 0. Measured: of the 219 numbers of two runs of the paper profile on one machine, the second
without AVX-512 in NumPy, OpenBLAS and Numba, 204 were equal and 12 differed by less than 4e-15 of their value. One
was a time, which is not compared (``timed`` in ``results.number``). The last two, F1 of scikit-learn's boosted trees
in the notebook on cache attacks, changed by 9 and 0.05 %, as trees decide differently where sums differ in the last
bit. The tolerance leaves room for other processors, and files have ten digits; a smaller change of a number would not
be seen in any table.

A notebook is compared only with numbers that were made from the same data. Notebooks that were left out because their
recordings are absent, and notebooks whose public sets are here but were absent when the file was made (or the other
way round), are listed as not compared. They do not fail the check.
"""

import argparse
import csv
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

from cmlib import places
from cmlib.report.manifests import read_manifests

REFERENCE = Path(__file__).resolve().parents[1] / "tests/reference"
RELATIVE_TOLERANCE = 1e-6
ABSOLUTE_TOLERANCE = 1e-9
_DIGITS = 10  # significant digits in the files
_COLUMNS = ["name", "value", "unit"]
_ABSENT = "# without the public sets: "


@dataclass
class Comparison:
    """What a comparison found.

    Attributes
    ----------
    differences : list of str
        One line per number that differs, is missing or is new, and per notebook that did not run.
    not_compared : list of str
        One line per notebook that could not be compared, with the reason.
    n_numbers, n_notebooks : int
        Numbers that agree, and notebooks that were compared.
    """

    differences: list = field(default_factory=list)
    not_compared: list = field(default_factory=list)
    n_numbers: int = 0
    n_notebooks: int = 0


def read_reference(file):
    """Read a file of reference numbers.

    Parameters
    ----------
    file : Path

    Returns
    -------
    numbers : dict of str to (float, str)
        Value and unit by name.
    absent_sets : list of str
        The public sets that the notebook looked for and did not find when the file was made.
    """
    lines = file.read_text(encoding="utf-8").splitlines()
    absent_sets = []
    if lines[0].startswith(_ABSENT):
        absent_sets = lines.pop(0).removeprefix(_ABSENT).split(", ")
    numbers = {row["name"]: (float(row["value"]), row["unit"]) for row in csv.DictReader(lines)}
    return numbers, absent_sets


def write_reference(file, manifest):
    """Write the numbers of a notebook's manifest (dict) to a file of reference numbers."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "w", encoding="utf-8", newline="") as out:
        if manifest.get("absent_sets"):
            out.write(_ABSENT + ", ".join(manifest["absent_sets"]) + "\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for number in numbers_to_compare(manifest):
            writer.writerow([number["name"], f"{number['value']:.{_DIGITS}g}", number["unit"]])


def numbers_to_compare(manifest):
    """The numbers (list of dict) of a notebook's manifest, without times that were measured while it ran."""
    return [number for number in manifest["numbers"] if not number.get("timed")]


def agree(number, reference):
    """Whether a number, a tuple of value and unit, equals its reference within the tolerance."""
    close = math.isclose(number[0], reference[0], rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
    return close and number[1] == reference[1]


def compare_numbers(notebook, numbers, reference):
    """Compare the numbers of one notebook with their reference.

    Parameters
    ----------
    notebook : str
        Its name, with which each line begins.
    numbers, reference : dict of str to (float, str)
        Value and unit by name.

    Returns
    -------
    list of str
        One line per difference.
    """
    lines = []
    for name, (value, unit) in reference.items():
        if name not in numbers:
            lines.append(
                f"{notebook}: number {name!r} is missing; the reference is {value:.{_DIGITS}g} {unit}"
            )
            continue
        if not agree(numbers[name], reference[name]):
            new_value, new_unit = numbers[name]
            lines.append(
                f"{notebook}: number {name!r} is {new_value:.{_DIGITS}g} {new_unit}; "
                f"the reference is {value:.{_DIGITS}g} {unit}"
            )
    for name in sorted(numbers.keys() - reference.keys()):
        value, unit = numbers[name]
        lines.append(f"{notebook}: number {name!r} = {value:.{_DIGITS}g} {unit} is not in the reference")
    return lines


def compare_run(results, reference, notebooks=()):
    """Compare the results of a profile with its reference numbers.

    Parameters
    ----------
    results : Path
        The profile's folder of results.
    reference : Path
        The profile's folder of reference numbers.
    notebooks : sequence of str, optional
        Names of notebooks, or how they begin; empty for all.

    Returns
    -------
    Comparison
    """
    found = read_manifests(results)
    manifests = {manifest["notebook"]: manifest for manifest in found.sections}
    left_out = {entry["notebook"]: entry["message"] for entry in found.left_out}
    files = {file.stem: file for file in sorted(reference.glob("*.csv"))}
    comparison = Comparison()
    for notebook in sorted({*manifests, *left_out, *files}):
        if notebooks and not notebook.startswith(tuple(notebooks)):
            continue
        if notebook in left_out:
            comparison.not_compared.append(f"{notebook}: not compared: {left_out[notebook]}")
            continue
        if notebook not in manifests:
            comparison.differences.append(f"{notebook}: there are reference numbers, but it has no results")
            continue
        if notebook not in files:
            if not numbers_to_compare(manifests[notebook]):
                continue
            comparison.differences.append(f"{notebook}: there are no reference numbers for it")
            continue
        numbers, absent_sets = read_reference(files[notebook])
        absent_here = manifests[notebook].get("absent_sets", [])
        if absent_here != absent_sets:
            reason = describe_sets(absent_here, absent_sets)
            comparison.not_compared.append(f"{notebook}: not compared: {reason}")
            continue
        kept = numbers_to_compare(manifests[notebook])
        here = {number["name"]: (number["value"], number["unit"]) for number in kept}
        comparison.differences.extend(compare_numbers(notebook, here, numbers))
        comparison.n_notebooks += 1
        comparison.n_numbers += sum(agree(here[name], numbers[name]) for name in here.keys() & numbers.keys())
    return comparison


def describe_sets(absent_here, absent_then):
    """Say which public sets the run and the reference do not share (str)."""
    reasons = []
    if missing := sorted(set(absent_here) - set(absent_then)):
        reasons.append(f"the public sets {', '.join(missing)} are not here")
    if added := sorted(set(absent_then) - set(absent_here)):
        reasons.append(f"the reference was made without the public sets {', '.join(added)}")
    return " and ".join(reasons)


def make(profile, notebooks=()):
    """Write the reference numbers of a profile from the results of its last run; returns the exit code."""
    results = places.results_dir() / profile
    manifests = read_manifests(results).sections
    if notebooks:
        manifests = [one for one in manifests if one["notebook"].startswith(tuple(notebooks))]
    if not manifests:
        print(f"no results in {results}: cmlib run {profile}", file=sys.stderr)
        return 1
    for manifest in manifests:
        file = REFERENCE / profile / f"{manifest['notebook']}.csv"
        if numbers_to_compare(manifest):
            write_reference(file, manifest)
        else:
            file.unlink(missing_ok=True)
    print(f"{sum(len(numbers_to_compare(one)) for one in manifests)} numbers of {len(manifests)} notebooks")
    return 0


def check(profile, notebooks=()):
    """Compare the results of a profile's last run with its reference numbers; returns the exit code."""
    results = places.results_dir() / profile
    comparison = compare_run(results, REFERENCE / profile, notebooks)
    for line in comparison.not_compared:
        print(line)
    for line in comparison.differences:
        print(line, file=sys.stderr)
    print(
        f"{profile}: {comparison.n_numbers} numbers of {comparison.n_notebooks} notebooks agree, "
        f"{len(comparison.differences)} differences, {len(comparison.not_compared)} notebooks not compared"
    )
    if not comparison.n_notebooks:
        print(f"nothing was compared: cmlib run {profile} makes the results", file=sys.stderr)
        return 1
    return 1 if comparison.differences else 0


def main(arguments=None):
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=["make", "check"])
    parser.add_argument("profile", help="such as smoke or paper")
    parser.add_argument("notebooks", nargs="*", help="names, or how they begin; all if none is given")
    options = parser.parse_args(arguments)
    command = make if options.command == "make" else check
    return command(options.profile, options.notebooks)


if __name__ == "__main__":
    sys.exit(main())
