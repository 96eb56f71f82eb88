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
from tool import BUILD, GETPPID, PATIENCE_S, TOP, stackcount


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """{name: path} of files that the unit test writes."""
    folder = tmp_path_factory.mktemp("pprof")
    program = BUILD / "unit/test_pprof"
    subprocess.run(["make", "-s", f"BUILD={BUILD}", str(program)], cwd=TOP, check=True)
    subprocess.run([str(program), "write", str(folder)], check=True)
    return {path.name.removesuffix(".pb.gz"): path for path in folder.iterdir()}


def run_go(*args, symbolize="none"):
    """Go's pprof, which scripts/deps unpacks."""
    (program,) = BUILD.glob("programs/usr/lib/go-*/pkg/tool/*/pprof")
    environ = {**os.environ, "HOME": "/nonexistent", "PPROF_TMPDIR": "/nonexistent", "DEBUGINFOD_URLS": ""}
    command = [program, f"-symbolize={symbolize}", *map(str, args)]
    run = subprocess.run(command, check=False, env=environ, capture_output=True, text=True, timeout=PATIENCE_S)
    assert run.returncode == 0, run.stderr
    return run.stdout


def go_cumulated(path, symbolize):
    """{function: hits in it or below it} as -top shows them, and the sum of all."""
    out = run_go("-top", "-cum", "-nodecount=10000", "-nodefraction=0", path, symbolize=symbolize)
    total = int(re.search(r"of (\d+) total", out)[1])
    rows = re.findall(r"^ +\d+ +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% +(.*?)(?: \(inline\))?$", out, re.M)
    return {name: int(count) for count, name in rows}, total


@pytest.mark.thorough
def test_go_names_the_functions_that_we_name(tmp_path):
    """--no-names leaves symbols out. Go's pprof finds functions in local files that have DWARF, those of another run."""
    program, bare, named = tmp_path / "program", tmp_path / "bare.pb.gz", tmp_path / "named.pb.gz"
    sources = [TOP / "tests/workload" / name for name in ("syscalls.c", "work.c")]
    subprocess.run(["cc", "-std=gnu17", "-g", "-O1", "-D_GNU_SOURCE", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                    "-pie", "-fPIE", f"-I{TOP}/tests/workload", "-o", program, *sources, "-pthread", "-ldl"], check=True)
    for path, options in ((bare, ["--no-names"]), (named, [])):
        stackcount("-U", *options, "-o", path, GETPPID, "--", program, "getppid", 200, 2).ok()
    ours, expected = pprof.read(named), Counter()
    for locations, values, _ in ours.samples:
        mappings = {one: ours.locations[one]["mapping"] for one in locations}
        of_program = {ours.names(one)[0] for one in locations
                      if mappings[one] and ours.mappings[mappings[one]]["file"] == str(program)}
        for name in of_program:
            expected[name] += values[0]
    found, total = go_cumulated(bare, "local")
    assert {"main", "hit", "branch_a", "branch_b"} <= set(expected)
    expected.pop("_start", None)  # of assembly: DWARF has no function there
    assert {name: found.get(name) for name in expected} == expected
    assert total == sum(values[0] for _, values, _ in ours.samples)
    assert "hit" not in go_cumulated(bare, "none")[0]


@pytest.mark.parametrize("name", ["full", "difference", "empty"])
def test_a_strict_reader_takes_them(files, name):
    p = pprof.read(files[name])
    assert p.default_type == "hits"
    assert (p.period_type, p.period) == ((("event", "count"), 1) if name == "full" else (("", ""), 0))
    assert len(p.comments) <= 12


def test_they_have_everything(files):
    p = pprof.read(files["full"])
    assert p.types == [("hits", "count"), ("latency", "nanoseconds"), ("size", "bytes")]
    assert p.time_ns == 1700000000123456789
    assert p.duration_ns == 2500000000
    assert p.own("command") == ["stackcount -p 'a b'"]
    assert p.own("loss") == ["12 no room for a new stack", f"{(2**64 - 1) // 3} nested too deep on one CPU"]
    assert p.own("slice") == ["0 1000000000 1000000000 2500000000"]
    assert (p.own("go"), p.own("jit")) == (["/usr/bin/gopher"], ["[anon]|perf-7.map"])
    labels = [dict((key, value) for key, value, _ in labels) for _, _, labels in p.samples]
    assert labels[0] == {"pid": 7, "comm": "tarä", "slice": 0}
    assert labels[1]["slice"] == 1
    by_file = {mapping["file"]: mapping for mapping in p.mappings.values()}
    libc = by_file["/usr/lib/libc.so.6"]
    assert (libc["start"], libc["limit"], libc["offset"]) == (0x7F3A11C28000, 0x7F3A11D80000, 0x28000)
    assert libc["build_id"] == "deadbeef"
    assert {"[kernel.kallsyms]", "[ext4]", "[vdso]"} <= set(by_file)
    kernel = {p.mappings[one["mapping"]]["file"] for one in p.locations.values() if one["address"] >> 63}
    assert kernel == {"[kernel.kallsyms]", "[ext4]", "[nf_tables]"}


def test_one_location_has_all_inlined_functions(files):
    p = pprof.read(files["full"])
    stack = next(locations for locations, values, _ in p.samples if values[0] == 40)
    assert [p.names(location) for location in stack] == [["vfs_read"], ["entry_SYSCALL_64"], ["__read"], ["inner", "middle", "outer"]]


def test_addresses_are_where_the_mapping_has_the_file_offset(files):
    p = pprof.read(files["full"])
    location = next(one for number, one in p.locations.items() if p.names(number) == ["__read"])
    mapping = p.mappings[location["mapping"]]
    assert location["address"] - mapping["start"] + mapping["offset"] == 0xFE4FA + 0x20000


def test_marks_are_functions_at_no_address(files):
    """Those of kernel stacks are in the kernel's mapping, which all of its code is in."""
    p = pprof.read(files["full"])
    marks = {(p.names(number)[0], p.mappings[one["mapping"]]["file"] if one["mapping"] else "")
             for number, one in p.locations.items() if not one["address"]}
    assert marks == {("[cut: depth]", "[kernel.kallsyms]"), ("[cut: depth]", ""), ("[unverified: frame pointers]", "")}


def test_a_function_without_a_name_is_called_by_its_place(files):
    p = pprof.read(files["full"])
    (location,) = [one for number, one in p.locations.items() if p.names(number) == ["[prog+0x1200]"]]
    assert not p.mappings[location["mapping"]]["has_functions"]


def test_a_difference_has_values_before_it_negated(files):
    p = pprof.read(files["difference"])
    base = [values for _, values, labels in p.samples if ("pprof::base", "true", "") in labels]
    assert base == [[-7, -21], [-9, -27]]
    assert [values for _, values, labels in p.samples if not labels] == [[10, 20], [4, 8], [0, 0]]


@pytest.mark.thorough
def test_go_reads_the_same_sums(files):
    p = pprof.read(files["full"])
    assert sum(values[0] for _, values, _ in p.samples) == 100074
    text = run_go("-top", "-nodecount=1000", "-nodefraction=0", "-trim=false", files["full"])
    rows = [line.removesuffix(" (inline)").split() for line in text.splitlines() if re.match(r" +-?\d+ .*%", line)]
    flat = {row[-1]: int(row[0]) for row in rows}
    expected = Counter()
    for locations, values, _ in p.samples:
        if locations:
            expected[p.names(locations[0])[0]] += values[0]
    for function, value in expected.items():
        if function and " " not in function and value:
            assert flat[function] == value, function
