"""What tests give to worker processes to do; apart from the tests, so that workers start fast."""

import os
import signal

from cmlib.parallel import Workers, parallel_map


def square(n):
    return n * n


def fail_on_three(n):
    if n == 3:
        raise ArithmeticError("three")
    return n


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(n, *, folder):
    """Kill this process at item 2, the first time."""
    if n == 2 and not (folder / "died").exists():
        (folder / "died").touch()
        die(n)
    return n


def own_and_nested_pids(_):
    return os.getpid(), list(parallel_map(own_pid, range(3), Workers(2)))


def own_pid(_):
    return os.getpid()
