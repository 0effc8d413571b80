"""Read the recordings of the kernels, which ``cmlib record-kernels`` makes.

A kernel is a small program of this project that stands for one of the fifteen programs of AutoPerf's Table 2. It has a
good form, and a bad form with a fault of performance. A run is a DataFrame with one row per sample: the normalized
counts of one passage through a region of code; the columns are function, location, and one per counter.
:func:`recorded_programs` returns a dict from a kernel's name to its :class:`ProgramRuns`. Recordings that can't be read
are left out with a warning; NothingRecordedError if no kernel is recorded.
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

    A run is a DataFrame with one row per sample: function, location, and a column per counter.

    Attributes
    ----------
    machine : dict
        Metadata of the machine.
    per : {"instructions", "work"}
        Unit by which counts are divided.
    training : list of DataFrame
        Good runs to learn from.
    good, bad : list of DataFrame
        Runs for tests.
    again : list of DataFrame
        Good runs of a second recording.
    overhead : list of float
        Ratios of the run times with and without counting.
    folder : pathlib.Path
        Folder of the recordings.
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
        """Provenance of the counts: hardware events are counted per instruction, software events per work."""
        if self.machine.get("synthetic"):
            kind = SYNTHETIC
        else:
            kind = OWN_HARDWARE if self.per == "instructions" else SOFTWARE_EVENTS
        columns = self.training[0].columns if self.training else []
        events = tuple(column for column in columns if column not in LOCATION_COLUMNS)
        return Provenance(kind, (self.name,), events)

    @cached_property
    def diluted(self):
        """Runs of the kernel with a smaller fault, in which only a share of the memory updates is faulty.

        A dict. Keys: the share (0-1), largest first. Values: good runs that were recorded beside them, and the runs
        with the smaller fault (two lists of DataFrames of samples). Empty if no such runs are recorded.
        """
        files = self.folder.glob("diluted-*.json")
        controls = {file: file.with_name(file.name.replace("diluted", "control")) for file in files}

        def read(file):
            metadata, runs = load_recording(file)
            return float(metadata["sharing"]), (_read_runs(controls[file]), list(runs.values()))

        with_control = (file for file in sorted(controls, reverse=True) if controls[file].is_file())
        return dict(readable(read, with_control).values())


def recorded_programs(folder: str | Path = "", wanted: str = "all") -> dict[str, ProgramRuns]:
    """Read the recordings of the kernels in a folder.

    Kernels with recordings that can't be read are left out with a warning.

    Parameters
    ----------
    folder : path, optional
        Folder of the recordings. Default: that of the data, with recordings of hardware events if there are any.
    wanted : str, default "all"
        Names of kernels separated by commas, or ``"all"``.

    Returns
    -------
    dict of str to ProgramRuns
        By the name of the kernel.

    Raises
    ------
    NothingRecordedError
        If there are no recordings, or a name is not that of a kernel.
    ValueError
        If `wanted` contains no name.
    """
    folder = Path(folder or hardware_first(places.data_dir() / "regions"))
    all_names = [program.name for program in kernels()]
    about = "AutoPerf's programs, which are evaluated here"
    names = resolve_names(wanted, all_names, about=about, todo=INSTEAD)
    kernel_by_folder = {}
    for program in kernels():
        files = [folder / program.name / f"{form}.json" for form in ("good", "bad")]
        if program.name in names and all(file.is_file() for file in files):
            kernel_by_folder[folder / program.name] = program
    runs_by_folder = readable(lambda place: _read_program(kernel_by_folder[place], place), kernel_by_folder)
    programs = {place.name: program_runs for place, program_runs in runs_by_folder.items()}
    if not programs:
        raise NothingRecordedError(f"nothing recorded yet: run `{RECORD}`")
    for program_runs in programs.values():
        note_read(program_runs.provenance)
    return programs


def describe_recordings(programs: dict[str, ProgramRuns]) -> str:
    """Describe the data of a notebook: numbers of kernels and runs, counts and machine.

    Parameters
    ----------
    programs : dict of str to ProgramRuns
        Result of :func:`recorded_programs`, not empty.

    Returns
    -------
    str
        A paragraph in Markdown.
    """
    kinds = ("training", "again", "good", "bad")
    numbers = [sum(len(getattr(runs, kind)) for runs in programs.values()) for kind in kinds]
    per = next(iter(programs.values())).per
    machine = next(iter(programs.values())).machine
    model = (machine.get("model_name") or "a processor without a name").replace("(R)", "")
    processors = machine.get("processors")
    virtual = machine.get("virtual")
    counts_text = {
        "instructions": "hardware events per instruction",
        "work": "software events per unit of work, as the kernel reports it (a row read, a number added)",
    }
    return (
        f"**Data.** {len(programs)} of {len(kernels())} kernels: small programs of this project that repeat the faulty "
        "pattern of the paper's programs and stand for them; none of the paper's programs or recordings. Good runs: "
        f"{numbers[0]} to learn from, {numbers[1]} of a second recording of the same binaries, {numbers[2]} to test; "
        f"bad runs: {numbers[3]}, for tests only. Counts: {counts_text[per]}; machine: {model}, {processors} processors"
        + (f", virtual ({virtual}; it gives no hardware events)." if virtual and per == "work" else ".")
    )


def _read_program(program, folder):
    """Read the ProgramRuns of a Kernel from its folder; good runs are divided in the ratio of its planned runs."""
    about, good_runs = load_recording(folder / "good.json")
    good = list(good_runs.values())
    planned_training, planned_tests, _ = program.runs
    n_training = round(len(good) * planned_training / (planned_training + planned_tests))
    repeated_file = folder / "again.json"
    return ProgramRuns(
        **vars(program),
        machine=about["machine"],
        per=about["per"],
        training=good[:n_training],
        good=good[n_training:],
        bad=_read_runs(folder / "bad.json"),
        again=_read_runs(repeated_file) if repeated_file.is_file() else [],
        overhead=_read_overhead(folder / OVERHEAD_FILE),
        folder=folder,
    )


def _read_overhead(file):
    """Read the ratios of run times with and without counting (list of float); empty if there is no such file."""
    if not file.is_file():
        return []
    content = read_object(file, "what counting costs", f"Run `{RECORD}` again.")
    return in_recording(file, lambda costs: list(map(float, costs["ratios"])), content)


def _read_runs(file):
    """Read the runs (list of DataFrames of samples) in a recording."""
    return list(load_recording(file)[1].values())
