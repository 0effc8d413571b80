"""From the files regions write to samples that can be compared (AutoPerf, §3.2 and §4.1)."""

import io
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.anomaly.samples import PLACE
from cmlib.errors import CmlibError
from cmlib.io.archive import errors_as, now, pack, read_content, read_object, write_recording
from cmlib.io.archive.runs import first_problem

ABOUT = ("function", "location", "thread", "threads", "work", "seconds", "running", "instructions")


def read_regions(path):
    """Read a file that regions wrote."""
    frame = pd.read_csv(path, dtype={"function": str, "location": str})
    missing = [column for column in ABOUT if column not in frame]
    if missing:
        raise ValueError(f"{path}: not a file of regions, columns {missing} are missing")
    repeated = frame["thread"].astype(str) == "thread"
    if (frame.loc[repeated].to_numpy(str) != np.array(frame.columns, str)).any():
        raise ValueError(
            f"{path}: processes that counted different events wrote to it; give each its own file"
        )
    numbers = [column for column in frame if column not in PLACE]
    return frame[~repeated].reset_index(drop=True).astype(dict.fromkeys(numbers, float))


def normalize(regions, *, per="instructions"):
    """Counts per instruction and thread, or per unit of work."""
    divisor = {"instructions": regions["instructions"] * regions["threads"], "work": regions["work"]}[per]
    counters = [column for column in regions if column not in ABOUT]
    uncounted = [c for c in (per, *counters) if not np.isfinite(regions[c]).all()]
    if uncounted or not (divisor > 0).all():
        raise ValueError(
            f"{', '.join(uncounted) or per} were not counted in every sample: record on a machine whose "
            "`cmlib doctor` finds good counters, with fewer events at a time"
        )
    if (regions["running"] < 1).any():
        raise ValueError(
            f"{(regions['running'] < 1).sum()} of {len(regions)} samples were not counted all the time "
            "(running < 1): another perf took counters away; record this run again"
        )
    return pd.concat([regions[list(PLACE)], regions[counters].div(divisor, axis=0)], axis=1)


def merge_runs(parts):
    """One run out of several with the same input that counted different events."""
    if not parts:
        raise ValueError("no parts to merge: give at least one normalized run")
    places = [part[list(PLACE)].to_numpy() for part in parts]
    if all(np.array_equal(place, places[0]) for place in places[1:]):
        return pd.concat([parts[0][list(PLACE)], _averaged(parts)], axis=1)
    keyed = [part.assign(invocation=part.groupby(list(PLACE)).cumcount()) for part in parts]
    keyed = [part.set_index([*PLACE, "invocation"]) for part in keyed]
    common = keyed[0].index
    for part in keyed[1:]:
        common = common.intersection(part.index, sort=False)
    if not len(common):
        raise ValueError(
            f"{len(parts)} parts have no invocation of the same function in common: not the same program"
        )
    merged = _averaged([part.loc[common] for part in keyed])
    return merged.reset_index().drop(columns="invocation")


def read_runs(text, *, per="instructions"):
    """Split a recording of many processes into its merged runs."""
    of_run = {}
    for piece in text.split("# run=")[1:]:
        heading, _, rows = piece.partition("\n")
        of_run.setdefault(heading.split()[0], []).append(rows)
    return _read_at_once(of_run, per) or {
        run: merge_runs([normalize(read_regions(io.StringIO(rows)), per=per) for rows in parts])
        for run, parts in of_run.items()
    }


def _read_at_once(of_run, per):
    """Read runs whose parts have the same invocations in one go, or tell that they don't by None."""
    wholes, lengths = [], []
    if len({len(parts) for parts in of_run.values()}) != 1:
        return None
    for part in zip(*of_run.values(), strict=True):
        header = part[0].partition("\n")[0]
        bodies = [rows.strip("\n").split("\n") for rows in part]
        if any(body[0] != header or header in body[1:] for body in bodies):
            return None
        lengths.append([len(body) - 1 for body in bodies])
        text = "\n".join([header, *(line for body in bodies for line in body[1:])])
        wholes.append(normalize(read_regions(io.StringIO(text)), per=per))
    place = wholes[0][list(PLACE)]
    if any(other != lengths[0] for other in lengths) or not all(
        whole[list(PLACE)].equals(place) for whole in wholes
    ):
        return None
    merged = pd.concat([place, _averaged(wholes)], axis=1)
    ends = np.cumsum(lengths[0])
    cut = zip(of_run, ends - lengths[0], ends, strict=True)
    return {run: merged.iloc[first:last].reset_index(drop=True) for run, first, last in cut}


def _averaged(parts):
    """Counters of all parts side by side; the mean of those that are in several."""
    counters = [part.drop(columns=list(PLACE), errors="ignore") for part in parts]
    columns = {}
    for part in counters:
        for name, values in part.items():
            columns.setdefault(name, []).append(values.to_numpy())
    means = {name: np.mean(values, axis=0) for name, values in columns.items()}
    return pd.DataFrame(means, index=counters[0].index)


SCHEMA = 1
_HOW = "Recordings of regions are made by `cmlib compare --keep FOLDER` and `cmlib record-kernels`."


def load_recording(file):
    """Read a recording of many runs, as ``cmlib record-kernels`` and `cmlib compare` make it."""
    about, text = read_recording(file)
    return about, in_recording(file, read_runs, text, per=about.get("per", "instructions"))


def read_recording(file):
    """Read a recording of many runs as it was written."""
    about = read_about(file)
    with errors_as(CmlibError, file):
        return about, read_content(file, about["sha256"]).decode(errors="replace")


def in_recording(file, read, text, **how):
    """Read something in a recording's text; what is wrong with it becomes a CmlibError that names the file."""
    try:
        return read(text, **how)
    except (ValueError, IndexError) as error:
        raise CmlibError(f"{file}: its samples can't be read: {error}") from error


def read_about(file):
    """Read what a recording is of, without its samples."""
    with errors_as(CmlibError, file):
        about = read_object(file, "a recording of regions", _HOW)
    if problem := first_problem(about, "stored") or first_problem(about, "regions"):
        raise CmlibError(f"{file} is no recording of regions: {problem}. {_HOW}")
    return about


def save_recording(target, pieces, about):
    """Write a recording: first the samples, then the JSON, so that a recording exists if its JSON does."""
    target = Path(target)
    with errors_as(CmlibError, target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        write_recording(target, pack("".join(pieces).encode()), {**about, "date": now()}, schema=SCHEMA)
    return target
