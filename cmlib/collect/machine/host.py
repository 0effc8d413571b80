"""Describe this machine from /proc and /sys.

:func:`describe` returns the processor, the kernel, the counters and the installed perf as a dict, which is part of
the metadata of each recording. The other functions read single facts. A PMU is a unit of counters that the kernel
lists. The parameter `root` is the folder that contains proc and sys. Values that the machine does not provide are
None or empty.
"""

import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.places import yaml_beside

_CAP_SYS_ADMIN, _CAP_PERFMON = 21, 38
_RAW_PMU = 4  # PERF_TYPE_RAW: the type of a processor's own counters


_NAMES = yaml_beside(__file__)  # names of processors and hypervisors, keyed by numbers or by words in /sys


def describe(root="/"):
    """Describe this machine, for the metadata of a recording.

    Parameters
    ----------
    root : path-like, default "/"
        Folder that contains proc and sys. The version of perf is always that of this machine.

    Returns
    -------
    dict
        Facts that are not known are None.

        - vendor, model_name, family, model: of the processor
        - microarchitecture: for example ``zen5``, else vendor, family and model
        - processors: number of logical processors
        - virtual: the hypervisor
        - kernel, perf: versions
        - mux_interval_ms: time between turns of multiplexed groups [ms]
        - load_1min: mean number of running and waiting processes in the last minute
        - metric_group: perf's metric group for top-down level 1, if perf lists one
    """
    root = Path(root)
    cpuinfo = _read_text(root / "proc/cpuinfo") or ""
    cpu = _parse_first_cpu(cpuinfo)
    release = _read_text(root / "proc/sys/kernel/osrelease")
    described = _describe_x86(cpu) | {
        "processors": len(re.findall(r"^processor\s*:", cpuinfo, re.M)) or None,
        "virtual": _name_hypervisor(root, cpu),
        "kernel": f"Linux {release}" if release else None,
        "perf": perf_version()[0],
        "mux_interval_ms": _read_mux_interval(root),
        "load_1min": load_1min(root),
    }
    group = metric_group()
    return described | _describe_arm(cpu) | ({"metric_group": group} if group else {})


def _parse_first_cpu(cpuinfo):
    """Parse the fields of the first processor in the text of /proc/cpuinfo (dict of str to str)."""
    pairs = (line.partition(":") for line in cpuinfo.split("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _describe_x86(cpu):
    """Describe a processor by its fields in /proc/cpuinfo; values are None for a processor that is not x86."""
    vendor = cpu.get("vendor_id")
    family, model = _to_int(cpu.get("cpu family")), _to_int(cpu.get("model"))
    return {
        "vendor": vendor,
        "model_name": cpu.get("model name"),
        "family": family,
        "model": model,
        "microarchitecture": _name_microarchitecture(vendor, family, model),
    }


def _describe_arm(cpu):
    """Describe an ARM processor by its fields in /proc/cpuinfo, with the keys of `_describe_x86`; {} for others."""
    try:
        implementer, part = (int(cpu[f"CPU {key}"], 16) for key in ("implementer", "part"))
    except (KeyError, ValueError):
        return {}
    vendor = _NAMES["implementers"].get(implementer, f"{implementer:#x}")
    architecture = cpu.get("CPU architecture", "8")
    family = int(architecture) if architecture.isdigit() else 8  # older kernels write AArch64
    return {
        "vendor": vendor,
        "model_name": _NAMES["arm"].get(part) if vendor == "ARM" else None,
        "family": family,
        "model": part,
        "microarchitecture": f"{vendor}-{family}-{part:X}",
    }


def _read_mux_interval(root):
    """Read the time between turns of multiplexed groups [ms]; None if no PMU of the cores has it."""
    for pmu in core_pmus(root):
        file = root / "sys/bus/event_source/devices" / pmu / "perf_event_mux_interval_ms"
        interval = _to_int(_read_text(file))
        if interval is not None:
            return interval
    return None


def load_1min(root="/"):
    """Return the mean number of running and waiting processes in the last minute; None if it is not known."""
    load = _read_text(Path(root) / "proc/loadavg")
    return float(load.split()[0]) if load else None


def perf_version():
    """Return the version of the installed perf, or None, and the reason why it is not known, or ""."""
    if shutil.which("perf") is None:
        return None, "no perf on the PATH"
    result = subprocess.run(["perf", "version"], capture_output=True, text=True)
    if match := re.search(r"perf version (\S+)", result.stdout):
        return match[1], ""
    complaint = (result.stderr or result.stdout).strip()
    return None, complaint or f"perf version ended with exit code {result.returncode}"


def perf_list():
    """Return the output of ``perf list``: JSON, or text from a perf before 6.2; "" without perf."""
    if shutil.which("perf") is None:
        return ""
    for form in ("--json", "--details"):
        result = subprocess.run(["perf", "list", form], capture_output=True, text=True)
        if result.returncode == 0:
            return result.stdout
    return ""


# Metric groups of top-down level 1 in the output of `perf list`: in JSON since perf 6.2, in text before.
_LEVEL_1 = re.compile(
    r'"MetricGroup" *: *"(?:[^"\n;]+;)*(TopdownL1|PipelineL1)\b|^(TopdownL1|PipelineL1):$', re.MULTILINE
)


def metric_group():
    """Return the name of perf's metric group for top-down level 1, for example ``TopdownL1``, or None."""
    match = _LEVEL_1.search(perf_list())
    return match and (match[1] or match[2])


def core_pmus(root="/"):
    """List the names of the PMUs of the processor's cores, sorted.

    For example, ``cpu``, ``cpu_core`` or ``armv8_pmuv3_0``.
    """
    devices = Path(root) / "sys/bus/event_source/devices"
    names = ("cpu", "cpu_core", "cpu_atom")
    return sorted(
        device.parent.name
        for device in devices.glob("*/type")
        if device.parent.name in names
        or _to_int(_read_text(device)) == _RAW_PMU
        or (device.parent / "cpus").exists()  # on Arm, whose PMUs have no fixed type
    )


def raw_config(code, umask, root="/"):
    """Encode an event of a core as the number that perf_event_open takes.

    Parameters
    ----------
    code, umask : int
        The event's code and unit mask.
    root : path-like, default "/"
        Folder that contains sys, which describes the positions of the bits.

    Returns
    -------
    int

    Raises
    ------
    CmlibError
        If the code or the umask has more bits than the machine's counters take.
    """
    folders = [Path(root) / "sys/bus/event_source/devices" / name / "format" for name in core_pmus(root)]
    parts = {"event": (code, "config:0-7,32-35"), "umask": (umask, "config:8-15")}
    config = 0
    for term, (value, default_layout) in parts.items():
        layouts = (_read_text(folder / term) for folder in folders)
        config += _place_bits(value, next(filter(None, layouts), default_layout))
    return config


def _place_bits(value, layout):
    """Move the bits of a value to the positions of a layout, for example ``config:0-7,32-35``, lowest bit first."""
    config = 0
    for low, high in re.findall(r"(\d+)(?:-(\d+))?", layout.partition(":")[2]):
        width = int(high or low) - int(low) + 1
        config |= (value & (1 << width) - 1) << int(low)
        value >>= width
    if value:
        raise CmlibError(f"an event's code or umask has more bits than the counters take here ({layout}).")
    return config


def tracepoint_id(name, root="/"):
    """Return the kernel's number of a tracepoint, or None if it is unknown or hidden.

    `name` is the full name, for example ``sched:sched_wakeup``.
    """
    folders = [Path(root) / "sys/kernel" / folder / "events" for folder in ("tracing", "debug/tracing")]
    numbers = (_to_int(_read_text(folder.joinpath(*name.split(":")) / "id")) for folder in folders)
    return next((number for number in numbers if number is not None), None)


def paranoid_level(root="/"):
    """Read the kernel's setting perf_event_paranoid; None if the kernel has no perf events."""
    return _to_int(_read_text(Path(root) / "proc/sys/kernel/perf_event_paranoid"))


def is_privileged(root="/"):
    """Return True if this process has CAP_PERFMON or CAP_SYS_ADMIN, and may count at any paranoid level."""
    status = _read_text(Path(root) / "proc/self/status") or ""
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.M)
    effective = int(match[1], 16) if match else 0
    return bool(effective >> _CAP_PERFMON & 1 or effective >> _CAP_SYS_ADMIN & 1)


def has_watchdog(root="/"):
    """Return True if the NMI watchdog is on, which takes one counter."""
    return _read_text(Path(root) / "proc/sys/kernel/nmi_watchdog") == "1"


def counting_processes(root="/"):
    """List other processes that are perf or have open perf events, for example ``perf (123)``.

    Processes of other users may be missing, because only root can see their open files.
    """
    processes = []
    for folder in sorted((Path(root) / "proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        name = _read_text(folder / "comm")
        if int(folder.name) != os.getpid() and (_holds_perf_events(folder / "fd") or name == "perf"):
            processes.append(f"{name} ({folder.name})")
    return processes


def _holds_perf_events(folder):
    """Return True if a process has an open perf event; `folder` is its /proc/PID/fd."""
    with contextlib.suppress(OSError):
        for file in folder.iterdir():
            with contextlib.suppress(OSError):  # closed meanwhile
                if os.readlink(file) == "anon_inode:[perf_event]":
                    return True
    return False


def _name_microarchitecture(vendor, family, model):
    """Return AMD's name, for example zen5, or else ``VENDOR-FAMILY-MODEL``; None if a number is missing."""
    if None in (vendor, family, model):
        return None
    if vendor == "AuthenticAMD" and family in _NAMES["amd"]:
        return next((name for first, name in _NAMES["amd"][family] if model >= first), None)
    return f"{vendor}-{family}-{model:X}"


def _name_hypervisor(root, cpu):
    """Return the name of the hypervisor; None on bare hardware, "unknown" if it has no name."""
    flags = cpu.get("flags")
    if flags is not None and "hypervisor" not in flags.split():
        return None
    clocks = _read_text(root / "sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    dmi = root / "sys/class/dmi/id"
    sources = (dmi / "sys_vendor", dmi / "product_name", root / "proc/device-tree/compatible")
    hints = " ".join([*(_read_text(file) or "" for file in sources), clocks]).lower()
    if flags is None and ".metal" in hints:
        return None
    unknown = None if flags is None else "unknown"
    return next((name for hint, name in _NAMES["hypervisors"].items() if hint in hints), unknown)


def _read_text(file):
    """Read a file's text without surrounding blanks; return None if it cannot be read."""
    with contextlib.suppress(OSError):
        return file.read_text(encoding="utf-8", errors="replace").strip()
    return None


def _to_int(text):
    """Convert text to an int; return None for None and for text that is not an integer."""
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None
