"""The errors that say what went wrong outside: told without a traceback by the command line."""


class CmlibError(RuntimeError):
    """Something outside the caller's control failed: a command, a file, a machine."""


class NothingRecordedError(CmlibError):
    """There is no recording yet of what was asked for; the message says what to run."""
