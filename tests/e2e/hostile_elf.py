# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
ELF files, byte by byte, of which others' are made up: code at CODE, then the headers of sections, then
what is in these, in order. workload/stranger.c maps and calls them.
"""

import os
import struct
import zlib

CODE, HEADERS, CONTENTS, PAGE = 0x1000, 0x2000, 0x3000, 4096
# push %rbp; mov %rsp,%rbp; mov $110,%eax (getppid); syscall; pop %rbp; ret
HIT = b"\x55\x48\x89\xe5\xb8\x6e\0\0\0\x0f\x05\x5d\xc3"
PROGBITS, SYMTAB, STRTAB = 1, 2, 3
ALLOC, EXEC = 2, 4
TEXT = 1  # the number of the section that each file has first

SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")


def symbol(name_at):
    return SYMBOL.pack(name_at, 0x12, 0, TEXT, CODE, len(HIT))


class Elf:
    """Sections are added in the order in which they lie in the file."""

    def __init__(self):
        self.sections = []  # (name, type, contents, size, link, entry size)

    def add(self, name, kind, contents=b"", size=None, link=0, entry=0):
        """A hole follows @contents up to @size."""
        self.sections.append((name, kind, contents, len(contents) if size is None else size, link, entry))

    def add_symbols(self, names):
        """One at the code for each of @names, all of which are bytes."""
        at, table = 1, [bytes(24)]
        for name in names:
            table.append(symbol(at))
            at += len(name) + 1
        self.add(".symtab", SYMTAB, b"".join(table), link=TEXT + len(self.sections) + 2, entry=24)
        self.add(".strtab", STRTAB, b"\0" + b"".join(name + b"\0" for name in names))

    def add_link(self, name, crc):
        text = name.encode() + b"\0"
        self.add(".gnu_debuglink", PROGBITS, text.ljust(-len(text) % 4 + len(text), b"\0") + struct.pack("<I", crc))

    def places(self):
        """[(offset, size)] of the sections that were added."""
        at, found = CONTENTS, []
        for *_, size, _, _ in self.sections:
            found.append((at, size))
            at += size + -size % 16
        return found

    def write(self, path, size=None):
        """Ends where its last section does, or at @size."""
        names, texts = b"\0", []
        for name in [".text", *(section[0] for section in self.sections), ".shstrtab"]:
            texts.append(len(names))
            names += name.encode() + b"\0"
        n = len(self.sections) + 3
        headers = [bytes(64), SECTION.pack(texts[0], PROGBITS, ALLOC | EXEC, CODE, CODE, PAGE, 0, 0, 16, 0)]
        end = CONTENTS
        for (_, kind, _, length, link, entry), (at, _), text in zip(self.sections, self.places(), texts[1:]):
            headers.append(SECTION.pack(text, kind, 0, 0, at, length, link, 0, 1, entry))
            end = at + length
        # The names of sections lie behind their headers, so that no hole is before them.
        names_at = HEADERS + n * 64
        assert names_at + len(names) <= CONTENTS
        headers.append(SECTION.pack(texts[-1], STRTAB, 0, 0, names_at, len(names), 0, 0, 1, 0))
        head = b"\x7fELF\x02\x01\x01" + bytes(9)
        head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, CODE, 64, HEADERS, 0, 64, 56, 1, 64, n, n - 1)
        head += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, HEADERS, HEADERS, PAGE)
        with open(path, "wb") as file:
            for at, data in [(0, head), (CODE, HIT), (HEADERS, b"".join(headers) + names)]:
                file.seek(at)
                file.write(data)
            for (_, _, contents, *_), (at, _) in zip(self.sections, self.places()):
                file.seek(at)
                file.write(contents)
            file.truncate(size or end)
        os.chmod(path, 0o644)
        return path


def named(path, *names, size=None):
    """A file whose code has @names."""
    elf = Elf()
    elf.add_symbols([name.encode() for name in names])
    return elf.write(path, size)


def with_link(path, debug, crc=0x12345678):
    """A program without symbols that names a debug file."""
    elf = Elf()
    elf.add_link(debug, crc)
    return elf.write(path)


def crc_of(path):
    with open(path, "rb") as file:
        return zlib.crc32(file.read())
