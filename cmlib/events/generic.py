"""Events that perf knows by one name on every processor, in the order of linux/perf_event.h."""

# Of the processor: an event's place is its number among those of PERF_TYPE_HARDWARE.
HARDWARE = (
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
)
# Of the kernel, which take no counter of the processor: the same among those of PERF_TYPE_SOFTWARE.
SOFTWARE = (
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
    "cgroup-switches",
)
# Other names that perf takes and writes.
_ALIASES = {
    "cpu-cycles": "cycles",
    "branch-instructions": "branches",
    "idle-cycles-frontend": "stalled-cycles-frontend",
    "idle-cycles-backend": "stalled-cycles-backend",
    "faults": "page-faults",
    "cs": "context-switches",
    "migrations": "cpu-migrations",
}

HARDWARE_NAMES = frozenset([*HARDWARE, *(name for name, event in _ALIASES.items() if event in HARDWARE)])
SOFTWARE_NAMES = frozenset([*SOFTWARE, *(name for name, event in _ALIASES.items() if event in SOFTWARE)])


def canonical(name):
    """The name that stands first where perf has several: ``cycles`` of ``cpu-cycles``."""
    return _ALIASES.get(name, name)
