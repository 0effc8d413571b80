"""Describe the host from /proc and /sys: processor, kernel, counters and the installed perf.

:func:`describe` returns all of it as a dict, the part `machine` of a recording's metadata. The functions' `root`
(path, default "/") is the folder that contains proc and sys. A PMU is a unit of counters as the kernel lists it.
Values that the host does not provide are None or empty. :func:`raw_config` raises a CmlibError for a code that the
counters do not take.
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


_NAMES = yaml_beside(__file__)  # of processors and hypervisors, by their numbers or by words in /sys


def describe(root="/"):
    """Describe the machine, for the metadata of a recording.

    Parameters
    ----------
    root : path
        Folder that holds proc and sys; perf's version is always this machine's.

    Returns
    -------
    dict
        vendor, model_name, family, model, microarchitecture (a name of AMD's, else its numbers), processors, virtual
        (the hypervisor), kernel, perf (versions), mux_interval_ms, load_1min: None where the host does not say; and
        metric_group, where perf lists metrics of the account's level 1.
    """
    root = Path(root)
    listed = _read_text(root / "proc/cpuinfo") or ""
    pairs = (line.partition(":") for line in listed.split("\n\n")[0].splitlines())
    cpu = {key.strip(): value.strip() for key, _, value in pairs}
    family, model = _to_int(cpu.get("cpu family")), _to_int(cpu.get("model"))
    vendor = cpu.get("vendor_id")
    release = _read_text(root / "proc/sys/kernel/osrelease")
    devices = root / "sys/bus/event_source/devices"
    rotations = (_to_int(_read_text(devices / pmu / "perf_event_mux_interval_ms")) for pmu in core_pmus(root))
    described = {
        "vendor": vendor,
        "model_name": cpu.get("model name"),
        "family": family,
        "model": model,
        "microarchitecture": _name_microarchitecture(vendor, family, model),
        "processors": len(re.findall(r"^processor\s*:", listed, re.M)) or None,
        "virtual": _name_hypervisor(root, cpu),
        "kernel": f"Linux {release}" if release else None,
        "perf": perf_version()[0],
        "mux_interval_ms": next((interval for interval in rotations if interval is not None), None),
        "load_1min": load_1min(root),
    }
    group = metric_group()
    return described | describe_arm(cpu) | ({"metric_group": group} if group else {})


def load_1min(root="/"):
    """Return the mean number of processes that ran or waited to run in the last minute; None if it is not known.

    `root` is the folder that contains proc.
    """
    load = _read_text(Path(root) / "proc/loadavg")
    return float(load.split()[0]) if load else None


def perf_version():
    """Return the version of the installed perf and ""; or None and the reason (str) why there is none."""
    if shutil.which("perf") is None:
        return None, "no perf on the PATH"
    result = subprocess.run(["perf", "version"], capture_output=True, text=True)
    if match := re.search(r"perf version (\S+)", result.stdout):
        return match[1], ""
    complaint = (result.stderr or result.stdout).strip()
    return None, complaint or f"perf version ended with exit code {result.returncode}"


def perf_list():
    """Return the output of ``perf list`` as JSON or, from an older perf, as text; "" without perf."""
    if shutil.which("perf") is None:
        return ""
    for form in ("--json", "--details"):
        result = subprocess.run(["perf", "list", form], capture_output=True, text=True)
        if result.returncode == 0:
            return result.stdout
    return ""


# Metric groups of top-down level 1, as perf lists them: in JSON since perf 6.2, in text before.
_LEVEL_1 = re.compile(
    r'"MetricGroup" *: *"(?:[^"\n;]+;)*(TopdownL1|PipelineL1)\b|^(TopdownL1|PipelineL1):$', re.MULTILINE
)


def metric_group():
    """Return the name of perf's metric group for top-down level 1 here, such as ``TopdownL1``; None if it has none."""
    match = _LEVEL_1.search(perf_list())
    return match and (match[1] or match[2])


def core_pmus(root="/"):
    """List the PMUs of the processor's cores, such as ``cpu``, ``cpu_core`` and ``armv8_pmuv3_0``, sorted.

    `root` is the folder that contains sys; the list is empty if there is none.
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
    """Encode a raw event of a core, from its code and umask (int), as perf_event_open's number (int).

    The bits go where /sys (below `root`) says. Raises a CmlibError if the machine's format has no room for them.
    """
    folders = [Path(root) / "sys/bus/event_source/devices" / name / "format" for name in core_pmus(root)]
    parts = {"event": (code, "config:0-7,32-35"), "umask": (umask, "config:8-15")}
    return sum(
        _place_bits(value, next(filter(None, (_read_text(folder / term) for folder in folders)), usual))
        for term, (value, usual) in parts.items()
    )


def _place_bits(value, layout):
    """Place a value's bits at the positions that a format such as ``config:0-7,32-35`` names, the lowest first."""
    config = 0
    for low, high in re.findall(r"(\d+)(?:-(\d+))?", layout.partition(":")[2]):
        width = int(high or low) - int(low) + 1
        config |= (value & (1 << width) - 1) << int(low)
        value >>= width
    if value:
        raise CmlibError(f"an event's code or umask has more bits than the counters take here ({layout}).")
    return config


def tracepoint_id(name, root="/"):
    """Return the kernel's number (int) of a tracepoint; None if it is unknown or hidden.

    `name` is such as ``sched:sched_wakeup``; `root` is the folder that contains sys.
    """
    folders = [Path(root) / "sys/kernel" / place / "events" for place in ("tracing", "debug/tracing")]
    known = (_to_int(_read_text(folder.joinpath(*name.split(":")) / "id")) for folder in folders)
    return next((number for number in known if number is not None), None)


def paranoid_level(root="/"):
    """Read the kernel's setting perf_event_paranoid (int); None if the kernel has no perf events at all.

    `root` is the folder that contains proc.
    """
    return _to_int(_read_text(Path(root) / "proc/sys/kernel/perf_event_paranoid"))


def is_privileged(root="/"):
    """Return True if this process may count at any paranoid level (it has CAP_PERFMON or CAP_SYS_ADMIN).

    `root` is the folder that contains proc.
    """
    status = _read_text(Path(root) / "proc/self/status") or ""
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.M)
    effective = int(match[1], 16) if match else 0
    return bool(effective >> _CAP_PERFMON & 1 or effective >> _CAP_SYS_ADMIN & 1)


def has_watchdog(root="/"):
    """Return True if the NMI watchdog is on, which takes one counter; `root` is the folder that contains proc."""
    return _read_text(Path(root) / "proc/sys/kernel/nmi_watchdog") == "1"


def counting_processes(root="/"):
    """List other processes, as str such as ``perf (123)``, that are perf or hold perf events open.

    As far as this user can see; `root` is the folder that holds proc.
    """
    processes = []
    for folder in sorted((Path(root) / "proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        name = _read_text(folder / "comm")
        if int(folder.name) != os.getpid() and (_holds_perf_events(folder / "fd") or name == "perf"):
            processes.append(f"{name} ({folder.name})")
    return processes


def _holds_perf_events(folder):
    """Return True if one of a process's open files is a perf event; `folder` is its /proc/PID/fd."""
    with contextlib.suppress(OSError):
        for file in folder.iterdir():
            with contextlib.suppress(OSError):  # closed meanwhile
                if os.readlink(file) == "anon_inode:[perf_event]":
                    return True
    return False


def _name_microarchitecture(vendor, family, model):
    """Return AMD's name, such as zen5, or else ``VENDOR-FAMILY-MODEL``; None if a number is missing."""
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
    """Read a file's text, without surrounding blanks; return None if it can't be read."""
    with contextlib.suppress(OSError):
        return file.read_text(encoding="utf-8", errors="replace").strip()
    return None


def _to_int(text):
    """Convert text to an int; return None if it is None or not a whole number."""
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None


def describe_arm(cpu):
    """Describe an ARM processor, as a part of :func:`describe`; {} for any other processor.

    Parameters
    ----------
    cpu : dict of str to str
        Fields of one processor in /proc/cpuinfo.

    Returns
    -------
    dict
        vendor (str, from the field CPU implementer), model_name (str, or None if not known), family (int, CPU
        architecture; 8 if it is not a number), model (int, CPU part) and microarchitecture (str,
        vendor-family-model, the model in hexadecimal).
    """
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
