"""Which processor an ARM machine has: /proc/cpuinfo tells numbers there, and no names."""

_IMPLEMENTERS = {
    0x41: "ARM",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "APM",
    0x51: "Qualcomm",
    0x61: "Apple",
    0x6D: "Microsoft",
    0xC0: "Ampere",
}
# Part numbers of ARM's own cores (MIDR_EL1, in the technical reference manual of each).
_ARM = {
    0xD03: "Cortex-A53",
    0xD05: "Cortex-A55",
    0xD07: "Cortex-A57",
    0xD08: "Cortex-A72",
    0xD09: "Cortex-A73",
    0xD0A: "Cortex-A75",
    0xD0B: "Cortex-A76",
    0xD0C: "Neoverse-N1",
    0xD0D: "Cortex-A77",
    0xD40: "Neoverse-V1",
    0xD41: "Cortex-A78",
    0xD46: "Cortex-A510",
    0xD47: "Cortex-A710",
    0xD49: "Neoverse-N2",
    0xD4A: "Neoverse-E1",
    0xD4F: "Neoverse-V2",
    0xD83: "Neoverse-V3",
    0xD8E: "Neoverse-N3",
}


def identity(cpu):
    """Name a processor by the numbers that ARM gives it.

    Parameters
    ----------
    cpu : mapping of str to str
        A processor's lines in /proc/cpuinfo.

    Returns
    -------
    dict
        vendor, model_name, family (number of the architecture), model (part
        number) and microarchitecture, such as ``ARM-8-D0C``; model_name is None for parts without a name
        here. Empty for a processor that is none of ARM's.
    """
    try:
        implementer, part = (int(cpu[f"CPU {key}"], 16) for key in ("implementer", "part"))
    except (KeyError, ValueError):
        return {}
    vendor = _IMPLEMENTERS.get(implementer, f"{implementer:#x}")
    architecture = cpu.get("CPU architecture", "8")
    family = int(architecture) if architecture.isdigit() else 8  # AArch64, to old kernels
    return {
        "vendor": vendor,
        "model_name": _ARM.get(part) if vendor == "ARM" else None,
        "family": family,
        "model": part,
        "microarchitecture": f"{vendor}-{family}-{part:X}",
    }
