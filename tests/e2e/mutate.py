# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
mutate.py SEED FOLDER SOURCE... - an unprivileged user who maps and executes mutated ELF files and writes perf maps, until
its standard input ends. What turn N does depends on SEED and N alone. Says "turns N" in the end.

Each SOURCE is an ELF file. Bytes, sizes and offsets in its headers, sections, symbol tables, unwind information, debugging
information and notes are changed. It is cut short, grown sparsely, compressed, named as a debug file of another one, and
written to while it is mapped.
"""

import ctypes
import lzma
import mmap
import os
import random
import select
import signal
import struct
import sys
import time
import zlib
from contextlib import suppress
from pathlib import Path

from hostile_elf import CODE, HIT, Elf, crc_of

FILES = 48  # at most in the folder; older ones are written over
AT_ONCE = 6
LONGEST_S = 2  # of a process
PAGE = mmap.PAGESIZE
COMPRESSED = 0x800
SPARSE = [1 << 20, 1 << 30, 1 << 33, 1 << 40, 15 << 40]
NUMBERS = [0, 1, 0x7F, 0xFF, 0xFFF, 0x1000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, (1 << 47) - 1, 1 << 63, (1 << 64) - 1]
NAMES = [b"plain", b"_Z1fv", b"a;b c 1", b"\x1b[31m", b"\xff\xfe", b'"\n"', b"-", b"[unknown]", b"x" * 5000, b""]


class Parts:
    """Where what is in an ELF file: [(offset, size, name)] of its sections, and of its headers."""

    def __init__(self, data):
        self.sections, self.table = [], 0
        with suppress(struct.error, IndexError):
            self.table, entry, n, names = struct.unpack("<40xQ10xHHH", data[:64])
            headers = [struct.unpack("<IIQQQQIIQQ", data[self.table + i * entry:][:64]) for i in range(n)]
            for i, header in enumerate(headers):
                text = data[headers[names][4] + header[0]:][:40].split(b"\0")[0].decode("latin-1")
                if header[1] != 8 and header[5] and header[4] + header[5] <= len(data):
                    self.sections.append((header[4], header[5], text, i))
        self.regions = [(0, 64), (64, 56 * 10), (self.table, 64 * max(len(self.sections), 1))]


def compress(data):
    """All .debug_* sections, as ld --compress-debug-sections=zlib does."""
    out = bytearray(data)
    parts = Parts(data)
    for at, size, name, i in parts.sections:
        header = parts.table + i * 64
        flags = struct.unpack_from("<Q", out, header + 8)[0]
        if not name.startswith(".debug_") or flags & COMPRESSED:
            continue
        packed = struct.pack("<IIQQ", 1, 0, size, 1) + zlib.compress(data[at:at + size])
        struct.pack_into("<Q", out, header + 8, flags | COMPRESSED)
        struct.pack_into("<QQ", out, header + 24, len(out), len(packed))
        out += packed
    return bytes(out)


def pick_place(rng, parts, n):
    if parts.sections and rng.random() < 0.6:
        # Those that somebody reads: by their number, not by their size.
        read = [one for one in parts.sections if one[2] not in (".text", ".rodata", ".data")]
        at, size, *_ = rng.choice(read or parts.sections)
    else:
        at, size = rng.choice(parts.regions)
    return min(at + rng.randrange(max(size, 1)), max(n - 8, 0))


def mutate(rng, data):
    """A copy with some changes."""
    out, parts = bytearray(data), Parts(data)
    for _ in range(rng.choice([1, 1, 2, 4, 16, 64])):
        at = pick_place(rng, parts, len(out))
        how = rng.randrange(6)
        if how == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            out[at] = rng.randrange(256)
        elif how == 2:
            number = rng.choice([*NUMBERS, len(out), len(out) - 1])
            struct.pack_into("<Q", out, at & ~7, number & (1 << 64) - 1)
        elif how == 3:
            struct.pack_into("<I", out, at & ~3, rng.choice(NUMBERS) & 0xFFFFFFFF)
        elif how == 4:
            n = rng.randrange(1, 200)
            source = pick_place(rng, parts, len(out))
            out[at:at + n] = out[source:source + n].ljust(len(out[at:at + n]), b"\0")[:len(out[at:at + n])]
        else:
            n = min(rng.randrange(1, 500), len(out) - at)
            out[at:at + n] = bytes([rng.choice([0, 0xFF, 0x41])]) * n
    if rng.random() < 0.1:
        del out[rng.randrange(len(out)):]
    return out


def names_of(rng):
    return [rng.choice(NAMES) + (b"%d" % rng.randrange(100)) for _ in range(rng.choice([1, 10, 2000]))]


def made_file(rng, folder, sources):
    """One that has no compiler: odd names, a debug file packed or linked."""
    elf = Elf()
    how = rng.randrange(4)
    if how == 0:
        elf.add_symbols(names_of(rng))
    elif how == 1:
        packed = lzma.compress(bytes(mutate(rng, rng.choice(sources))), preset=0)
        elf.add(".gnu_debugdata", 1, bytes(mutate(rng, packed)) if rng.random() < 0.5 and len(packed) > 64 else packed)
    else:
        debug = folder / f"d{rng.randrange(4)}.debug"
        other = Elf()
        other.add_symbols(names_of(rng))
        rewrite(other.write(folder / "made"), debug)
        if how == 3:
            debug.write_bytes(mutate(rng, debug.read_bytes()))
        elf.add_link(debug.name, crc_of(debug))
    path = elf.write(folder / "made")
    return path.read_bytes()


def rewrite(path, to):
    """A new file there: the one before may be mapped, or executed."""
    os.chmod(path, 0o755)
    os.rename(path, to)


def write_file(rng, folder, sources):
    """(path of a new file, is there code of ours in it)"""
    data = made_file(rng, folder, sources) if rng.random() < 0.3 else rng.choice(sources)
    data = mutate(rng, data) if rng.random() < 0.95 else bytearray(data)
    has_code = rng.random() < 0.8 and len(data) >= 2 * CODE
    if has_code:
        data[CODE:CODE + len(HIT)] = HIT
    new, path = folder / "new", folder / f"m{rng.randrange(FILES)}"
    new.write_bytes(data)
    if rng.random() < 0.1:
        with suppress(OSError):
            os.truncate(new, len(data) + rng.choice(SPARSE))
    rewrite(new, path)
    return path, has_code


def call_code(file, offset, times):
    """Code of a file, or without one of no file."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    if file:
        at = libc.mmap(None, PAGE, 5, 2, file.fileno(), ctypes.c_long(offset))
    else:
        at = libc.mmap(None, PAGE, 7, 0x22, -1, ctypes.c_long(0))
        ctypes.memmove(at, HIT, len(HIT))
    code = ctypes.CFUNCTYPE(ctypes.c_long)(at)
    for _ in range(times):
        code()
    return at, code


def spoil(rng, path):
    """While it is mapped, and perhaps read."""
    size = path.stat().st_size
    for _ in range(rng.randrange(1, 20)):
        with suppress(OSError), open(path, "r+b") as file:
            how = rng.randrange(3)
            if how == 0:
                file.truncate(rng.choice([CODE + PAGE, 64, size // 2, size, size + rng.choice(SPARSE)]))
            else:
                file.seek(rng.randrange(min(size, 1 << 20)))
                file.write(bytes(rng.randrange(256) for _ in range(rng.randrange(1, 64))))
        time.sleep(rng.random() * 0.005)


def write_perf_map(rng, at):
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    lines = [b"%x %x " % (at, PAGE) + rng.choice(NAMES)]
    lines += [b"%x %x " % (rng.choice(NUMBERS), rng.choice(NUMBERS)) + rng.choice(NAMES) for _ in range(rng.randrange(200))]
    lines += [rng.randbytes(rng.randrange(200)) for _ in range(rng.randrange(5))]
    rng.shuffle(lines)
    path.write_bytes(b"\n".join(lines) + rng.choice([b"", b"\n", b"\0" * 5000]))
    if rng.random() < 0.1:
        os.truncate(path, rng.choice(SPARSE[:3]))


def be_stranger(rng, path, has_code):
    """In a process of its own, which may end in any way."""
    times = rng.choice([1, 20])
    signal.alarm(LONGEST_S)
    if rng.random() < 0.25 and not has_code:
        os.execv(path, [str(path)])
    if has_code:
        with open(path, "rb") as file:
            _, code = call_code(file, CODE, times)
        if rng.random() < 0.4:
            spoil(rng, path)
            if path.stat().st_size >= CODE + PAGE:
                code()
    if rng.random() < 0.3:
        at, code = call_code(None, 0, times)
        write_perf_map(rng, at)
        code()
    time.sleep(rng.random() * 0.1)


def turn(rng, folder, sources):
    path, has_code = write_file(rng, folder, sources)
    pid = os.fork()
    if pid:
        return pid
    with suppress(BaseException):
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(1, 2)
        be_stranger(rng, path, has_code)
    os._exit(0)


def take_end(pids):
    pid, _ = os.wait()
    pids.discard(pid)
    with suppress(OSError):  # there is none, or another user's is in its place
        Path(f"/tmp/perf-{pid}.map").unlink()


def main():
    seed, folder, *paths = sys.argv[1:]
    sources = [Path(path).read_bytes() for path in paths]
    sources += [packed for packed in map(compress, sources) if packed not in sources]
    pids, n = set(), 0
    print("ready", flush=True)
    while not select.select([0], [], [], 0)[0]:
        pids.add(turn(random.Random(f"{seed} {n}"), Path(folder), sources))
        n += 1
        while len(pids) >= AT_ONCE:
            take_end(pids)
    while pids:
        take_end(pids)
    print("turns", n, flush=True)


if __name__ == "__main__":
    main()
