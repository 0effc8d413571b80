"""Compare the functions and data of two x86-64 executables, without their addresses.

:func:`read_code` reads an ELF file and returns a :class:`Code`: a digest of each function and of each data
object. :func:`find_differences` takes two of them and returns the names of the functions and data that
differ. Before a digest is computed, each address is replaced by a name. So moving code or data changes no
digest. The name of an address consists of a function or object and an offset. The name of data without a
symbol is a digest of their bytes.
"""

import bisect
import hashlib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cmlib.errors import CmlibError
from cmlib.extras import check_extra
from cmlib.io.archive.files import opened

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile
    from elftools.elf.relocation import RelocationSection
    from elftools.elf.sections import Section, SymbolTableSection

# Sections that a compiler or linker fills. They are not data of the program.
_TOOL_SECTIONS = re.compile(
    r"\.(eh_frame|gcc_except_table|got|interp|note|go|relro|stapsdt|typelink|itablink|tm_clone)"
)
# Symbols without a name, and start-up code of compilers, which depends on the positions of sections
_IGNORED_SYMBOLS = ("", "register_tm_clones", "deregister_tm_clones")
_IGNORED_SYMBOL_TYPES = ("STT_SECTION", "STT_FILE", "STT_TLS")
# Flags of a section
_IN_MEMORY = 0x2
_IS_CODE = 0x4
_IS_THREAD_LOCAL = 0x400
# An operand relative to the instruction pointer: "qword ptr [rip + 0x2ee2]"
_RIP_OFFSET = re.compile(r"rip ([+-]) (0x[0-9a-f]+|[0-9])")
_NUMBER = re.compile(r"0x[0-9a-f]+")
_BRANCH = re.compile(r"(j|call|loop|xbegin)")
_PADDING = re.compile(r"^(?:nop|int3|data16|add \0? ?byte ptr \[rax\], al)")
_ADDRESS = "\0"  # replaces an address in the text of an instruction
# Descriptions of addresses without a name
_OUTSIDE = "outside"  # in no section
_UNNAMED_CODE = "code"  # in no function
_UNKNOWN_LINK = "stub"  # an entry of the procedure linkage table without a symbol
_MOST_POINTERS = 3  # longest chain of pointers to follow in unnamed data
_LARGEST = 1 << 29  # largest file [bytes]

_Extent = TypeVar("_Extent", bound=tuple)


class MachineCodeError(CmlibError):
    """Raised if a file contains no x86-64 code or no symbols."""


@dataclass(frozen=True)
class Code:
    """Functions and data of an executable file.

    Attributes
    ----------
    functions : dict of str to list
        Function bodies, keyed by symbol. A list contains several bodies if static functions share a symbol. A
        body is a tuple of two elements: a digest (str) of the instructions, and the names of each address in
        the instructions (list of set of str). An address has a second name if an object ends at it.
    objects : dict of str to Counter
        Digests of initialized data and their frequencies, keyed by symbol. Data without a symbol are keyed by
        the name of their section.
    users : dict of str to set of str
        Functions that refer to an object, keyed by the symbol of the object.
    """

    functions: dict
    objects: dict
    users: dict


def read_code(path: str | Path) -> Code:
    """Read the functions and data of an x86-64 executable or library.

    Parameters
    ----------
    path : path
        An ELF file.

    Returns
    -------
    Code
        Digests of functions and data.

    Raises
    ------
    MachineCodeError
        If the file is not a complete ELF file, is for another processor, or has no symbols.
    ArchiveError
        If the file cannot be read or is larger than 512 MiB.
    CmlibError
        If the packages of the extra ``compare`` are not installed.
    """
    check_extra("compare", "Comparing machine code")
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    with opened(path, most=_LARGEST) as file:
        try:
            elf = ELFFile(file)
            if elf["e_machine"] != "EM_X86_64":
                raise MachineCodeError(
                    f"{path} contains no x86-64 machine code. Only x86-64 code can be compared."
                )
            return _Image(elf, path).digest()
        # pyelftools raises errors of these types for damaged files.
        except (ELFError, UnicodeDecodeError, AttributeError, KeyError, TypeError, OverflowError) as error:
            raise MachineCodeError(f"{path} is not a complete ELF file: {error}") from error


def find_differences(old: Code, new: Code) -> tuple[set[str], set[str]]:
    """Find the functions and data that differ between two programs.

    A function differs if its instructions differ, if only one program has it, or if it refers to data that differ.

    Parameters
    ----------
    old, new : Code
        Results of :func:`read_code`.

    Returns
    -------
    functions : set of str
        Names of the functions that differ.
    unused_objects : set of str
        Names of the data that differ and are used by no function.
    """
    functions = {
        name
        for name in {*old.functions, *new.functions}
        if not _have_same_bodies(old.functions.get(name, []), new.functions.get(name, []))
    }
    unused_objects = set()
    for name in {*old.objects, *new.objects}:
        if old.objects.get(name) == new.objects.get(name):
            continue
        users = old.users.get(name, set()) | new.users.get(name, set())
        functions |= users
        if not users:
            unused_objects.add(name)
    return functions, unused_objects


def _have_same_bodies(old: list, new: list) -> bool:
    """Return True if each old function body has an equal new one, in any order."""
    unmatched = list(new)
    for old_body in old:
        match = next((body for body in unmatched if _are_same_body(old_body, body)), None)
        if match is None:
            return False
        unmatched.remove(match)
    return not unmatched


def _are_same_body(old: tuple, new: tuple) -> bool:
    """Return True if two function bodies have equal instructions and equal addresses.

    Two addresses are equal if they have a name in common.
    """
    old_digest, old_addresses = old
    new_digest, new_addresses = new
    return old_digest == new_digest and not any(map(set.isdisjoint, old_addresses, new_addresses))


def _compute_digest(text: str) -> str:
    """Hash a text to 24 hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


_EMPTY = _compute_digest("")


class _Image:
    """Sections, symbols and relocations of an ELF file, by virtual address.

    :meth:`digest` makes the result of :func:`read_code`. Attributes marked "later" are filled by it.

    Attributes
    ----------
    fixed : bool
        True if the program must be loaded at a fixed address. Its code and data then contain addresses as numbers.
    sections : list of elftools.elf.sections.Section
        Sections that are loaded into memory, sorted by address. Thread-local sections are left out.
    section_starts : list of int
        Addresses of `sections`.
    contents : dict of str to bytes
        Bytes of each section, keyed by section name.
    functions, objects : list of (int, int, str)
        Start, end and name of each function and of each data object, sorted by start.
    relocations : dict of int to (str or None, int)
        Symbol and offset of each pointer that the loader fills in, keyed by the address of the pointer.
    data_starts : list of int
        Sorted addresses at which unnamed data can begin (later).
    users : dict of str to set of str
        Functions that refer to an object, keyed by object (later).
    unnamed_digests : dict of int to str
        Digests of unnamed data, keyed by start (later).
    used_unnamed : set of int
        Addresses of the unnamed data to which code or data refer (later).
    """

    def __init__(self, elf: "ELFFile", path: str | Path) -> None:
        from elftools.elf.relocation import RelocationSection
        from elftools.elf.sections import SymbolTableSection

        self.fixed = elf["e_type"] == "ET_EXEC"
        sections = [
            section
            for section in elf.iter_sections()
            if section["sh_flags"] & _IN_MEMORY
            and section["sh_addr"]
            and not section["sh_flags"] & _IS_THREAD_LOCAL
        ]
        self.sections = sorted(sections, key=lambda section: section["sh_addr"])
        self.section_starts = [section["sh_addr"] for section in self.sections]
        self.contents = {
            section.name: b"" if section["sh_type"] == "SHT_NOBITS" else section.data()
            for section in self.sections
        }
        table = elf.get_section_by_name(".symtab")
        if not isinstance(table, SymbolTableSection):
            raise MachineCodeError(
                f"{path} has no symbols. Compare it before `strip`, or link it without -s."
            )
        self.functions, self.objects = self._read_symbols(table)
        self.relocations = {}
        for section in elf.iter_sections():
            if isinstance(section, RelocationSection) and section["sh_flags"] & _IN_MEMORY:
                symbols = elf.get_section(section["sh_link"])
                self.relocations |= _read_relocations(section, symbols)
        self.data_starts: list[int] = []
        self.users: defaultdict[str, set[str]] = defaultdict(set)
        self.unnamed_digests: dict[int, str] = {}
        self.used_unnamed: set[int] = set()

    def digest(self) -> Code:
        """Compute the digests of all functions and data."""
        from capstone import CS_ARCH_X86, CS_MODE_64, Cs

        self.disassembler = Cs(CS_ARCH_X86, CS_MODE_64)
        self.disassembler.skipdata = True
        bodies = [(name, *self._read_instructions(start, end)) for start, end, name in self.functions]
        self.data_starts = self._find_data_starts(
            address for _, _, addresses in bodies for address in addresses
        )
        functions = defaultdict(list)
        for name, text, addresses in bodies:
            names_by_address = [self._name_address(address, name) for address in addresses]
            functions[name].append((_compute_digest(text), names_by_address))
        # Naming the addresses has filled `users` and `used_unnamed`, which _digest_objects needs.
        objects = self._digest_objects()
        return Code(dict(functions), objects, dict(self.users))

    # Sections, symbols and bytes

    def _read_symbols(self, table: "SymbolTableSection") -> tuple[list, list]:
        """Read the start, end and name of all functions and of all data objects."""
        functions: dict[int, tuple[str, int]] = {}
        objects: dict[int, tuple[str, int]] = {}
        for symbol in table.iter_symbols():
            start, size, kind = symbol["st_value"], symbol["st_size"], symbol["st_info"]["type"]
            section = self._find_section(start) if isinstance(symbol["st_shndx"], int) else None
            if symbol.name in _IGNORED_SYMBOLS or section is None or kind in _IGNORED_SYMBOL_TYPES:
                continue
            is_code = section["sh_flags"] & _IS_CODE
            if is_code or size:
                symbols = functions if is_code else objects
                name_and_size = symbol.name, size
                # Of several names at one address, the first in the alphabet is used.
                symbols[start] = min(symbols.get(start, name_and_size), name_and_size)
        function_extents = self._find_function_ends(functions)
        object_extents = [(start, start + size, name) for start, (name, size) in sorted(objects.items())]
        return function_extents, object_extents

    def _find_function_ends(self, functions: dict[int, tuple[str, int]]) -> list[tuple[int, int, str]]:
        """Return the start, end and name of functions, from their name and size keyed by start.

        A function of unknown size (0) ends at the next function or at the end of its section.
        """
        starts = sorted(functions)
        extents = []
        for start, next_start in zip(starts, [*starts[1:], 1 << 64], strict=True):
            name, size = functions[start]
            end = start + size if size else next_start
            extents.append((start, min(end, _end(self._find_section(start))), name))
        return extents

    def _find_section(self, address: int) -> "Section | None":
        """Return the section that contains an address, or None if none does."""
        position = bisect.bisect_right(self.section_starts, address) - 1
        if position < 0 or address >= _end(self.sections[position]):
            return None
        return self.sections[position]

    def _read_bytes(self, start: int, end: int) -> bytes:
        """Return the bytes between two addresses of a section; empty if `start` is in no section."""
        section = self._find_section(start)
        if section is None:
            return b""
        section_start = section["sh_addr"]
        return self.contents[section.name][start - section_start : end - section_start]

    @staticmethod
    def _is_data(section: "Section") -> bool:
        """Return True if a section contains initialized data of the program."""
        is_content = section["sh_type"] == "SHT_PROGBITS" and not section["sh_flags"] & _IS_CODE
        return is_content and not _TOOL_SECTIONS.match(section.name)

    def _find_data_starts(self, code_addresses: Iterable[int]) -> list[int]:
        """Find the sorted addresses at which data without a symbol can begin.

        The following addresses are returned:

        - addresses in instructions (`code_addresses`)
        - targets of pointers
        - starts of sections
        - starts and ends of objects
        """
        starts = {*code_addresses, *self.section_starts}
        for start, end, _ in self.objects:
            starts.update((start, end))
        starts.update(offset for symbol, offset in self.relocations.values() if symbol is None)
        if self.fixed:
            for section in filter(self._is_data, self.sections):
                starts.update(self._find_pointers(section["sh_addr"], _end(section)).values())
        return sorted(start for start in starts if self._find_section(start) is not None)

    # Code

    def _disassemble(self, start: int, end: int) -> Iterator[tuple[int, int, str, str]]:
        """Iterate over the address, size, mnemonic and operands of instructions."""
        return self.disassembler.disasm_lite(self._read_bytes(start, end), start)

    def _read_instructions(self, start: int, end: int) -> tuple[str, list[int]]:
        """Return the instructions of a function as text without addresses, and the list of its addresses."""
        lines = []
        addresses: list[int] = []
        for address, size, mnemonic, operands in self._disassemble(start, end):
            if _BRANCH.match(mnemonic) and operands.startswith("0x"):
                target = int(operands, 16)
                if start <= target < end:
                    operands = f"+{target - start:x}"
                else:
                    operands = _ADDRESS
                    addresses.append(target)
            elif match := _RIP_OFFSET.search(operands):
                addresses.append(address + size + int(match[1] + match[2], 0))
                operands = operands.replace(match[0], _ADDRESS)
            elif self.fixed:
                operands, numbers = self._mask_numbers(operands)
                addresses += numbers
            lines.append(f"{mnemonic} {operands}")
        while lines and _PADDING.match(lines[-1]):
            lines.pop()
        return "\n".join(lines), addresses

    def _mask_numbers(self, operands: str) -> tuple[str, list[int]]:
        """Mask the numbers in operands that are addresses, and return the text and these addresses."""
        numbers = [number for number in _NUMBER.findall(operands) if self._find_section(int(number, 16))]
        masked = _NUMBER.sub(lambda match: _ADDRESS if match[0] in numbers else match[0], operands)
        return masked, [int(number, 16) for number in numbers]

    # Names of addresses

    def _name_address(self, address: int, function: str) -> set[str]:
        """Return the names of an address that an instruction of `function` mentions.

        One name describes the code or data at the address. A second name is added if an object ends at the
        address.
        """
        names = {self._describe_address(address, function)}
        position = bisect.bisect_left(self.objects, (address,)) - 1
        if position >= 0:
            start, end, name = self.objects[position]
            if end == address:
                names.add(f"{name}+{address - start:x}")
        return names

    def _describe_address(self, address: int, function: str = "", n_pointers: int = 0) -> str:
        """Describe the code or data at an address by a text without addresses.

        The description depends on the address:

        - outside of all sections: a constant text
        - entry of the global offset table: the description of its target
        - entry of the procedure linkage table: the linked function
        - other code: function and offset
        - data with a symbol: symbol and offset. `function` is added to `users`.
        - data without a symbol: a digest of the data. The address is added to `used_unnamed`.
        - data of the compiler or linker: name of the section

        `function` is the function that mentions the address. `n_pointers` is the number of pointers between
        them.
        """
        section = self._find_section(address)
        if section is None:
            return _OUTSIDE
        if section.name.startswith(".got") and address in self.relocations:
            _, offset = self.relocations[address]
            return self._describe_pointer(address, offset, n_pointers)
        if section["sh_flags"] & _IS_CODE:
            if section.name.startswith(".plt"):
                return self._name_linked_function(address)
            return self._name_code_address(address)
        extent = _find_extent(self.objects, address)
        if extent is not None:
            start, _, name = extent
            if function:
                self.users[name].add(function)
            return f"{name}+{address - start:x}"
        self.used_unnamed.add(address)
        return self._digest_unnamed(address, section, n_pointers) if self._is_data(section) else section.name

    def _name_code_address(self, address: int) -> str:
        """Return an address in code as ``FUNCTION+OFFSET``, or a constant text outside of functions."""
        extent = _find_extent(self.functions, address)
        if extent is None:
            return _UNNAMED_CODE
        start, _, name = extent
        return f"{name}+{address - start:x}"

    def _name_linked_function(self, address: int) -> str:
        """Return the function to which an entry of the procedure linkage table (PLT) jumps."""
        for position, size, _, operands in self._disassemble(address, address + 16):
            match = _RIP_OFFSET.search(operands)
            if match:
                pointer = position + size + int(match[1] + match[2], 0)
                symbol, offset = self.relocations.get(pointer, (_UNKNOWN_LINK, 0))
                return f"{symbol}+{offset}" if symbol else self._name_code_address(offset)
        return _UNKNOWN_LINK

    # Data

    def _digest_objects(self) -> dict[str, Counter]:
        """Count the digests of initialized data, keyed by symbol or section.

        Unnamed data are included only if no code or data refer to them. Otherwise their digest is already a part of
        the digest of the function or data that refer to them.
        """
        objects: dict[str, Counter] = defaultdict(Counter)
        for start, end, name in self.objects:
            content = self._describe_bytes(start, end) if self._is_data(self._find_section(start)) else ""
            objects[name][_compute_digest(f"{end - start} {content}")] += 1
        # The loop above follows the pointers in named data, and so completes `used_unnamed`.
        for start in self.data_starts:
            is_covered = start in self.used_unnamed or _find_extent(self.objects, start) is not None
            section = self._find_section(start)
            if is_covered or section is None or not self._is_data(section):
                continue
            digest = self._digest_unnamed(start, section)
            if digest != _EMPTY:
                objects[section.name][digest] += 1
        return dict(objects)

    def _digest_unnamed(self, start: int, section: "Section", n_pointers: int = 0) -> str:
        """Compute the digest of the unnamed data that begin at `start`.

        The data end at the next start of data. If more than three pointers led to the data, the name of the
        section is returned instead of a digest.
        """
        if n_pointers > _MOST_POINTERS:
            return section.name
        if start not in self.unnamed_digests:
            # This value ends the recursion if data refer to themselves.
            self.unnamed_digests[start] = section.name
            next_position = bisect.bisect_right(self.data_starts, start)
            end = min([_end(section), *self.data_starts[next_position : next_position + 1]])
            jumps = self._read_jump_table(start, end)
            content = self._describe_bytes(start + 4 * len(jumps), end, n_pointers)
            content = content.rstrip("0")  # alignment
            self.unnamed_digests[start] = _compute_digest("\n".join(jumps) + content)
        return self.unnamed_digests[start]

    def _read_jump_table(self, start: int, end: int) -> list[str]:
        """Read the targets of a jump table, which a compiler makes for a ``switch`` statement.

        Each target is a text ``FUNCTION+OFFSET``. The list is empty if no table begins at `start`.
        """
        # An entry is the distance from `start` to code, in four bytes. The distances change if code moves, but their
        # targets do not. The table ends before the first entry whose target is in no function. Small numbers in other
        # data are not mistaken for entries, because their targets would be near `start`, where no functions are.
        if start in self.relocations:
            return []  # a pointer that the loader fills in
        n_bytes = (end - start) // 4 * 4
        distances = np.frombuffer(self._read_bytes(start, start + n_bytes), "<i4").tolist()
        targets = (self._name_code_address(start + distance) for distance in distances)
        return list(itertools.takewhile(lambda target: target != _UNNAMED_CODE, targets))

    def _describe_bytes(self, start: int, end: int, n_pointers: int = 0) -> str:
        """Write the bytes between two addresses as hexadecimal digits, with the target of each pointer as text."""
        if start >= end:
            return ""
        parts = []
        position = start
        for address, target in self._find_pointers(start, end).items():
            parts.append(self._read_bytes(position, address).hex())
            parts.append(self._describe_pointer(address, target, n_pointers))
            position = address + 8
        parts.append(self._read_bytes(position, end).hex())
        return "|".join(parts)

    def _find_pointers(self, start: int, end: int) -> dict[int, int]:
        """Find the pointers in data, and return the target of each, keyed by the address of the pointer."""
        first = -(-start // 8) * 8
        if not self.fixed:
            relocated = filter(self.relocations.__contains__, range(first, end - 7, 8))
            return {address: self.relocations[address][1] for address in relocated}
        content = self._read_bytes(start, end)[first - start :]
        words = np.frombuffer(content[: len(content) // 8 * 8], "<u8")
        is_in_range = (words >= self.section_starts[0]) & (words < _end(self.sections[-1]))
        return {
            first + 8 * int(position): int(words[position])
            for position in np.flatnonzero(is_in_range)
            if self._find_section(int(words[position]))
        }

    def _describe_pointer(self, address: int, target: int, n_pointers: int) -> str:
        """Describe the target of the pointer at `address`: a symbol of another file, or the data or code."""
        symbol, offset = self.relocations.get(address, (None, target))
        return f"{symbol}+{offset}" if symbol else self._describe_address(target, n_pointers=n_pointers + 1)


def _read_relocations(
    section: "RelocationSection", symbols: "SymbolTableSection"
) -> dict[int, tuple[str | None, int]]:
    """Read the symbol (None if unnamed) and offset of each relocation, keyed by address."""
    relocations = {}
    for entry in section.iter_relocations():
        symbol = entry["r_info_sym"]
        name = symbols.get_symbol(symbol).name if symbol else None
        offset = entry["r_addend"] if section.is_RELA() else 0
        relocations[entry["r_offset"]] = name, offset
    return relocations


def _end(section: "Section") -> int:
    """Return the first address after a section."""
    return section["sh_addr"] + section["sh_size"]


def _find_extent(extents: list[_Extent], address: int) -> _Extent | None:
    """Find the (start, end, name) that contains an address in a list sorted by start, or None."""
    position = bisect.bisect_right(extents, (address, 1 << 65)) - 1
    if position < 0:
        return None
    start, end, _ = extents[position]
    return extents[position] if start <= address < end else None
