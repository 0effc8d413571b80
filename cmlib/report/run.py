"""Run the notebooks of a profile, and make their page; one run at a time in a folder of results.

A profile is a folder of values for the notebooks' parameters, such as ``smoke`` (small) and ``paper`` (full).
:func:`run_profile` takes its name, and returns the path of the page. ValueError for an unknown name or value,
NotebookError if notebooks fail, ResultsBusyError if another run writes there.
"""

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
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
from cmlib.report.planning import plan
from cmlib.report.program import summarize_stored, write_summaries
from cmlib.terminal import one_line, progress_bar, say, say_above_bars


class ResultsBusyError(CmlibError):
    """Raised when another run writes to the same results."""


# Notebooks that run at a time; processors are divided among them for their workers.
_SIDE_BY_SIDE = 2
_LOCK = ".lock"  # file in a profile's folder that whoever writes there locks


def run_profile(
    profile: str,
    notebooks: Sequence[str] = (),
    parameters: dict | None = None,
    *,
    results: str | Path | None = None,
    on_first_page: Callable[[Path], None] | None = None,
) -> Path:
    """Regenerate a profile's results, and the page that shows them.

    All names and values are checked before the first notebook starts. Two notebooks run at a time if there are enough
    processors; those that read the results of others run last. Whenever a notebook ends, the page is written again,
    and the notebook's name and time are printed on standard error.

    A notebook for which nothing is recorded yet, or nothing that it can use, is left out unless it was named. The page
    and the last lines on standard error say so. The results of its earlier runs stay in its folder, and are not shown
    until it runs again.

    Parameters
    ----------
    profile : str
        A folder of `params`: ``smoke`` (small), ``paper`` (full) or ``live`` (a user's own programs); or another folder
        with such files.
    notebooks : sequence of str, optional
        Names such as ``02_cleaning`` or ``02``; empty means all of the profile.
    parameters : dict, optional
        Values that replace the profile's values in every notebook that declares these parameters. Its `jobs` are
        divided among the notebooks that run at a time; with 1, they run one after the other.
    results : path, optional
        Folder for all that is made, the store included, instead of the
        parameter `results_folder`, or `data/results`.
    on_first_page : callable, optional
        In profile ``live``, called with the path of the page as soon as it is there, before the first notebook starts.

    Returns
    -------
    pathlib.Path
        The page: `<results>/<profile>/index.html`; in profile ``live`` `<results>/live/<program>/index.html`, and
        one over all programs is `<results>/live/index.html`.

    Raises
    ------
    ValueError
        If the profile, a notebook, a parameter's name or its value is unknown.
    CmlibError
        If results can't be written, or another run is writing them; no notebook has run then.
    NothingRecordedError
        If nothing is recorded for a notebook that was named, or for all notebooks; in profile ``live``, also if a
        program is not recorded, before anything is written.
    NotebookError
        If cells failed, naming notebook, cell and error of each. Results of the
        other notebooks and of earlier runs stay.
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
    n_at_once = min(_SIDE_BY_SIDE, processes, len(jobs))
    jobs = [_set_n_jobs(job, max(1, processes // n_at_once), always=jobs_are_set) for job in jobs]
    one_thread = ONE_THREAD if n_at_once > 1 else {}
    with lock_results(folder), places.export_environment(results, **secret, **one_thread):
        _refresh_stores(jobs)
        if results_subdir(profile, parameters).startswith(f"{BY_PROGRAM}/"):
            first_page = _write_first_page(jobs, folder, parameters)
            if first_page and on_first_page:
                on_first_page(first_page)
        kernels.prepare()
        return _run_jobs(jobs, folder, n_at_once, may_lack=not notebooks)


def _make_folder(folder, results, profile):
    """Make the folder of a profile's results, and check that it can be written.

    InputError if it is the folder of parameters or of the cache, CmlibError if it can't be written.
    """
    if folder.resolve() == (places.params_dir() / profile).resolve():
        raise InputError(
            f"results would be written to {folder}, which contains parameters; give another folder with "
            "-p results_folder=…"
        )
    if folder == results / FOLDER:
        raise InputError(
            f"{folder} contains the cache of the notebooks; give the report a folder with another name."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.close(open_lock_file(folder / _LOCK))
    except OSError as error:
        raise CmlibError(
            f"results can't be written to {folder}: {error.strerror}. Give another folder with "
            "-p results_folder=…, or in the environment variable CMLIB_RESULTS."
        ) from error


def _refresh_stores(jobs):
    """Bring the stores of all notebooks up to date once, and print which recordings were left out.

    A store without recordings is not an error here; notebooks that need recordings raise one.
    """
    for url in {job.parameters.get("database", "") for job in jobs if "database" in job.declared}:
        with contextlib.suppress(NothingRecordedError):
            for reason in store.refused(store.refresh(url=url))["reason"]:
                say(f"left out: {one_line(reason)}", err=True)


def _write_first_page(jobs, folder, parameters):
    """Write the page of a user's programs before the first notebook starts, with the titles of those to come.

    `parameters` (dict) are those of the run. Return the path of the page; None, without a page, where nothing was
    measured.
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


def _set_n_jobs(job, share, *, always):
    """Give a NotebookJob `share` worker processes for its notebook.

    It is returned unchanged if it has no parameter jobs, or if the profile's file sets that and `always` is False.
    """
    if "jobs" not in job.declared or ("jobs" in job.parameters and not always):
        return job
    return replace(job, parameters=job.parameters | {"jobs": share})


def _remove_passwords(jobs):
    """Remove passwords from the NotebookJobs' URLs of databases, because Papermill would write them into notebooks.

    Return the jobs, and a dict with the environment variable PGPASSWORD, from which PostgreSQL's client reads the
    password; it is empty if there is none. ValueError if the URLs have several passwords.
    """
    bare, passwords = [], set()
    for job in jobs:
        url, password = store.without_password(job.parameters.get("database"))
        passwords |= {password} - {""}
        bare.append(replace(job, parameters=job.parameters | {"database": url}) if password else job)
    if len(passwords) > 1:
        raise InputError(
            "the databases of these notebooks have several passwords: give them in ~/.pgpass, not in URLs."
        )
    return bare, dict(zip(["PGPASSWORD"], passwords, strict=False))


def _run_jobs(jobs, folder, n, *, may_lack):
    """Execute the NotebookJobs, `n` at a time, write the page in `folder` as they end, and return its path.

    A notebook for which nothing is recorded is left out if `may_lack`, else NothingRecordedError; also if all are
    left out. NotebookError if any failed.
    """
    left_out_before = {entry["notebook"] for entry in read_manifests(folder).left_out}
    to_come = {job.name: job.title for job in jobs}
    finished, left_out, failed = [], {}, {}
    pages = to_come.keys() | find_notebooks_with_page(folder)
    ended = contextlib.closing(_execute_jobs(jobs, folder, n, pages))
    bar = progress_bar(total=len(jobs), desc=one_line(folder.name), unit="notebook")
    try:
        with ended as executed, bar:
            for job, error, seconds in executed:
                bar.update()
                del to_come[job.name]
                n_ended = len(jobs) - len(to_come)
                ended_as = _describe_end(job.name, error)
                say_above_bars(f"{ended_as} {seconds:.0f} s, {n_ended} of {len(jobs)}", err=True)
                if error is None:
                    finished.append(job.name)
                elif not isinstance(error, NothingRecordedError):
                    failed[job.name] = str(error)
                elif not may_lack:
                    raise NothingRecordedError(f"{job.notebook.name}: {error}")
                else:
                    left_out[job.name] = str(error)
                    # At once, so that a summary that runs later does not use the results of an earlier run.
                    record_skipped(folder, job.name, job.title, str(error))
                if finished:
                    build_index(folder, to_come=to_come.values())
    except BaseException:
        if finished:
            build_index(folder)
        raise
    if len(left_out) == len(jobs):
        for name in left_out.keys() - left_out_before:
            remove_skip_record(folder, name)
        raise NothingRecordedError(next(iter(left_out.values())))
    if finished:
        _write_missing_pages(jobs, folder, pages, left_out, failed)
        build_index(folder)
    if left_out:
        say(f"left out: {', '.join(left_out)}; the page says why", err=True)
    if failed:
        raise NotebookError("\n".join(failed.values()))
    return folder / "index.html"


def _describe_end(name, error):
    """Return how a notebook (name) ended, with an `error` or None, such as ``02_cleaning failed after``."""
    if error is None:
        return f"{name} took"
    return f"{name} was left out after" if isinstance(error, NothingRecordedError) else f"{name} failed after"


def _write_missing_pages(jobs, folder, pages, left_out, failed):
    """Write the pages of notebooks that were left out, and of those that failed and have none, as they are stored.

    `left_out` and `failed` have the reason (str) by the name of a notebook.
    """
    from cmlib.report.notebook_page import write_stored_page

    without_page = failed.keys() - find_notebooks_with_page(folder)
    for job in jobs:
        if job.name in left_out:
            reason = f"It was left out: {left_out[job.name]}"
        elif job.name in without_page:
            reason = "It failed in this run; the overview names the error."
        else:
            continue
        write_stored_page(job.notebook, folder, pages, reason)


def _execute_jobs(jobs, folder, n, pages):
    """Yield (NotebookJob, error or None, seconds) as each ends, `n` at a time.

    `pages` are names of notebooks with a page.

    Those that read results run at the end. The others are taken backwards, in turn from the end and from the middle,
    because the longest are near the end and neighbors compile the same functions.
    """
    reading_results = [job for job in jobs if job.reads_results]
    independent = [job for job in reversed(jobs) if job not in reading_results]
    middle = (len(independent) + 1) // 2
    pairs = zip_longest(independent[:middle], independent[middle:])
    independent = [job for pair in pairs for job in pair if job is not None]
    pool, futures = ThreadPoolExecutor(n), {}
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


def _execute_job(job, folder, pages):
    """Execute a NotebookJob, and return the CmlibError that it raised, or None, and the time that it took [s].

    `pages` are names of notebooks with a page.
    """
    start = time.monotonic()
    # Imported only now, as that takes seconds. jsonschema works without its parser of IRIs, which takes a second more.
    sys.modules.setdefault("rfc3987_syntax", None)
    from cmlib.report.execute import execute

    failure = None
    try:
        execute(job.notebook, job.parameters, folder, pages)
    except CmlibError as error:
        failure = error
    return failure, time.monotonic() - start


@contextlib.contextmanager
def lock_results(folder):
    """Hold the lock of a profile's folder of results (Path); ResultsBusyError if another run holds it."""
    descriptor = open_lock_file(folder / _LOCK)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResultsBusyError(
                f"another `cmlib run` is writing to {folder}. Wait until it has ended, or give this one another "
                "folder with -p results_folder=…"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)
