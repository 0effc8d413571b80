"""Digest the functions and data of an x86-64 executable without addresses.

Two links of the same code then have equal digests. :func:`read_code` takes a path and gives a :class:`Code`;
:func:`find_differences` names what differs between two of them. An address in code or data is replaced by what lies
there: the name of a function or object, or the bytes of a constant without a name. Addresses are virtual, as the linker
gave them. MachineCodeError for files that are not of x86-64 or have no symbols.
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
# Symbols that are read as if they had no name: start-up code of compilers, which depends on where sections lie.
_UNNAMED = ("", "register_tm_clones", "deregister_tm_clones")
_NO_CODE = ("STT_SECTION", "STT_FILE", "STT_TLS")
_TO_RIP = re.compile(r"rip ([+-]) (0x[0-9a-f]+|[0-9])")
_NUMBER = re.compile(r"0x[0-9a-f]+")
_BRANCH = re.compile(r"(j|call|loop|xbegin)")
_PADDING = re.compile(r"^(?:nop|int3|data16|add \0? ?byte ptr \[rax\], al)")
_DEEPEST = 3  # steps by which pointers in constants are followed
_LARGEST = 1 << 29  # bytes of a file


class MachineCodeError(CmlibError):
    """Raised for a file whose functions can't be told apart: not of x86-64, or without symbols."""


@dataclass(frozen=True)
class Code:
    """Functions and data of an executable file.

    Attributes
    ----------
    functions : dict of str to list
        By symbol, a list of bodies, as several static functions may share a name. A body is a tuple: a digest (str)
        of the instructions without addresses, and a list of what lies at each address that was left out, each a set
        of one or two names (the end of an object may be the start of another).
    objects : dict of str to Counter
        Digests of initialized data by symbol, and how often each occurs; data that no symbol names goes by its
        section.
    users : dict of str to set of str
        By object, the functions whose code refers to it.
    """

    functions: dict
    objects: dict
    users: dict


def read_code(path):
    """Read the functions and data of an executable or library of x86-64: a Code.

    `path` is that of an ELF file. MachineCodeError if it is no such file, is not of x86-64, or has no symbols;
    ArchiveError if it can't be read or is larger than 512 MiB; CmlibError if the packages of the extra ``compare`` are
    not installed.
    """
    check_extra("compare", "Comparing machine code")
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    with opened(path, most=_LARGEST) as file:
        try:
            elf = ELFFile(file)
            if elf["e_machine"] != "EM_X86_64":
                raise MachineCodeError(f"{path} is no machine code of x86-64, which alone is compared")
            return _Image(elf, path).code()
        except (ELFError, UnicodeDecodeError, AttributeError, KeyError, TypeError, OverflowError) as error:
            raise MachineCodeError(f"{path} is no whole ELF file: {error}") from error


def find_differences(old, new):
    """Two sets of names (str): functions that differ between two programs, and data that differ, used by no function.

    `old` and `new` are the programs' Codes (digests of functions and data), as of :func:`read_code`. A function
    differs if its instructions do, if it is in one Code only, or if it refers to data that differ.
    """
    functions, objects = {*old.functions, *new.functions}, {*old.objects, *new.objects}
    functions -= {f for f in functions if _same_bodies(old.functions.get(f, []), new.functions.get(f, []))}
    objects -= {name for name in objects if old.objects.get(name) == new.objects.get(name)}
    for name in list(objects):
        users = old.users.get(name, set()) | new.users.get(name, set())
        functions |= users
        if users:
            objects.remove(name)
    return functions, objects


def _same_bodies(old, new):
    """Whether two lists of bodies (see Code) are the same, in any order: equal digests, and names that agree."""
    left = list(new)
    for digest, references in old:
        alike = (body for body in left if body[0] == digest)
        agree = (body for body in alike if not any(map(set.isdisjoint, references, body[1])))
        if (body := next(agree, None)) is None:
            return False
        left.remove(body)
    return not left


def _digest(text):
    """24 hexadecimal digits that stand for a text."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


_EMPTY = _digest("")


class _Image:
    """An ELF file's sections, symbols and relocations by virtual address, from which :meth:`code` makes a Code.

    `fixed`: whether the program is not position-independent, so that addresses are numbers in its code.
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
        self.functions, self.objects = self._symbols(table)
        self.relocations = {}
        for section in elf.iter_sections():
            if isinstance(section, RelocationSection) and section["sh_flags"] & 2:
                names = elf.get_section(section["sh_link"])
                for entry in section.iter_relocations():
                    symbol = entry["r_info_sym"]
                    name = names.get_symbol(symbol).name if symbol else None
                    self.relocations[entry["r_offset"]] = name, entry["r_addend"] if section.is_RELA() else 0
        self.users, self.constants, self.referred = defaultdict(set), {}, set()

    def _symbols(self, table):
        """Two lists of (start, end, name), sorted by start: functions, and objects in data."""
        functions, objects = {}, {}
        for symbol in table.iter_symbols():
            start, size, kind = symbol["st_value"], symbol["st_size"], symbol["st_info"]["type"]
            section = self.section(start) if isinstance(symbol["st_shndx"], int) else None
            if symbol.name in _UNNAMED or section is None or kind in _NO_CODE:
                continue
            is_code = section["sh_flags"] & 4
            if is_code or size:
                symbols = functions if is_code else objects
                symbols[start] = min(symbols.get(start, (symbol.name, size)), (symbol.name, size))
        ordered = sorted(functions)
        extents = []
        for start, following in zip(ordered, [*ordered[1:], 1 << 64], strict=True):
            name, size = functions[start]
            section = self.section(start)
            end = min(start + size if size else following, _end(section))
            extents.append((start, end, name))
        return extents, [(start, start + size, name) for start, (name, size) in sorted(objects.items())]

    def section(self, address):
        """The section that an address lies in; None if in none."""
        at = bisect.bisect_right(self.starts, address) - 1
        return self.sections[at] if at >= 0 and address < _end(self.sections[at]) else None

    def bytes_of(self, start, end):
        """The file's bytes between two addresses; b"" outside of sections, and nothing behind a section's end."""
        if (section := self.section(start)) is None:
            return b""
        first = section["sh_addr"]
        return self.contents[section.name][start - first : end - first]

    def code(self):
        """The file's Code."""
        from capstone import CS_ARCH_X86, CS_MODE_64, Cs

        self.disassembler = Cs(CS_ARCH_X86, CS_MODE_64)
        self.disassembler.skipdata = True
        bodies = [(name, *self._instructions(start, end)) for start, end, name in self.functions]
        self.cuts = self._cuts(target for *_, targets in bodies for target in targets)
        functions, objects = defaultdict(list), defaultdict(Counter)
        for name, text, targets in bodies:
            functions[name].append((_digest(text), [self._readings(target, name) for target in targets]))
        for start, end, name in self.objects:
            content = self._content(start, end) if self._is_data(self.section(start)) else ""
            objects[name][_digest(f"{end - start} {content}")] += 1
        for start in self.cuts:
            named = start in self.referred or _covering(self.objects, start) is not None
            if named or not self._is_data(self.section(start)):
                continue
            if (constant := self._constant(start)) != _EMPTY:
                objects[self.section(start).name][constant] += 1
        return Code(dict(functions), dict(objects), dict(self.users))

    def _is_data(self, section):
        """Whether a section holds the program's own initialized data."""
        plain = section["sh_type"] == "SHT_PROGBITS" and not section["sh_flags"] & 4
        return plain and not _NO_DATA.match(section.name)

    def _disassembled(self, start, end):
        """An iterator of (address, size, mnemonic, operands) of the instructions between two addresses."""
        return self.disassembler.disasm_lite(self.bytes_of(start, end), start)

    def _instructions(self, start, end):
        """A function's instructions as text with addresses left out, and a list of these addresses."""
        lines, targets = [], []
        for address, size, mnemonic, operands in self._disassembled(start, end):
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

    def _cuts(self, targets):
        """Sorted addresses at which data without a symbol may begin."""
        cuts = {*targets, *self.starts}
        cuts.update(edge for start, end, _ in self.objects for edge in (start, end))
        cuts.update(addend for symbol, addend in self.relocations.values() if symbol is None)
        if self.fixed:
            for section in filter(self._is_data, self.sections):
                cuts.update(self._pointers(section["sh_addr"], _end(section)).values())
        return sorted(cut for cut in cuts if self.section(cut) is not None)

    def _pointers(self, start, end):
        """Pointers in data: a dict of the place to the address that is stored there."""
        first = -(-start // 8) * 8
        if not self.fixed:
            relocated = filter(self.relocations.__contains__, range(first, end - 7, 8))
            return {at: self.relocations[at][1] for at in relocated}
        content = self.bytes_of(start, end)[first - start :]
        words = np.frombuffer(content[: len(content) // 8 * 8], "<u8")
        inside = np.flatnonzero((words >= self.starts[0]) & (words < _end(self.sections[-1])))
        return {first + 8 * int(k): int(words[k]) for k in inside if self.section(int(words[k]))}

    def _readings(self, target, user):
        """A set of names of what lies at an address, and of the object that ends there; `user` is the function that
        refers to it."""
        before = bisect.bisect_left(self.objects, (target,)) - 1
        readings = {self._resolved(target, user)}
        if before >= 0 and self.objects[before][1] == target:
            readings.add(f"{self.objects[before][2]}+{target - self.objects[before][0]:x}")
        return readings

    def _resolved(self, target, user="", depth=0):
        """What lies at an address, as text that does not depend on the address; `user` is the function that refers
        to it, or "".
        """
        section = self.section(target)
        if section is None:
            return "outside"
        if section.name.startswith(".got") and target in self.relocations:
            return self._pointed(target, self.relocations[target][1], depth)
        if section["sh_flags"] & 4:
            return self._stub(target) if section.name.startswith(".plt") else self._in_function(target)
        if (covering := _covering(self.objects, target)) is not None:
            first, _, name = covering
            if user:
                self.users[name].add(user)
            return f"{name}+{target - first:x}"
        self.referred.add(target)
        return self._constant(target, depth) if self._is_data(section) else section.name

    def _in_function(self, target):
        """An address in code as ``FUNCTION+OFFSET``."""
        covering = _covering(self.functions, target)
        return "code" if covering is None else f"{covering[2]}+{target - covering[0]:x}"

    def _stub(self, target):
        """The function that an entry of the procedure linkage table (PLT) jumps to."""
        for address, size, _, operands in self._disassembled(target, target + 16):
            if match := _TO_RIP.search(operands):
                entry = address + size + int(match[1] + match[2], 0)
                symbol, addend = self.relocations.get(entry, ("stub", 0))
                return f"{symbol}+{addend}" if symbol else self._in_function(addend)
        return "stub"

    def _constant(self, start, depth=0):
        """A digest of data without a name, from `start` up to the next address that is referred to; tables of jumps
        by their targets.

        Beyond `_DEEPEST` pointers, the name of the section.
        """
        if depth > _DEEPEST:
            return self.section(start).name
        if start not in self.constants:
            self.constants[start] = self.section(start).name
            following = bisect.bisect_right(self.cuts, start)
            end = min([_end(self.section(start)), *self.cuts[following : following + 1]])
            words = np.frombuffer(self.bytes_of(start, start + (end - start) // 4 * 4), "<i4").tolist()
            leads = (self._in_function(start + word) for word in words if start not in self.relocations)
            jumps = list(itertools.takewhile(lambda lead: lead != "code", leads))
            rest = self._content(start + 4 * len(jumps), end, depth).rstrip("0")
            self.constants[start] = _digest("\n".join(jumps) + rest)
        return self.constants[start]

    def _content(self, start, end, depth=0):
        """Bytes between two addresses as hexadecimal digits, with pointers replaced by what they point to."""
        if start >= end:
            return ""
        text, at = [], start
        for where, target in self._pointers(start, end).items():
            text += [self.bytes_of(at, where).hex(), self._pointed(where, target, depth)]
            at = where + 8
        return "|".join([*text, self.bytes_of(at, end).hex()])

    def _pointed(self, where, target, depth):
        """What a pointer stored at `where` points to: a symbol of another file, or what lies at `target`."""
        symbol, addend = self.relocations.get(where, (None, target))
        return f"{symbol}+{addend}" if symbol else self._resolved(target, depth=depth + 1)


def _end(section):
    """Address behind a section."""
    return section["sh_addr"] + section["sh_size"]


def _covering(extents, address):
    """The (start, end, name) of a sorted list that an address lies in; None if in none."""
    at = bisect.bisect_right(extents, (address, 1 << 65)) - 1
    return extents[at] if at >= 0 and extents[at][0] <= address < extents[at][1] else None
