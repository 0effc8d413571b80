"""Run the notebooks of a profile and write the overview page.

:func:`run_profile` takes the name of a profile and returns the path of the page. A profile is a folder of
YAML files with parameter values. For example, ``smoke`` (small) or ``paper`` (full). Only one run at a time
can write to a folder of results.
"""

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

import joblib

from cmlib import places, processors
from cmlib.errors import CmlibError, InputError, NotebookError, NothingRecordedError
from cmlib.experiments.cache import FOLDER
from cmlib.io import store
from cmlib.io.archive.replacing import open_lock_file
from cmlib.parallel import ONE_THREAD
from cmlib.report import kernels
from cmlib.report.manifests import (
    BY_PROGRAM,
    find_notebooks_with_page,
    read_manifests,
    record_skipped,
    remove_skip_record,
    results_subdir,
)
from cmlib.report.overview import build_index
from cmlib.report.parameters import SHARED
from cmlib.report.planning import NotebookJob, plan
from cmlib.report.program import summarize_stored, write_summaries
from cmlib.terminal import one_line, progress_bar, say, say_above_bars


class ResultsBusyError(CmlibError):
    """Raised if another run is writing to the same results."""


_MOST_AT_ONCE = 2  # notebooks that run at a time, and share the processors
_LOCK = ".lock"  # name of the lock file in a folder of results


def run_profile(
    profile: str,
    notebooks: Sequence[str] = (),
    parameters: dict | None = None,
    *,
    results: str | Path | None = None,
    on_first_page: Callable[[Path], None] | None = None,
) -> Path:
    """Run the notebooks of a profile and write the overview page.

    All names and values are checked first. Two notebooks run at a time if there are enough processors. The
    page is updated whenever a notebook ends.

    Notebooks without recordings are skipped, unless they are named. Earlier results of a skipped notebook are
    kept, but the page does not show them.

    Parameters
    ----------
    profile : str
        Name of a folder under `params`: ``smoke`` (small), ``paper`` (full) or ``live`` (programs of a user).
        Or the path of such a folder.
    notebooks : sequence of str, optional
        Names of the notebooks. For example, ``02_cleaning`` or ``02``. Default: all notebooks of the profile.
    parameters : dict, optional
        Parameter values for all notebooks, which replace the values in the profile.
    results : path, optional
        Folder for all results. Default: the parameter `results_folder`, or ``data/results``.
    on_first_page : callable, optional
        Function that is called with the path of the page before the first notebook starts. Only for the
        profile ``live``.

    Returns
    -------
    pathlib.Path
        The page ``index.html`` in the folder of the profile, or of the program in the profile ``live``.

    Raises
    ------
    InputError
        If the profile, a notebook, a parameter or a value is unknown.
    CmlibError
        If results cannot be written, or another run is writing them.
    NothingRecordedError
        If nothing is recorded for a named notebook, for a named program, or for all notebooks.
    NotebookError
        If notebooks failed. The message contains the failed cell of each. Other results are kept.
    """
    parameters = dict(parameters or {})
    jobs_are_set = "jobs" in parameters
    n_jobs = parameters.pop("jobs", -1)
    SHARED["jobs"].check(n_jobs, "-p")
    processes = n_jobs if n_jobs > 0 else joblib.cpu_count()
    jobs, secret = _remove_passwords(plan(profile, notebooks, parameters))
    results = Path(results or parameters.get("results_folder") or places.results_dir()).absolute()
    folder = results / results_subdir(profile, parameters)
    _make_folder(folder, results, profile)
    n_at_once = min(_MOST_AT_ONCE, processes, len(jobs))
    jobs = [_set_n_jobs(job, max(1, processes // n_at_once), always=jobs_are_set) for job in jobs]
    one_thread = ONE_THREAD if n_at_once > 1 else {}
    with lock_results(folder), places.export_environment(results, **secret, **one_thread):
        _refresh_stores(jobs)
        if results_subdir(profile, parameters).startswith(f"{BY_PROGRAM}/"):
            first_page = _write_first_page(jobs, folder, parameters)
            if first_page and on_first_page:
                on_first_page(first_page)
        kernels.prepare()
        return _run_jobs(jobs, folder, n_at_once, skip_unrecorded=not notebooks)


def _make_folder(folder: Path, results: Path, profile: str) -> None:
    """Make the folder of a profile's results, and check that it is writable."""
    if folder.resolve() == (places.params_dir() / profile).resolve():
        raise InputError(
            f"results cannot be written to {folder}, because it contains parameters. Give another folder with "
            "-p results_folder=…"
        )
    if folder == results / FOLDER:
        raise InputError(
            f"{folder} contains the cache of the notebooks. Give the report a folder with another name."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.close(open_lock_file(folder / _LOCK))
    except OSError as error:
        raise CmlibError(
            f"results cannot be written to {folder}: {error.strerror}. Give another folder with "
            "-p results_folder=…, or in the environment variable CMLIB_RESULTS."
        ) from error


def _refresh_stores(jobs: list[NotebookJob]) -> None:
    """Update the stores of all notebooks once, and print the skipped recordings."""
    for url in {job.parameters.get("database", "") for job in jobs if "database" in job.declared}:
        with contextlib.suppress(NothingRecordedError):
            for reason in store.refused(store.refresh(url=url))["reason"]:
                say(f"left out: {one_line(reason)}", err=True)


def _write_first_page(jobs: list[NotebookJob], folder: Path, parameters: dict) -> Path | None:
    """Write the HTML page of a user's programs before the first notebook starts.

    Return the path of the page, or None if there are no measurements.
    """
    database = parameters.get("database")
    processor = parameters.get("processor")
    url = store.refresh(url=database or None)
    summaries = summarize_stored(
        url, parameters.get("program", "all"), processors.find(processor) if processor else None
    )
    write_summaries(folder, summaries)
    if not summaries:
        return None
    return build_index(folder, to_come=[job.title for job in jobs])


def _set_n_jobs(job: NotebookJob, n_jobs: int, *, always: bool) -> NotebookJob:
    """Set the number of worker processes of a notebook.

    If `always` is False, a number in the profile is kept.
    """
    if "jobs" not in job.declared or ("jobs" in job.parameters and not always):
        return job
    return replace(job, parameters=job.parameters | {"jobs": n_jobs})


def _remove_passwords(jobs: list[NotebookJob]) -> tuple[list[NotebookJob], dict[str, str]]:
    """Remove passwords from database URLs, because Papermill would write them to notebooks.

    Return the jobs and the environment variable PGPASSWORD, if there is a password.
    """
    jobs_without = []
    passwords = set()
    for job in jobs:
        url, password = store.without_password(job.parameters.get("database", ""))
        if password:
            passwords.add(password)
            job = replace(job, parameters=job.parameters | {"database": url})
        jobs_without.append(job)
    if len(passwords) > 1:
        raise InputError(
            "The database URLs of these notebooks have different passwords. Use ~/.pgpass instead."
        )
    environment = {"PGPASSWORD": passwords.pop()} if passwords else {}
    return jobs_without, environment


@dataclass
class _Outcome:
    """Outcome of a run so far.

    Attributes
    ----------
    finished : list of str
        Notebooks with results.
    skipped : dict of str to str
        Reasons why notebooks were skipped, keyed by name.
    failed : dict of str to str
        Errors of failed notebooks, keyed by name.
    """

    finished: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def _run_jobs(jobs: list[NotebookJob], folder: Path, n_at_once: int, *, skip_unrecorded: bool) -> Path:
    """Execute notebooks and return the path of the overview page.

    The page is updated whenever a notebook ends. NothingRecordedError is raised for a notebook without
    recordings, unless `skip_unrecorded` is True and other notebooks ran.
    """
    skipped_before = {entry["notebook"] for entry in read_manifests(folder).left_out}
    pages = {job.name for job in jobs} | find_notebooks_with_page(folder)
    outcome = _Outcome()
    try:
        _execute_all(jobs, folder, n_at_once, pages, outcome, skip_unrecorded=skip_unrecorded)
    except BaseException:
        if outcome.finished:
            build_index(folder)
        raise
    if len(outcome.skipped) == len(jobs):
        for name in outcome.skipped.keys() - skipped_before:
            remove_skip_record(folder, name)
        raise NothingRecordedError(next(iter(outcome.skipped.values())))
    if outcome.finished:
        _write_missing_pages(jobs, folder, pages, outcome.skipped, outcome.failed)
        build_index(folder)
    if outcome.skipped:
        say(f"left out: {', '.join(outcome.skipped)}; the page says why", err=True)
    if outcome.failed:
        raise NotebookError("\n".join(outcome.failed.values()))
    return folder / "index.html"


def _execute_all(
    jobs: list[NotebookJob],
    folder: Path,
    n_at_once: int,
    pages: Collection[str],
    outcome: _Outcome,
    *,
    skip_unrecorded: bool,
) -> None:
    """Execute notebooks, update the page as each ends, and add how it ended to `outcome`."""
    to_come = {job.name: job.title for job in jobs}
    bar = progress_bar(total=len(jobs), desc=one_line(folder.name), unit="notebook")
    with contextlib.closing(_execute_jobs(jobs, folder, n_at_once, pages)) as ended_jobs, bar:
        for job, error, seconds in ended_jobs:
            bar.update()
            del to_come[job.name]
            n_ended = len(jobs) - len(to_come)
            end = _describe_end(job.name, error)
            say_above_bars(f"{end} {seconds:.0f} s, {n_ended} of {len(jobs)}", err=True)
            if error is None:
                outcome.finished.append(job.name)
            elif not isinstance(error, NothingRecordedError):
                outcome.failed[job.name] = str(error)
            elif not skip_unrecorded:
                raise NothingRecordedError(f"{job.notebook.name}: {error}")
            else:
                outcome.skipped[job.name] = str(error)
                # It is recorded now, so that a later summary does not use the results of an earlier run.
                record_skipped(folder, job.name, job.title, str(error))
            if outcome.finished:
                build_index(folder, to_come=list(to_come.values()))


def _describe_end(name: str, error: CmlibError | None) -> str:
    """Return how a notebook ended. For example, ``02_cleaning failed after``."""
    if error is None:
        return f"{name} took"
    return f"{name} was left out after" if isinstance(error, NothingRecordedError) else f"{name} failed after"


def _write_missing_pages(
    jobs: list[NotebookJob],
    folder: Path,
    pages: Collection[str],
    skipped: dict[str, str],
    failed: dict[str, str],
) -> None:
    """Write the stored pages of skipped notebooks, and of failed notebooks without a page.

    `skipped` and `failed` contain the reasons, keyed by notebook.
    """
    from cmlib.report.notebook_page import write_stored_page

    without_page = failed.keys() - find_notebooks_with_page(folder)
    for job in jobs:
        if job.name in skipped:
            reason = f"It was left out: {skipped[job.name]}"
        elif job.name in without_page:
            reason = "It failed in this run; the overview names the error."
        else:
            continue
        write_stored_page(job.notebook, folder, pages, reason)


def _execute_jobs(
    jobs: list[NotebookJob], folder: Path, n_at_once: int, pages: Collection[str]
) -> Generator[tuple[NotebookJob, CmlibError | None, float], None, None]:
    """Execute notebooks, and yield the job, its error or None, and its time [s] as it ends."""
    # Notebooks that read the results of others run last.
    reading_results = [job for job in jobs if job.reads_results]
    independent = _order_jobs([job for job in jobs if not job.reads_results])
    pool = ThreadPoolExecutor(n_at_once)
    futures: dict[Future, NotebookJob] = {}
    try:
        for group in (independent, reading_results):
            futures = {pool.submit(_execute_job, job, folder, pages): job for job in group}
            for future in as_completed(futures):
                yield futures[future], *future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        while any(future.running() for future in futures):
            kernels.kill_all()
            time.sleep(0.1)


def _execute_job(job: NotebookJob, folder: Path, pages: Collection[str]) -> tuple[CmlibError | None, float]:
    """Execute a notebook, and return its error or None, and its time [s]."""
    start = time.monotonic()
    # The import takes seconds. Without its parser of IRIs, jsonschema is imported a second faster.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    from cmlib.report.execute import execute

    failure = None
    try:
        execute(job.notebook, job.parameters, folder, pages)
    except CmlibError as error:
        failure = error
    return failure, time.monotonic() - start


def _order_jobs(jobs: list[NotebookJob]) -> list[NotebookJob]:
    """Order notebooks so that long ones start early and neighbors do not run at once."""
    # The longest notebooks are near the end. Neighbors compile the same functions. So jobs are taken in turn from the
    # end and from the middle, backwards.
    backwards = list(reversed(jobs))
    middle = (len(backwards) + 1) // 2
    pairs = zip_longest(backwards[:middle], backwards[middle:])
    return [job for pair in pairs for job in pair if job is not None]


@contextlib.contextmanager
def lock_results(folder: Path) -> Iterator[None]:
    """Lock a folder of results in a ``with`` block.

    ResultsBusyError is raised if another run has the lock.
    """
    descriptor = open_lock_file(folder / _LOCK)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultsBusyError(
                f"another `cmlib run` is writing to {folder}. Wait until it ends, or give this run another folder with "
                "-p results_folder=…"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)
