# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files that are made so as to hold up who reads them."""

import os
import shutil
import struct

import pytest
from tool import GETPPID, read_folded, stackcount, workload_path


def put(f, at, data):
    f.seek(at)
    f.write(data)


def widen_section(path, name, size):
    """Have a section of a 64-bit program begin at the end of the file, with a hole of @size bytes."""
    with open(path, "r+b") as f:
        data = f.read()
        at, entry, n, names = struct.unpack("<40xQ10xHHH", data[:64])
        sections = [struct.unpack("<IIQQQQIIQQ", data[at + i * entry:][:64]) for i in range(n)]
        for i, section in enumerate(sections):
            if data[sections[names][4] + section[0]:].startswith(name + b"\0"):
                put(f, at + i * entry + 24, struct.pack("<QQ", len(data), size))
        os.truncate(path, len(data) + size)


@pytest.mark.needs("unwinding")
def test_a_section_of_any_size_takes_no_time(tmp_path):
    path = tmp_path / "wide"
    shutil.copy(workload_path("syscalls"), path)
    widen_section(path, b".eh_frame", 200 << 30)
    result = stackcount("-f", "-U", GETPPID, "--", path, "--quiet", "getppid", "10", "0").ok()
    assert "wide: skipping .eh_frame: larger than 512 MiB" in result.err


def test_debug_information_of_any_size_takes_no_time(tmp_path):
    """libdw reads zeros as units of 4 bytes."""
    path = tmp_path / "wide"
    shutil.copy(workload_path("inlined"), path)
    widen_section(path, b".debug_info", 4 << 30)
    result = stackcount("--lines", "-f", "-U", GETPPID, "--", path, "--quiet", "20").ok()
    assert result.err.count("wide: cannot read all of .debug_info: unsupported DWARF version") == 1, result
    ((parts, count),) = read_folded(result.out)
    assert count == 20 and "run" in parts, result
