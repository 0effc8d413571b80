"""Where a file is made before it takes another's place, and what is left of makers that were killed."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from glob import escape
from pathlib import Path


@contextlib.contextmanager
def draft_of(target):
    """A place for a file that replaces `target` when the block ends well, and else leaves no trace.

    It is in a folder beside `target` that stays locked while its maker lives: what one
    that was killed has left can so be told from what others are making, and is removed.

    Parameters
    ----------
    target : pathlib.Path
        In a folder that is there.

    Yields
    ------
    pathlib.Path
        To be written; nothing is there yet.

    Raises
    ------
    OSError
        If nothing can be written there.
    """
    with contextlib.ExitStack() as stack:
        with _locked(target.parent):
            _remove_abandoned(target)
            folder = Path(tempfile.mkdtemp(".partial", f"{target.name}.", target.parent))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.enter_context(_locked(folder))
        yield folder / target.name
        os.replace(folder / target.name, target)


def _remove_abandoned(target):
    for left in target.parent.glob(f"{escape(target.name)}.*.partial/"):
        with contextlib.suppress(FileNotFoundError), _locked(left, fcntl.LOCK_NB) as abandoned:
            if abandoned:
                shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder, how=0):
    """Hold a folder's lock; gives whether it could be had: not of another's, nor where there are no locks."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | how)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
