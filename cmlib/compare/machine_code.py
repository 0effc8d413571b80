"""Digest the functions and data of an x86-64 executable without addresses.

Two links of the same code have equal digests. :func:`read_code` takes a path and returns a :class:`Code`;
:func:`find_differences` names the functions and data that differ between two of them. An address in code or data is
replaced by a text on its target: the name of a function or object, or the bytes of a constant without a name. Addresses
are virtual, as the linker assigned them. MachineCodeError for files that are not of x86-64 or have no symbols.
"""

import bisect
import hashlib
import itertools
import re
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from cmlib.errors import CmlibError
from cmlib.extras import check_extra
from cmlib.io.archive.files import opened

_NO_DATA = re.compile(
    r"\.(eh_frame|gcc_except_table|got|interp|note|go|relro|stapsdt|typelink|itablink|tm_clone)"
)
# Symbols that are read as if they had no name: start-up code of compilers, which depends on the positions of sections.
_UNNAMED = ("", "register_tm_clones", "deregister_tm_clones")
_NO_CODE = ("STT_SECTION", "STT_FILE", "STT_TLS")
_TO_RIP = re.compile(r"rip ([+-]) (0x[0-9a-f]+|[0-9])")
_NUMBER = re.compile(r"0x[0-9a-f]+")
_BRANCH = re.compile(r"(j|call|loop|xbegin)")
_PADDING = re.compile(r"^(?:nop|int3|data16|add \0? ?byte ptr \[rax\], al)")
_DEEPEST = 3  # steps by which pointers in constants are followed, at most
_LARGEST = 1 << 29  # bytes of a file, at most


class MachineCodeError(CmlibError):
    """Raised for a file with functions that can't be distinguished: not of x86-64, or without symbols."""


@dataclass(frozen=True)
class Code:
    """Functions and data of an executable file.

    Attributes
    ----------
    functions : dict of str to list
        By symbol, a list of bodies, because several static functions may share a name. A body is a tuple: a digest
        (str) of the instructions without addresses, and a list of the targets of the addresses that were left out, each
        a set of one or two names (the end of an object may be the start of another).
    objects : dict of str to Counter
        By symbol, the digests of initialized data and how often each occurs; data without a symbol are listed under
        the name of their section.
    users : dict of str to set of str
        By object, the functions with code that refers to it.
    """

    functions: dict
    objects: dict
    users: dict


def read_code(path):
    """Read the functions and data of an executable or library of x86-64.

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
        If it is not an ELF file, is not of x86-64, or has no symbols.
    ArchiveError
        If it can't be read or is larger than 512 MiB.
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
                    f"{path} contains no x86-64 machine code; other code can't be compared"
                )
            return _Image(elf, path).code()
        except (ELFError, UnicodeDecodeError, AttributeError, KeyError, TypeError, OverflowError) as error:
            raise MachineCodeError(f"{path} is not a complete ELF file: {error}") from error


def find_differences(old, new):
    """Find the functions and data that differ between two programs.

    A function differs if its instructions do, if only one program has it, or if it refers to data that differ.

    Parameters
    ----------
    old, new : Code
        Results of :func:`read_code`.

    Returns
    -------
    functions : set of str
        Names of the functions that differ.
    unused_objects : set of str
        Names of the data that differ and to which no function refers.
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


def _have_same_bodies(old, new):
    """Return True if two lists of bodies (see Code) are the same in any order: equal digests, and names that agree."""
    unmatched = list(new)
    for old_body in old:
        match = next((body for body in unmatched if _are_same_body(old_body, body)), None)
        if match is None:
            return False
        unmatched.remove(match)
    return not unmatched


def _are_same_body(old, new):
    """Return True if two bodies have equal digests, and each pair of their targets has a name in common."""
    old_digest, old_targets = old
    new_digest, new_targets = new
    return old_digest == new_digest and not any(map(set.isdisjoint, old_targets, new_targets))


def _digest(text):
    """Hash a text to 24 hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


_EMPTY = _digest("")


class _Image:
    """An ELF file's sections, symbols and relocations by virtual address, from which :meth:`code` makes a Code.

    Attributes
    ----------
    fixed : bool
        True if the program is not position-independent, so that addresses are numbers in its code.
    sections : list of elftools.elf.sections.Section
        Sections in memory, without thread-local ones, sorted by address; `starts` are their addresses.
    contents : dict of str to bytes
        Content of each section by name.
    functions, objects : list of (int, int, str)
        Start, end and name of functions, and of objects in data, sorted by start.
    relocations : dict of int to (str or None, int)
        Symbol and addend by the address at which the linker or loader puts a pointer.
    users : dict of str to set of str
        The functions that refer to an object, filled by :meth:`code`.
    constants : dict of int to str
        Digests of data without a name, by their start.
    referred : set of int
        Addresses of such data to which code or data refer.
    """

    def __init__(self, elf, path):
        from elftools.elf.relocation import RelocationSection
        from elftools.elf.sections import SymbolTableSection

        self.fixed = elf["e_type"] == "ET_EXEC"
        # Flags: 0x2 occupies memory (ALLOC), 0x4 is code (EXECINSTR), 0x400 is thread-local (TLS).
        sections = [s for s in elf.iter_sections() if s["sh_flags"] & 2 and s["sh_addr"]]
        sections = sorted((s for s in sections if not s["sh_flags"] & 0x400), key=lambda s: s["sh_addr"])
        self.sections, self.starts = sections, [s["sh_addr"] for s in sections]
        self.contents = {s.name: b"" if s["sh_type"] == "SHT_NOBITS" else s.data() for s in sections}
        table = elf.get_section_by_name(".symtab")
        if not isinstance(table, SymbolTableSection):
            raise MachineCodeError(f"{path} has no symbols: compare it before `strip`, or link without -s")
        self.functions, self.objects = self._read_symbols(table)
        self.relocations = {}
        for section in elf.iter_sections():
            if isinstance(section, RelocationSection) and section["sh_flags"] & 2:
                self.relocations |= _read_relocations(section, elf.get_section(section["sh_link"]))
        self.users = defaultdict(set)
        self.constants = {}
        self.referred = set()

    def _read_symbols(self, table):
        """Read two lists of (start, end, name), sorted by start: functions, and objects in data."""
        functions, objects = {}, {}
        for symbol in table.iter_symbols():
            start, size, kind = symbol["st_value"], symbol["st_size"], symbol["st_info"]["type"]
            section = self.section(start) if isinstance(symbol["st_shndx"], int) else None
            if symbol.name in _UNNAMED or section is None or kind in _NO_CODE:
                continue
            is_code = section["sh_flags"] & 4
            if is_code or size:
                symbols = functions if is_code else objects
                name_and_size = symbol.name, size
                symbols[start] = min(symbols.get(start, name_and_size), name_and_size)
        ordered = sorted(functions)
        extents = []
        for start, following in zip(ordered, [*ordered[1:], 1 << 64], strict=True):
            name, size = functions[start]
            section = self.section(start)
            end = min(start + size if size else following, _end(section))
            extents.append((start, end, name))
        return extents, [(start, start + size, name) for start, (name, size) in sorted(objects.items())]

    def section(self, address):
        """Return the section of an address; None if it is in no section."""
        position = bisect.bisect_right(self.starts, address) - 1
        return self.sections[position] if position >= 0 and address < _end(self.sections[position]) else None

    def bytes_of(self, start, end):
        """Return the file's bytes between two addresses, up to the end of the section; b"" outside of sections."""
        section = self.section(start)
        if section is None:
            return b""
        section_start = section["sh_addr"]
        return self.contents[section.name][start - section_start : end - section_start]

    def code(self):
        """Make the Code of the file."""
        from capstone import CS_ARCH_X86, CS_MODE_64, Cs

        self.disassembler = Cs(CS_ARCH_X86, CS_MODE_64)
        self.disassembler.skipdata = True
        bodies = [(name, *self._read_instructions(start, end)) for start, end, name in self.functions]
        self.cuts = self._find_cuts(target for *_, targets in bodies for target in targets)
        functions = defaultdict(list)
        for name, text, targets in bodies:
            functions[name].append((_digest(text), [self._name_target(target, name) for target in targets]))
        return Code(dict(functions), self._digest_objects(), dict(self.users))

    def _digest_objects(self):
        """Return the digests of initialized data by symbol or section, and how often each occurs: dict of Counters.

        Data without a name are listed only if nothing refers to them: otherwise their digest is part of the text of the
        function or data that refers to them. `referred` must be filled before; :meth:`code` does it when it names the
        targets of functions, and the first loop when it follows the pointers in objects.
        """
        objects = defaultdict(Counter)
        for start, end, name in self.objects:
            content = self._describe_content(start, end) if self._is_data(self.section(start)) else ""
            objects[name][_digest(f"{end - start} {content}")] += 1
        for start in self.cuts:
            has_name = start in self.referred or _find_covering(self.objects, start) is not None
            if has_name or not self._is_data(self.section(start)):
                continue
            constant = self._digest_constant(start)
            if constant != _EMPTY:
                objects[self.section(start).name][constant] += 1
        return dict(objects)

    def _is_data(self, section):
        """Return True if a section contains the program's own initialized data."""
        is_content = section["sh_type"] == "SHT_PROGBITS" and not section["sh_flags"] & 4
        return is_content and not _NO_DATA.match(section.name)

    def _disassemble(self, start, end):
        """Iterate over (address, size, mnemonic, operands) of the instructions between two addresses."""
        return self.disassembler.disasm_lite(self.bytes_of(start, end), start)

    def _read_instructions(self, start, end):
        """Read a function's instructions as text without addresses, and the list of these addresses."""
        lines, targets = [], []
        for address, size, mnemonic, operands in self._disassemble(start, end):
            if _BRANCH.match(mnemonic) and operands.startswith("0x"):
                target = int(operands, 16)
                if start <= target < end:
                    operands = f"+{target - start:x}"
                else:
                    operands = "\0"
                    targets.append(target)
            elif match := _TO_RIP.search(operands):
                offset = int(match[1] + match[2], 0)
                targets.append(address + size + offset)
                operands = operands.replace(match[0], "\0")
            elif self.fixed:
                numbers = [n for n in _NUMBER.findall(operands) if self.section(int(n, 16))]
                targets += [int(number, 16) for number in numbers]
                operands = _NUMBER.sub(lambda n: "\0" if n[0] in numbers else n[0], operands)  # noqa: B023
            lines.append(f"{mnemonic} {operands}")
        while lines and _PADDING.match(lines[-1]):
            lines.pop()
        return "\n".join(lines), targets

    def _find_cuts(self, targets):
        """Find the sorted addresses at which data without a symbol may begin."""
        cuts = {*targets, *self.starts}
        cuts.update(edge for start, end, _ in self.objects for edge in (start, end))
        cuts.update(addend for symbol, addend in self.relocations.values() if symbol is None)
        if self.fixed:
            for section in filter(self._is_data, self.sections):
                cuts.update(self._find_pointers(section["sh_addr"], _end(section)).values())
        return sorted(cut for cut in cuts if self.section(cut) is not None)

    def _find_pointers(self, start, end):
        """Find the pointers in data: a dict from the address of a pointer to the address that it contains."""
        first = -(-start // 8) * 8
        if not self.fixed:
            relocated = filter(self.relocations.__contains__, range(first, end - 7, 8))
            return {address: self.relocations[address][1] for address in relocated}
        content = self.bytes_of(start, end)[first - start :]
        words = np.frombuffer(content[: len(content) // 8 * 8], "<u8")
        inside = np.flatnonzero((words >= self.starts[0]) & (words < _end(self.sections[-1])))
        return {first + 8 * int(k): int(words[k]) for k in inside if self.section(int(words[k]))}

    def _name_target(self, target, user):
        """Return the names (set) of a target: of the data or code at the address, and of an object that ends there.

        `user` is the function that refers to it.
        """
        names = {self._describe_target(target, user)}
        position = bisect.bisect_left(self.objects, (target,)) - 1
        if position >= 0:
            start, end, name = self.objects[position]
            if end == target:
                names.add(f"{name}+{target - start:x}")
        return names

    def _describe_target(self, target, user="", depth=0):
        """Return a text on the data or code at an address that does not depend on the address.

        `user` is the function that refers to it, or "".
        """
        section = self.section(target)
        if section is None:
            return "outside"
        if section.name.startswith(".got") and target in self.relocations:
            return self._follow_pointer(target, self.relocations[target][1], depth)
        if section["sh_flags"] & 4:
            if section.name.startswith(".plt"):
                return self._follow_stub(target)
            return self._locate_in_function(target)
        covering = _find_covering(self.objects, target)
        if covering is not None:
            start, _, name = covering
            if user:
                self.users[name].add(user)
            return f"{name}+{target - start:x}"
        self.referred.add(target)
        return self._digest_constant(target, depth) if self._is_data(section) else section.name

    def _locate_in_function(self, target):
        """Write an address in code as ``FUNCTION+OFFSET``."""
        covering = _find_covering(self.functions, target)
        if covering is None:
            return "code"
        start, _, name = covering
        return f"{name}+{target - start:x}"

    def _follow_stub(self, target):
        """Return the function to which an entry of the procedure linkage table (PLT) jumps."""
        for address, size, _, operands in self._disassemble(target, target + 16):
            match = _TO_RIP.search(operands)
            if match:
                entry = address + size + int(match[1] + match[2], 0)
                symbol, addend = self.relocations.get(entry, ("stub", 0))
                return f"{symbol}+{addend}" if symbol else self._locate_in_function(addend)
        return "stub"

    def _digest_constant(self, start, depth=0):
        """Digest data without a name, from `start` up to the next address to which something refers.

        A compiler makes a table of jumps for a ``switch`` statement: distances from the table to code. They change if
        code moves, so a table at `start` is digested by its targets, and the bytes after it by their content. Zeros at
        the end are alignment. Beyond `_DEEPEST` pointers, return the name of the section.
        """
        if depth > _DEEPEST:
            return self.section(start).name
        if start not in self.constants:
            # A placeholder: data that refer to themselves, directly or not, would be followed without end.
            self.constants[start] = self.section(start).name
            next_cut = bisect.bisect_right(self.cuts, start)
            end = min([_end(self.section(start)), *self.cuts[next_cut : next_cut + 1]])
            jumps = self._read_jumps(start, end)
            other_content = self._describe_content(start + 4 * len(jumps), end, depth).rstrip("0")
            self.constants[start] = _digest("\n".join(jumps) + other_content)
        return self.constants[start]

    def _read_jumps(self, start, end):
        """Read the targets of a table of jumps (list of ``FUNCTION+OFFSET``); empty if no table begins at `start`.

        An entry is the distance of its target from `start`, in four bytes. The table ends before the first entry that
        leads to no function. Ordinary data are rarely mistaken for a table, because small numbers lead to addresses
        near `start`, where no functions are. A number that is a distance to a function by chance is written as its
        target; a changed number is another target. A pointer that the loader fills in is not an entry.
        """
        if start in self.relocations:
            return []
        words = np.frombuffer(self.bytes_of(start, start + (end - start) // 4 * 4), "<i4").tolist()
        targets = (self._locate_in_function(start + word) for word in words)
        return list(itertools.takewhile(lambda target: target != "code", targets))

    def _describe_content(self, start, end, depth=0):
        """Return the bytes between two addresses as hexadecimal digits, with texts on their targets for pointers."""
        if start >= end:
            return ""
        parts = []
        position = start
        for address, target in self._find_pointers(start, end).items():
            parts += [self.bytes_of(position, address).hex(), self._follow_pointer(address, target, depth)]
            position = address + 8
        return "|".join([*parts, self.bytes_of(position, end).hex()])

    def _follow_pointer(self, address, target, depth):
        """Return a text on the target of the pointer at `address`: a symbol of another file, or a text on `target`."""
        symbol, addend = self.relocations.get(address, (None, target))
        return f"{symbol}+{addend}" if symbol else self._describe_target(target, depth=depth + 1)


def _read_relocations(section, names):
    """Read the entries of a section of relocations: a dict from address to (name of the symbol or None, addend)."""
    relocations = {}
    for entry in section.iter_relocations():
        symbol = entry["r_info_sym"]
        name = names.get_symbol(symbol).name if symbol else None
        relocations[entry["r_offset"]] = name, entry["r_addend"] if section.is_RELA() else 0
    return relocations


def _end(section):
    """Return the first address after a section."""
    return section["sh_addr"] + section["sh_size"]


def _find_covering(extents, address):
    """Return the (start, end, name) of a sorted list that contains an address; None if there is none."""
    position = bisect.bisect_right(extents, (address, 1 << 65)) - 1
    if position < 0:
        return None
    start, end, _ = extents[position]
    return extents[position] if start <= address < end else None
