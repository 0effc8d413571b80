"""`cmlib compare --history`: find the commits at which a program's metrics change, and print them."""

from pathlib import Path

from cmlib.cli.answers import show


def compare_history(path, page, *, as_json, alpha=0.05, smallest=0.01):
    """Print the commits of a history at which metrics changed, and return whether there is any (bool).

    `path` is a CSV (a row a commit, a column a metric) or a folder of comparisons kept by `cmlib compare --keep`;
    `page` is an HTML file to write, or None; `as_json` prints JSON instead of text. `alpha` is the false-alarm
    probability for the whole history, `smallest` the smallest relevant change as a share. CmlibError if the history
    can't be read or the page can't be written.
    """
    from cmlib.anomaly.history import find_groups
    from cmlib.collect.compare.kept import read_kept
    from cmlib.errors import CmlibError
    from cmlib.io.archive import errors_as, write_whole
    from cmlib.io.histories import read_history
    from cmlib.report.history import history_page, summarize_history

    history, subjects = read_kept(path) if Path(path).is_dir() else read_history(path)
    groups = find_groups(history, alpha=alpha, smallest=smallest)
    summary = summarize_history(history, subjects, groups, alpha=alpha, smallest=smallest)
    if page:
        with errors_as(CmlibError, page):
            write_whole(page, history_page(Path(path).name, history, summary, groups))
    show(summary, "history.txt.j2", as_json=as_json)
    return bool(groups)
