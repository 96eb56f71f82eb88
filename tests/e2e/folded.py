# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Folded stacks, read strictly: what does not parse here, no flame graph tool is to be given.

    tar;_start;main;__read;-;entry_SYSCALL_64;ksys_read;vfs_read 42

A line is parts joined by ';', none of them empty, one blank, and a count of at least one. The
count is what follows the last blank, since names may have blanks in them. See
src/report/render_text.c.
"""

import re
import unicodedata

LINE = re.compile(r"(.+) ([1-9][0-9]*)", re.DOTALL)
NO_STACK = "[no stack]"


def parse_line(line, number=1):
    """One line without its newline: a tuple of its parts, outermost first, and the count."""
    match = LINE.fullmatch(line)
    if not match:
        raise ValueError(f"line {number}: no count behind a blank: {line!r}")
    # Names are nearly always plain, and there may be millions of lines.
    for character in "" if match[1].isascii() and match[1].isprintable() else match[1]:
        if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
            raise ValueError(f"line {number}: control character {character!r}: {line!r}")
    parts = tuple(match[1].split(";"))
    if "" in parts:
        raise ValueError(f"line {number}: an empty part: {line!r}")
    if NO_STACK in parts and len(parts) > 1:
        raise ValueError(f"line {number}: {NO_STACK} beside other parts: {line!r}")
    if parts.count("-") > 1:
        raise ValueError(f"line {number}: more than one delimiter: {line!r}")
    return parts, int(match[2])
