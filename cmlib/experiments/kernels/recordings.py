"""Read the recordings of the kernels, which ``cmlib record-kernels`` makes.

A kernel is a small program of this project that stands for one of the fifteen programs of AutoPerf's Table 2, in a
good form and in a bad one, which has a fault of performance. A run is a DataFrame, a row per sample: normalized
counts of a passage through a region of code; columns function, location, and one for each counter.
:func:`recorded_programs` gives a dict from kernel's name to its :class:`ProgramRuns`. What can't be read is left
out with a warning; a NothingRecordedError if no kernel is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.experiments.folders import hardware_first
from cmlib.experiments.kernels.programs import OVERHEAD_FILE, Kernel, kernels
from cmlib.experiments.requested import resolve_names
from cmlib.io.archive import in_recording, read_object, readable
from cmlib.io.provenance import OWN_HARDWARE, SOFTWARE_EVENTS, SYNTHETIC, Provenance, note_read
from cmlib.io.regions import load_recording
from cmlib.locations import LOCATION_COLUMNS

__all__ = ["describe_recordings", "recorded_programs"]

RECORD = "cmlib record-kernels"
INSTEAD = (
    "Two versions of NAME are compared by `cmlib compare OLD NEW`, without counters by `cmlib compare --simulate OLD "
    "NEW`."
)


@dataclass(frozen=True, kw_only=True)
class ProgramRuns(Kernel):
    """The recordings of one kernel.

    `machine` (dict) is the machine's metadata, `per` ("instructions" or "work") what counts are divided by. `training`
    (good runs to learn from), `good` and `bad` (runs for tests) and `again` (good runs of a second recording) are lists
    of runs, each a DataFrame of samples: function, location, and a column per counter. `overhead` is a list of ratios
    of run times with and without counting; `folder` holds the recordings.
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
        """Name (str) of the kernel, and in brackets that of the paper's program."""
        return self.name if self.name == self.stands_for else f"{self.name} (for {self.stands_for})"

    @property
    def provenance(self) -> Provenance:
        """Where its counts come from: hardware events are counted per instruction, software events per work."""
        if self.machine.get("synthetic"):
            kind = SYNTHETIC
        else:
            kind = OWN_HARDWARE if self.per == "instructions" else SOFTWARE_EVENTS
        columns = self.training[0].columns if self.training else []
        events = tuple(column for column in columns if column not in LOCATION_COLUMNS)
        return Provenance(kind, (self.name,), events)

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


def recorded_programs(folder: str | Path = "", wanted: str = "all") -> dict[str, ProgramRuns]:
    """Read the recordings in a folder: dict from kernel's name (str) to ProgramRuns.

    `folder` is a path; by default that of the data, of hardware events before software ones. `wanted` is "all" or
    names separated by commas. Kernels (of AutoPerf's Table 2) whose recordings can't be read are left out with a
    warning. A NothingRecordedError if none is left, or a wanted name is no kernel's; a ValueError if `wanted` holds
    no name.
    """
    folder = Path(folder or hardware_first(places.data_dir() / "regions"))
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
    for of_program in programs.values():
        note_read(of_program.provenance)
    return programs


def describe_recordings(programs: dict[str, ProgramRuns]) -> str:
    """Markdown paragraph (str) on the data of a page: numbers of kernels and runs, counts and machine.

    `programs` is a dict from kernel's name to ProgramRuns, not empty.
    """
    kinds = ("training", "again", "good", "bad")
    numbers = [sum(len(getattr(runs, kind)) for runs in programs.values()) for kind in kinds]
    first = next(iter(programs.values()))
    model = (first.machine.get("model_name") or "a processor without a name").replace("(R)", "")
    processors, virtual = first.machine.get("processors"), first.machine.get("virtual")
    per = {
        "instructions": "hardware events per instruction",
        "work": "software events per unit of work, as the kernel reports it (a row read, a number added)",
    }
    return (
        f"**Data.** {len(programs)} of {len(kernels())} kernels: small programs of this project that repeat the faulty "
        "pattern of the paper's programs and stand for them; none of the paper's programs or recordings. Good runs: "
        f"{numbers[0]} to learn from, {numbers[1]} of a second recording of the same binaries, {numbers[2]} to test; "
        f"bad runs: {numbers[3]}, for tests only. Counts: {per[first.per]}; machine: {model}, {processors} processors"
        + (f", virtual ({virtual}; it gives no hardware events)." if virtual and first.per == "work" else ".")
    )


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
