"""Recognize x86 string instructions (``rep movsb``) in a program's file.

Callgrind counts each repetition of such an instruction; :func:`is_string_instruction` finds the addresses at which
it does.
"""

import contextlib
import re

from cmlib.io.archive.files import ArchiveError, opened

_STRING = re.compile(r"rep\w* (?:movs|cmps|stos|lods|scas|ins|outs)")


def is_string_instruction(path, address):
    """Whether an x86 string instruction with a repeat prefix (``rep movsb``) lies at a virtual address (int) of a
    file (path).

    False if there is no such file or address, or the file is no ELF.
    """
    from capstone import CS_ARCH_X86, CS_MODE_64, Cs
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    with contextlib.suppress(ArchiveError, ELFError, StopIteration), opened(path) as file:
        file.seek(next(ELFFile(file).address_offsets(address)))
        _, _, mnemonic, _ = next(Cs(CS_ARCH_X86, CS_MODE_64).disasm_lite(file.read(15), address))
        return _STRING.match(mnemonic) is not None
    return False
