# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Folded stacks, read strictly: what does not parse here, no flame graph tool is to be given.

    tar;_start;main;__read;-;entry_SYSCALL_64;ksys_read;vfs_read 42

A line is parts joined by ';', none of them empty, one blank, and a count of at least one. The
count is what follows the last blank, since names may have blanks in them. See
src/report/render_text.c.
"""

import re
import sys
import unicodedata

LINE = re.compile(r"(.+) ([1-9][0-9]*)", re.DOTALL)
NO_STACK = "[no stack]"


class FoldedError(ValueError):
    """A line that is not folded text; the message says which one and why."""


def parse_line(line, number=1):
    """One line without its newline: a tuple of its parts, outermost first, and the count."""
    match = LINE.fullmatch(line)
    if not match:
        raise FoldedError(f"line {number}: no count behind a blank: {line!r}")
    # Names are nearly always plain, and there may be millions of lines.
    for character in "" if match[1].isascii() and match[1].isprintable() else match[1]:
        if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
            raise FoldedError(f"line {number}: control character {character!r}: {line!r}")
    parts = tuple(match[1].split(";"))
    if "" in parts:
        raise FoldedError(f"line {number}: an empty part: {line!r}")
    if NO_STACK in parts and len(parts) > 1:
        raise FoldedError(f"line {number}: {NO_STACK} beside other parts: {line!r}")
    if parts.count("-") > 1:
        raise FoldedError(f"line {number}: more than one delimiter: {line!r}")
    return parts, int(match[2])


def parse_folded(text):
    """All lines of @text (str, or bytes in UTF-8): {parts: count}.

    Counts of equal stacks are added: two functions of one name in two files are
    two frames that look the same.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FoldedError(f"not UTF-8: {error}") from error
    if not text:
        return {}
    if not text.endswith("\n"):
        raise FoldedError(f"the last line is not ended: {text[-80:]!r}")
    counts = {}
    # Not splitlines(): that also splits at characters which may be in a name.
    for number, line in enumerate(text[:-1].split("\n"), 1):
        parts, count = parse_line(line, number)
        counts[parts] = counts.get(parts, 0) + count
    return counts


if __name__ == "__main__":
    try:
        stacks = parse_folded(sys.stdin.buffer.read())
    except FoldedError as error:
        sys.exit(str(error))
    print(f"{len(stacks)} stacks, {sum(stacks.values())} hits")
