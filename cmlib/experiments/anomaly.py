"""Read the recordings of AutoPerf's kernels, and train detectors of anomalies on them.

A kernel is a small program of this project that stands for one of the fifteen programs of AutoPerf's Table 2, in a
good form and in a bad one, which has a fault of performance. A run is a DataFrame, a row a sample: normalized
counts of a passage through a region of code; columns function, location, and one for each counter.
:func:`recorded_programs` gives a :class:`ProgramRuns` by kernel, :func:`train_detector` a :class:`TrainedDetector`
of one. A NothingRecordedError if no kernel is recorded.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib import places
from cmlib.anomaly import Autoencoder, AutoPerf, stopping_run
from cmlib.anomaly.samples import LOCATION_COLUMNS, smallest_range
from cmlib.collect.compare.counters import CYCLES, counters_with_role
from cmlib.errors import NothingRecordedError
from cmlib.experiments.cache import cached
from cmlib.experiments.requested import resolve_names
from cmlib.io.archive import in_recording, read_object, readable
from cmlib.io.programs import Kernel, kernels
from cmlib.io.regions import OVERHEAD_FILE, load_recording

RECORD = "cmlib record-kernels"
INSTEAD = (
    "Two versions of NAME are compared by `cmlib compare OLD NEW`, without counters by `cmlib compare --simulate OLD "
    "NEW`."
)
_EPS_SHARE = 0.05 / 8  # the paper's variances are about 8
_FEWEST_OTHERS = 10


@dataclass(frozen=True, kw_only=True)
class ProgramRuns(Kernel):
    """The recordings of one kernel.

    `machine` (dict) is the machine's metadata, `per` ("instructions" or "work") what counts are divided by. `training`
    (good runs to learn from), `good` and `bad` (runs for tests) and `again` (good runs of a second recording) are lists
    of runs, each a DataFrame of samples: function, location, and a column a counter. `overhead` is a list of ratios of
    run times with and without counting; `folder` holds the recordings.
    """

    machine: dict
    per: str
    training: list
    good: list
    bad: list
    again: list
    overhead: list
    folder: Path

    @property
    def label(self):
        """Name of the kernel, and in brackets that of the paper's program."""
        return self.name if self.name == self.stands_for else f"{self.name} (for {self.stands_for})"

    @cached_property
    def diluted(self):
        """Runs of diluted forms, in which only a share of the updates has the fault: a dict by that share (0-1).

        Largest share first; values are (control runs, runs of the diluted form), lists of DataFrames of samples.
        Empty if none are recorded.
        """
        files = self.folder.glob("diluted-*.json")
        controls = {file: file.with_name(file.name.replace("diluted", "control")) for file in files}

        def read(file):
            metadata, runs = load_recording(file)
            return float(metadata["sharing"]), (_runs(controls[file]), list(runs.values()))

        both = (file for file in sorted(controls, reverse=True) if controls[file].is_file())
        return dict(readable(read, both).values())


def recorded_programs(folder="", wanted="all"):
    """Read the recordings in a folder: dict from kernel's name (str) to ProgramRuns.

    `folder` is a path; by default that of the data, of hardware events before software ones. `wanted` is "all" or
    names separated by commas. Kernels (of AutoPerf's Table 2) whose recordings can't be read are left out with a
    warning. A NothingRecordedError if none is left, or a wanted name is no kernel's; a ValueError if `wanted` holds
    no name.
    """
    folder = Path(folder or places.hardware_first(places.data_dir() / "regions"))
    known = [program.name for program in kernels()]
    about = "AutoPerf's programs, which are what is evaluated here"
    names = resolve_names(wanted, known, about=about, todo=INSTEAD)
    chosen = {}
    for program in kernels():
        both = [folder / program.name / f"{form}.json" for form in ("good", "bad")]
        if program.name in names and all(file.is_file() for file in both):
            chosen[folder / program.name] = program
    runs = readable(lambda place: _program_runs(chosen[place], place), chosen)
    programs = {place.name: of_program for place, of_program in runs.items()}
    if not programs:
        raise NothingRecordedError(f"nothing recorded yet: run `{RECORD}`")
    return programs


def describe_recordings(programs):
    """Markdown paragraph (str) on the data of a page: numbers of kernels and runs, counts and machine.

    `programs` is a dict from kernel's name to ProgramRuns, not empty.
    """
    kinds = ("training", "again", "good", "bad")
    numbers = [sum(len(getattr(runs, kind)) for runs in programs.values()) for kind in kinds]
    first = next(iter(programs.values()))
    model = (first.machine.get("model_name") or "a processor without a name").replace("(R)", "")
    processors, virtual = first.machine.get("processors"), first.machine.get("virtual")
    per = {"instructions": "hardware events per instruction", "work": "software events per unit of work"}
    return (
        f"**Data.** {len(programs)} of {len(kernels())} kernels: small programs of this project that repeat the faulty "
        "pattern of the paper's programs and stand for them; none of the paper's programs or recordings. Good runs: "
        f"{numbers[0]} to learn from, {numbers[1]} of a second recording of the same binaries, {numbers[2]} to test; "
        f"bad runs: {numbers[3]}, for tests only. Counts: {per[first.per]}; machine: {model}, {processors} processors"
        + (f", virtual ({virtual}; it gives no hardware events)." if virtual and first.per == "work" else ".")
    )


def synthetic_origin(programs):
    """A sentence for captions if some recordings are synthetic; "" if all were measured.

    `programs` is a dict from kernel's name to ProgramRuns.
    """
    synthetic = any(program.machine.get("synthetic") for program in programs.values())
    return "Synthetic counts, nothing was measured." if synthetic else ""


def slow_runs(learned, *others):
    """Find the runs that are slower than all runs that a detector learned: a list of masks (arrays of bool).

    The list has a mask, a value a run, for each of `others`; `learned` and each of `others` are lists of runs
    (DataFrames of samples). A run is slow if the median of its cycles, or of its time where cycles were not
    counted, exceeds that of every learned run. None if neither was counted.
    """
    counted = counters_with_role(CYCLES, learned[0])
    if not counted:
        return None
    times = [np.array([run[counted[0]].median() for run in runs]) for runs in (learned, *others)]
    return [medians > times[0].max() for medians in times[1:]]


def slowdown(good, bad):
    """Cycles or time of the median bad run as a multiple of the median good one's; NaN if neither was counted.

    `good` and `bad` are lists of runs (DataFrames of samples).
    """
    counted = counters_with_role(CYCLES, good[0])
    if not counted:
        return np.nan
    usual, now = (np.median([run[counted[0]].median() for run in runs]) for runs in (good, bad))
    return now / usual


@dataclass
class TrainedDetector:
    """A detector of one program, with the runs that it was trained on.

    `learned` are the runs (DataFrames of samples) that the autoencoder learned, `others` those that calibrate its
    threshold (empty: the learned ones do), `stopped` is True if training needed fewer runs than there are.
    """

    program: ProgramRuns
    detector: AutoPerf
    learned: list
    others: list
    stopped: bool


def train_detector(recorded, *, max_runs=100, seed=0):
    """Train a detector on as many good runs as Algorithm 1 of AutoPerf says, or on all where it never stops.

    `recorded` is a ProgramRuns (a kernel's recordings), `max_runs` the most runs to learn, `seed` that of all
    random choices. Returns a TrainedDetector.
    """
    runs = [*recorded.training, *recorded.again][:max_runs]
    variance = error_variance_by_run(runs, seed=seed)["variance"]
    eps = _EPS_SHARE * variance.expanding().mean()
    stop = stopping_run(variance, eps=eps, goal=1, max_runs=len(runs))
    rest = recorded.training[stop:]  # good runs that are not learned; no test run is among them
    others = rest if len(rest) >= _FEWEST_OTHERS else []
    detector = AutoPerf(random_state=seed).fit(runs[:stop], others=others)
    return TrainedDetector(recorded, detector, runs[:stop], others, stop < len(runs))


def error_variance_by_run(runs, *, seed=0):
    """Reconstruction errors after training on the first 1, 2, … of the `runs` (list of DataFrames of samples).

    The autoencoder has one hidden layer, half as wide as its input, and one start; `seed` is its random state. Returns
    a DataFrame, a row for each number of runs (index: runs), with the columns variance and mean of the training
    samples' squared errors.
    """
    values = [run.drop(columns=list(LOCATION_COLUMNS)) for run in runs]
    samples, ends = pd.concat(values), np.cumsum([len(counts) for counts in values])

    def compute():
        widths = [(max(1, samples.shape[1] // 2),)]
        least, X = smallest_range(samples), samples.to_numpy()
        model = Autoencoder(topologies=widths, n_starts=1, smallest_range=least, random_state=seed)
        errors = [-model.fit(X[:end]).score_samples(X[:end]) for end in ends]
        table = [(errors_of.var(), errors_of.mean()) for errors_of in errors]
        index = pd.RangeIndex(1, len(runs) + 1, name="runs")
        return {"settling": pd.DataFrame(table, index, columns=["variance", "mean"])}

    return cached(("settling", seed, list(ends), samples), compute)["settling"]


def _program_runs(program, folder):
    """ProgramRuns of a Kernel from the files in its folder; its good runs are divided as its `runs` say."""
    about, good = load_recording(folder / "good.json")
    training, good_tests, _ = program.runs
    good = list(good.values())
    n_training = round(len(good) * training / (training + good_tests))
    again, overhead, ratios = folder / "again.json", folder / OVERHEAD_FILE, []
    if overhead.is_file():
        content = read_object(overhead, "what counting costs", f"Run `{RECORD}` again.")
        ratios = in_recording(overhead, lambda costs: list(map(float, costs["ratios"])), content)
    return ProgramRuns(
        **vars(program),
        machine=about["machine"],
        per=about["per"],
        training=good[:n_training],
        good=good[n_training:],
        bad=_runs(folder / "bad.json"),
        again=_runs(again) if again.is_file() else [],
        overhead=ratios,
        folder=folder,
    )


def _runs(file):
    """List of the runs (DataFrames of samples) in a recording."""
    return list(load_recording(file)[1].values())
