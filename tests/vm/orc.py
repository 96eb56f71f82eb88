#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""tests/vm/orc.py [KERNEL...] - hold our reading of every entry of kernels' unwind tables (ORC) against an
evaluation by the kernel's documentation (tests/unit/test_orc.c): of the guests' kernels, and of those of
their modules that the guests load. Prints how many entries each has. A kernel that cannot be fetched is the guests' failure."""

import gzip
import lzma
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from cache import Problem
from fetch import KERNELS, architecture, fetch, kernel_dir

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD") or TOP / "build").resolve()


def by_program(*argv):
    """A program that complains of the size that follows the data, when it has written all of it."""
    return lambda data: subprocess.run(argv, input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


# By the first bytes of what is compressed.
READERS = {
    b"\x1f\x8b": lambda data: gzip.decompress(data[:-4]),
    b"\xfd7zXZ": lambda data: lzma.LZMADecompressor().decompress(data),
    b"\x28\xb5\x2f\xfd": by_program("zstd", "-dcq"),
    b"\x02\x21\x4c\x18": by_program("lz4", "-dcq"),
}


def vmlinux(image):
    """The ELF file in a bzImage. Documentation/arch/x86/boot.rst has the places."""
    sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    begin = (sectors + 1) * 512 + offset
    data = image[begin : begin + length]
    for magic, read in READERS.items():
        if data.startswith(magic):
            return read(data)
    raise Problem(f"unknown compression: {data[:6].hex()}")


def main():
    names = sys.argv[1:] or [name for name in KERNELS if architecture(name) == "amd64"]
    with tempfile.TemporaryDirectory(prefix="orc.") as tmp:
        files = []
        for name in names:
            try:
                fetch(name)
            except (Problem, OSError, subprocess.SubprocessError) as why:
                print(f"{name} is left out: {why}")
                continue
            files.append(Path(tmp) / f"vmlinux-{name}")
            files[-1].write_bytes(vmlinux((kernel_dir(name) / "vmlinuz").read_bytes()))
            files += sorted((kernel_dir(name) / "modules").glob("*.ko"))
        done = subprocess.run([BUILD / "unit" / "test_orc", *files], stdout=subprocess.PIPE, text=True)
    print(done.stdout.replace(f"{tmp}/", ""), end="")
    empty = [line for line in done.stdout.splitlines() if line.endswith(": 0 entries")]
    return done.returncode or not files or len(empty) > 0 or len(done.stdout.splitlines()) != len(files)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Problem as why:
        sys.exit(f"tests/vm/orc.py: {why}")
