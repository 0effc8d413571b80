"""Recognize repeated x86 string instructions in a program's file. For example, ``rep movsb``.

Callgrind counts each repetition as an instruction, but a processor counts only one instruction. Callgrind's counts are
corrected for the instructions that :func:`is_string_instruction` recognizes.
"""

import re
from pathlib import Path

from cmlib.extras import check_extra
from cmlib.io.archive.files import ArchiveError, opened

_LONGEST_INSTRUCTION = 15  # bytes
_REPEATED_STRING_INSTRUCTION = re.compile(r"rep\w* (?:movs|cmps|stos|lods|scas|ins|outs)")


def is_string_instruction(path: str | Path, address: int) -> bool:
    """Return True if an instruction is a repeated string instruction.

    Parameters
    ----------
    path : path
        Executable or library.
    address : int
        Virtual address of the instruction.

    Returns
    -------
    bool
        False if the file is not an ELF file, or the file or the address does not exist.

    Raises
    ------
    CmlibError
        If the packages of the extra ``compare`` are not installed.
    """
    check_extra("compare", "Recognizing string instructions")
    from capstone import CS_ARCH_X86, CS_MODE_64, Cs
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with opened(path) as file:
            offset = next(ELFFile(file).address_offsets(address))
            file.seek(offset)
            code = file.read(_LONGEST_INSTRUCTION)
            _, _, mnemonic, _ = next(Cs(CS_ARCH_X86, CS_MODE_64).disasm_lite(code, address))
    # StopIteration: the file has no such address, or no instruction there.
    except (ArchiveError, ELFError, StopIteration):
        return False
    return _REPEATED_STRING_INSTRUCTION.match(mnemonic) is not None
