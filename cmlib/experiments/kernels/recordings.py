"""Read the recordings of kernels: small programs in a good and a bad form.

:func:`recorded_programs` reads the runs of all kernels. A run is a DataFrame with one row per sample. A sample
contains the counts of one passage through a region of code, divided by the number of instructions or by the amount
of work. The columns are function, location and one per counter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.experiments.folders import hardware_first
from cmlib.experiments.kernels.programs import OVERHEAD_FILE, Kernel, kernels
from cmlib.experiments.requested import resolve_names
from cmlib.io.archive import in_recording, read_object, readable
from cmlib.io.provenance import OWN_HARDWARE, SOFTWARE_EVENTS, SYNTHETIC, Provenance, note_read
from cmlib.io.regions import load_recording
from cmlib.locations import LOCATION_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["describe_recordings", "recorded_programs"]

RECORD = "cmlib record-kernels"
_HOW_TO_COMPARE = (
    "Two versions of NAME are compared by `cmlib compare OLD NEW`, without counters by `cmlib compare --simulate OLD "
    "NEW`."
)


@dataclass(frozen=True, kw_only=True)
class ProgramRuns(Kernel):
    """Recorded runs of one kernel.

    A run is a DataFrame with one row per sample. Its columns are function, location and one per counter.

    Attributes
    ----------
    machine : dict
        Metadata of the machine.
    per : {"instructions", "work"}
        Unit by which counts are divided.
    training : list of DataFrame
        Good runs for training.
    good, bad : list of DataFrame
        Good and bad runs for tests.
    again : list of DataFrame
        Good runs of a second recording.
    overhead : list of float
        Run time with counting, divided by the run time without counting.
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
    def label(self) -> str:
        """Name of the kernel, and in parentheses the name of the paper's program."""
        return self.name if self.name == self.stands_for else f"{self.name} (for {self.stands_for})"

    @property
    def provenance(self) -> Provenance:
        """Where the counts come from: hardware events, software events or synthetic."""
        if self.machine.get("synthetic"):
            kind = SYNTHETIC
        else:
            kind = OWN_HARDWARE if self.per == "instructions" else SOFTWARE_EVENTS
        columns = self.training[0].columns if self.training else []
        events = tuple(column for column in columns if column not in LOCATION_COLUMNS)
        return Provenance(kind, (self.name,), events)

    @cached_property
    def diluted(self) -> dict[float, tuple[list[pd.DataFrame], list[pd.DataFrame]]]:
        """Runs in which only a share of the memory accesses is defective.

        The key is this share (0-1), the largest first. The value is a pair: good runs of the same recording, and runs
        with the smaller defect. Empty if no such runs are recorded.
        """
        control_files = {}  # good runs that were recorded together with the runs in the key
        for file in sorted(self.folder.glob("diluted-*.json"), reverse=True):
            control = file.with_name(file.name.replace("diluted", "control"))
            if control.is_file():
                control_files[file] = control

        def read(file):
            metadata, runs = load_recording(file)
            return float(metadata["sharing"]), (_read_runs(control_files[file]), list(runs.values()))

        return dict(readable(read, control_files).values())


def recorded_programs(folder: str | Path = "", wanted: str = "all") -> dict[str, ProgramRuns]:
    """Read the recorded runs of the kernels.

    Kernels with unreadable recordings are skipped with a warning.

    Parameters
    ----------
    folder : path, optional
        Folder of the recordings. Default: the data folder, where recordings of hardware events are preferred to
        recordings of software events.
    wanted : str, default "all"
        Names of kernels, separated by commas, or ``"all"``.

    Returns
    -------
    dict of str to ProgramRuns
        Runs of each kernel.

    Raises
    ------
    NothingRecordedError
        If no recording was found, or a name is unknown.
    ValueError
        If `wanted` contains no name.
    """
    folder = Path(folder or hardware_first(places.data_dir() / "regions"))
    all_names = [program.name for program in kernels()]
    about = "AutoPerf's programs, which are evaluated here"
    names = resolve_names(wanted, all_names, about=about, todo=_HOW_TO_COMPARE)
    kernel_by_folder = {}
    for program in kernels():
        files = [folder / program.name / f"{form}.json" for form in ("good", "bad")]
        if program.name in names and all(file.is_file() for file in files):
            kernel_by_folder[folder / program.name] = program
    runs_by_folder = readable(
        lambda kernel_folder: _read_program(kernel_by_folder[kernel_folder], kernel_folder), kernel_by_folder
    )
    programs = {kernel_folder.name: runs for kernel_folder, runs in runs_by_folder.items()}
    if not programs:
        raise NothingRecordedError(f"nothing recorded yet: run `{RECORD}`")
    for program_runs in programs.values():
        note_read(program_runs.provenance)
    return programs


def describe_recordings(programs: dict[str, ProgramRuns]) -> str:
    """Describe the recordings of the kernels for a notebook.

    Parameters
    ----------
    programs : dict of str to ProgramRuns
        Runs from :func:`recorded_programs`, at least one kernel.

    Returns
    -------
    str
        A paragraph in Markdown with the numbers of kernels and runs, the unit of the counts and the machine.
    """
    kinds = ("training", "again", "good", "bad")
    numbers = [sum(len(getattr(runs, kind)) for runs in programs.values()) for kind in kinds]
    first_program = next(iter(programs.values()))
    machine = first_program.machine
    model = (machine.get("model_name") or "a processor without a name").replace("(R)", "")
    processors = machine.get("processors")
    virtual = machine.get("virtual")
    counts_text = {
        "instructions": "hardware events per instruction",
        "work": "software events per unit of work, as the kernel reports it (a row read, a number added)",
    }
    text = (
        f"**Data.** {len(programs)} of {len(kernels())} kernels: small programs of this project that repeat the faulty "
        "pattern of the paper's programs and stand for them; none of the paper's programs or recordings. Good runs: "
        f"{numbers[0]} to learn from, {numbers[1]} of a second recording of the same binaries, {numbers[2]} to test; "
        f"bad runs: {numbers[3]}, for tests only. Counts: {counts_text[first_program.per]}; machine: {model}, "
        f"{processors} processors"
    )
    if virtual and first_program.per == "work":
        return f"{text}, virtual ({virtual}; it gives no hardware events)."
    return f"{text}."


def _read_program(program, folder):
    """Read the runs of a kernel from its folder.

    Good runs are split into runs for training and runs for tests in the ratio that the kernel plans.
    """
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
    """Read the ratios of run times with and without counting, or []."""
    if not file.is_file():
        return []
    content = read_object(file, "what counting costs", f"Run `{RECORD}` again.")
    return in_recording(file, lambda costs: list(map(float, costs["ratios"])), content)


def _read_runs(file):
    """Read the runs in a recording (list of DataFrame)."""
    return list(load_recording(file)[1].values())
