"""Recognize repeated x86 string instructions (``rep movsb``) in a program's file.

Callgrind counts each repetition of such an instruction as an instruction, unlike a processor. To correct its counts,
:func:`is_string_instruction` disassembles the instruction at an address.
"""

import contextlib
import re
from pathlib import Path

from cmlib.extras import check_extra
from cmlib.io.archive.files import ArchiveError, opened

_REPEATED_STRING_INSTRUCTION = re.compile(r"rep\w* (?:movs|cmps|stos|lods|scas|ins|outs)")


def is_string_instruction(path: str | Path, address: int) -> bool:
    """Return whether the instruction at an address is an x86 string instruction with a repeat prefix (``rep movsb``).

    Parameters
    ----------
    path : path
        Executable or library.
    address : int
        Virtual address.

    Returns
    -------
    bool
        False if the file or the address does not exist, or the file is not an ELF file.

    Raises
    ------
    CmlibError
        If the packages of the extra ``compare`` are not installed.
    """
    check_extra("compare", "Recognizing string instructions")
    from capstone import CS_ARCH_X86, CS_MODE_64, Cs
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    with contextlib.suppress(ArchiveError, ELFError, StopIteration), opened(path) as file:
        file.seek(next(ELFFile(file).address_offsets(address)))
        _, _, mnemonic, _ = next(Cs(CS_ARCH_X86, CS_MODE_64).disasm_lite(file.read(15), address))
        return _REPEATED_STRING_INSTRUCTION.match(mnemonic) is not None
    return False
