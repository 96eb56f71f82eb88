# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pprof files: read by a strict reader of our own, and by Go's pprof, with the same sums.

The files are those that tests/unit/test_pprof.c makes, with one of everything that a profile can have.
"""

import os
import re
import subprocess
from collections import Counter

import pprof
import pytest
from tool import BUILD, PATIENCE_S, TOP


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """{name: path} of files that the unit test writes."""
    folder = tmp_path_factory.mktemp("pprof")
    program = BUILD / "unit/test_pprof"
    subprocess.run(["make", "-s", f"BUILD={BUILD}", str(program)], cwd=TOP, check=True)
    subprocess.run([str(program), "write", str(folder)], check=True)
    return {path.name.removesuffix(".pb.gz"): path for path in folder.iterdir()}


def test_a_strict_reader_takes_them(files):
    for name in ("full", "difference", "empty"):
        p = pprof.read(files[name])
        assert p.default_type == "hits" and len(p.comments) <= 12
        assert (p.period_type, p.period) == ((("event", "count"), 1) if name == "full" else (("", ""), 0))


def test_they_have_everything(files):
    p = pprof.read(files["full"])
    assert p.types == [("hits", "count"), ("latency", "nanoseconds"), ("size", "bytes")]
    assert (p.time_ns, p.duration_ns) == (1700000000123456789, 2500000000)
    assert p.own("command") == ["stackcount -p 'a b'"]
    assert p.own("loss") == ["12 no room for a new stack", f"{(2**64 - 1) // 3} nested too deep on one CPU"]
    assert p.own("slice") == ["0 1000000000 1000000000 2500000000"]
    labels = [dict((key, value) for key, value, _ in labels) for _, _, labels in p.samples]
    assert labels[0] == {"pid": 7, "comm": "tarä", "slice": 0} and labels[1]["slice"] == 1
    by_file = {mapping["file"]: mapping for mapping in p.mappings.values()}
    libc = by_file["/usr/lib/libc.so.6"]
    assert (libc["start"], libc["limit"], libc["offset"], libc["build_id"]) == (0x7F3A11C28000, 0x7F3A11D80000, 0x28000, "deadbeef")
    assert "[vdso]" in by_file
    kernel = {p.mappings[one["mapping"]]["file"] for one in p.locations.values() if one["address"] >> 63}
    assert kernel == {"[kernel.kallsyms]", "[ext4]", "[nf_tables]"}


def test_locations_have_names_and_places(files):
    """All inlined functions at one; addresses where the mapping has the file's offset; what has no name is called by its place."""
    p = pprof.read(files["full"])
    stack = next(locations for locations, values, _ in p.samples if values[0] == 40)
    assert [p.names(location) for location in stack] == [["vfs_read"], ["entry_SYSCALL_64"], ["__read"], ["inner", "middle", "outer"]]
    of = {tuple(p.names(number)): (one, p.mappings.get(one["mapping"])) for number, one in p.locations.items()}
    read, libc = of["__read",]
    assert read["address"] - libc["start"] + libc["offset"] == 0xFE4FA + 0x20000
    assert not of["[prog+0x1200]",][1]["has_functions"]


def test_marks_are_functions_at_no_address(files):
    """Those of kernel stacks are in the kernel's mapping, which all of its code is in."""
    p = pprof.read(files["full"])
    marks = {(p.names(number)[0], p.mappings[one["mapping"]]["file"] if one["mapping"] else "")
             for number, one in p.locations.items() if not one["address"]}
    assert marks == {("[cut: depth]", "[kernel.kallsyms]"), ("[cut: depth]", ""), ("[unverified: frame pointers]", "")}


def test_a_difference_has_values_before_it_negated(files):
    p = pprof.read(files["difference"])
    base = [values for _, values, labels in p.samples if ("pprof::base", "true", "") in labels]
    assert base == [[-7, -21], [-9, -27]]
    assert [values for _, values, labels in p.samples if not labels] == [[10, 20], [4, 8], [0, 0]]


@pytest.mark.thorough
def test_go_reads_the_same_sums(files):
    """Its pprof, which scripts/deps unpacks."""
    (program,) = BUILD.glob("programs/usr/lib/go-*/pkg/tool/*/pprof")
    p = pprof.read(files["full"])
    assert sum(values[0] for _, values, _ in p.samples) == 100074
    command = [program, "-symbolize=none", "-top", "-nodecount=1000", "-nodefraction=0", "-trim=false", files["full"]]
    environ = {**os.environ, "HOME": "/nonexistent", "PPROF_TMPDIR": "/nonexistent", "DEBUGINFOD_URLS": ""}
    text = subprocess.run(command, check=True, env=environ, capture_output=True, text=True, timeout=PATIENCE_S).stdout
    rows = [line.removesuffix(" (inline)").split() for line in text.splitlines() if re.match(r" +-?\d+ .*%", line)]
    flat = {row[-1]: int(row[0]) for row in rows}
    expected = Counter()
    for locations, values, _ in p.samples:
        if locations:
            expected[p.names(locations[0])[0]] += values[0]
    for function, value in expected.items():
        if function and " " not in function and value:
            assert flat[function] == value, function
