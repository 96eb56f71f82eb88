# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program of thousands of functions, written byte by byte: the guests have no compiler."""

import struct

BASE, TEXT, FUNCTION_BYTES = 0x400000, 0x1000, 4
FUNCTION = b"\x55\x5d\xc3\x90"  # push %rbp; pop %rbp; ret


def name(number):
    return f"function_{number:06}"


def _start(n, called):
    """Behind the functions: calls some of them, and ends with status 0."""
    code = b""
    for number in called:
        back = number * FUNCTION_BYTES - (n * FUNCTION_BYTES + len(code) + 5)
        code += b"\xe8" + struct.pack("<i", back)
    return code + b"\xb8\x3c\0\0\0\x31\xff\x0f\x05"  # exit(0)


def _symbols(functions):
    """(symbol table, string table)"""
    at, table, strings = 1, [bytes(24)], [""]
    for i, names in enumerate(functions):
        for text in names.split("="):
            table.append(struct.pack("<IBBHQQ", at, 0x12, 0, 1, BASE + TEXT + i * FUNCTION_BYTES, FUNCTION_BYTES))
            strings.append(text)
            at += len(text) + 1
    return b"".join(table), "\0".join([*strings, ""]).encode()


def write_program(path, n, called=(), functions=None):
    """
    An executable at @path with @n functions, name(0) and so on, or those of @functions, "one=uno" if it has two names;
    it calls those of @called.
    """
    functions = functions or [name(i) for i in range(n)]
    text = FUNCTION * n + _start(n, called)
    symbols, strings = _symbols(functions)
    section_names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    contents = [text, symbols, strings, section_names]
    places, at = [], TEXT
    for content in contents:
        places.append(at)
        at += len(content) + -len(content) % 16
    sections = [
        struct.pack("<IIQQQQIIQQ", 1, 1, 6, BASE + TEXT, places[0], len(text), 0, 0, 16, 0),
        struct.pack("<IIQQQQIIQQ", 7, 2, 0, 0, places[1], len(symbols), 3, 1, 8, 24),
        struct.pack("<IIQQQQIIQQ", 15, 3, 0, 0, places[2], len(strings), 0, 0, 1, 0),
        struct.pack("<IIQQQQIIQQ", 23, 3, 0, 0, places[3], len(section_names), 0, 0, 1, 0),
    ]
    entry = BASE + TEXT + n * FUNCTION_BYTES
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = ident + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, entry, 64, at, 0, 64, 56, 1, 64, 5, 4)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, TEXT + len(text), TEXT + len(text), 0x1000)
    with open(path, "wb") as file:
        file.write(header + load)
        for place, content in zip(places, contents):
            file.seek(place)
            file.write(content)
        file.seek(at)
        file.write(bytes(64) + b"".join(sections))
    path.chmod(0o755)
    return str(path)
