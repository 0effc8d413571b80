"""What tests run beside Python: whether it is there, what to install if not, and what becomes of the test then.

A test, or a file of them, says `pytest.mark.needs("c++", "boost")`. Where something of it is missing, exactly these
tests are skipped, and say which package of Debian brings it. With `CI=true` they fail instead, so that nothing is left
out unnoticed. What needs one of LARGE is in `make test-all` and not in `make test`.
"""

import functools
import os
import shutil
import subprocess

import pytest

from tests.databases import POSTGRES


def _compiles(compiler, header, language):
    """Whether a compiler is there and finds a header."""
    if shutil.which(compiler) is None:
        return False
    command = [compiler, "-x", language, "-fsyntax-only", "-"]
    return (
        subprocess.run(command, input=f"#include <{header}>\n".encode(), capture_output=True).returncode == 0
    )


@functools.cache
def perf_works():
    """Whether a real perf can count here: in a container it may not."""
    probe = ["perf", "stat", "-e", "task-clock", "true"]
    return shutil.which("perf") is not None and subprocess.run(probe, capture_output=True).returncode == 0


# Name: (whether it is there, how to get it).
THINGS = {
    "boost": (lambda: _compiles("c++", "boost/smart_ptr/detail/spinlock_pool.hpp", "c++"), "libboost-dev"),
    "bzip2": (lambda: shutil.which("bzip2"), "bzip2"),
    "c++": (lambda: _compiles("c++", "thread", "c++"), "g++"),
    "cc": (lambda: _compiles("cc", "stdio.h", "c"), "gcc libc6-dev"),
    "chromium": (lambda: shutil.which("chromium"), "chromium"),
    "git": (lambda: shutil.which("git"), "git"),
    "java": (lambda: shutil.which("java"), "default-jre-headless"),
    "lld": (lambda: shutil.which("ld.lld"), "lld"),
    "memcached": (lambda: shutil.which("memcached"), "memcached"),
    "perf": (perf_works, "linux-perf"),
    "postgres": (lambda: POSTGRES, "postgresql; then .ci/with_postgres make test-all"),
    "valgrind": (lambda: shutil.which("valgrind"), "valgrind"),
}

LARGE = {"boost", "chromium", "java", "lld", "memcached", "postgres", "valgrind"}


@functools.cache
def is_there(name):
    """Whether one of :data:`THINGS` is there."""
    return bool(THINGS[name][0]())


def needed(item):
    """Names of what a test needs, each once."""
    return list(dict.fromkeys(name for mark in item.iter_markers("needs") for name in mark.args))


def missing(item):
    """Names of what a test lacks."""
    return [name for name in needed(item) if not is_there(name)]


def check(item):
    """Skip a test that lacks something, or fail it in CI."""
    lacking = missing(item)
    if not lacking:
        return
    message = "; ".join(
        f"{name} is missing or does not work: apt-get install {THINGS[name][1]}" for name in lacking
    )
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
